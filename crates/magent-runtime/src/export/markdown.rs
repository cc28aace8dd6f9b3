//! Markdown.

use magent_types::{PlanEntry, PlanStatus};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::{Markup, with_newline};

pub(super) struct Markdown;

impl Markup for Markdown {
    fn opening(&self, title: &str, facts: &[(&str, String)]) -> String {
        let mut text = format!("# {}\n\n", escaped(title));
        for (name, value) in facts {
            text.push_str(&format!("- {name}: {}\n", escaped(value)));
        }
        text + "\n"
    }

    fn heading(&self, level: usize, text: &str) -> String {
        format!("{} {}\n\n", "#".repeat(level + 1), escaped(text))
    }

    fn prose(&self, markdown: &str) -> String {
        let text = with_newline(markdown);
        let closing = closing(&text).unwrap_or_default();
        format!("{text}{closing}\n")
    }

    fn aside(&self, label: &str, markdown: &str) -> String {
        let quote = self.quote(markdown);
        format!("<details><summary>{label}</summary>\n\n{quote}</details>\n\n")
    }

    fn quote(&self, text: &str) -> String {
        let mut quote = String::new();
        for line in text.lines() {
            // Two spaces at the end keep the line's end.
            let line = format!("> {line}  ");
            quote.push_str(if line.trim() == ">" { ">" } else { &line });
            quote.push('\n');
        }
        quote + "\n"
    }

    fn block(&self, language: &str, text: &str) -> String {
        let fence = fence_around(text);
        format!("{fence}{language}\n{}{fence}\n\n", with_newline(text))
    }

    fn plan(&self, plan: &[PlanEntry]) -> String {
        let mut text = String::new();
        for entry in plan {
            let mark = match entry.status {
                PlanStatus::Completed => "x",
                PlanStatus::Pending | PlanStatus::InProgress => " ",
            };
            let step = escaped(&magent_types::one_line(&entry.step));
            text.push_str(&format!("- [{mark}] {step}\n"));
        }
        text + "\n"
    }

    fn remark(&self, text: &str) -> String {
        format!("*{}*\n\n", escaped(text.trim()))
    }
}

/// A fence longer than any run of backticks in the text.
fn fence_around(text: &str) -> String {
    let longest = text
        .split(|character| character != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// A line of plain text that means nothing else in Markdown.
fn escaped(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(
            character,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '~' | '|' | '#' | '&' | '$'
        ) {
            line.push('\\');
        }
        line.push(character);
    }
    line
}

/// What ends a block that the text leaves open, such as the code of an answer that was cut
/// off: all that follows would be taken for a part of it.
fn closing(text: &str) -> Option<String> {
    let mut open = None;
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => open = Some(range),
            Event::End(TagEnd::HtmlBlock) => open = Some(range),
            _ => {}
        }
    }
    let range = open.filter(|range| range.end == text.len())?;
    let block = text.get(range)?.trim_end();
    if block.starts_with("<!--") {
        return (!block.ends_with("-->")).then(|| "-->\n".to_owned());
    }
    let mark = block.chars().next().filter(|mark| "`~".contains(*mark))?;
    let length = block.chars().take_while(|other| *other == mark).count();
    let fence = mark.to_string().repeat(length);
    let is_closed = block.lines().skip(1).last().is_some_and(|line| {
        line.trim_start().starts_with(&fence) && line.trim().chars().all(|other| other == mark)
    });
    (!is_closed).then(|| format!("{fence}\n"))
}

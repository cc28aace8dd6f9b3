//! Org.

use magent_types::{PlanEntry, PlanStatus, one_line};

use super::org_prose::prose;
use super::org_text::{block, escaped};
use super::{Markup, with_newline};

pub(super) struct Org;

/// How deep the headings of an answer begin: below the one of the answer.
const PROSE_DEPTH: usize = 2;

impl Markup for Org {
    fn opening(&self, title: &str, facts: &[(&str, String)]) -> String {
        // An underscore in a name makes no subscript.
        let mut text = format!(
            "#+title: {}\n#+options: ^:{{}} toc:nil num:nil\n#+startup: content\n\n",
            one_line(title)
        );
        for (name, value) in facts {
            text.push_str(&format!("- {name} :: {}\n", fact(&one_line(value))));
        }
        text + "\n"
    }

    fn heading(&self, level: usize, text: &str) -> String {
        let mut text = escaped(text);
        // What ends so would be taken for tags.
        if text.ends_with(':') {
            text.push('\u{200b}');
        }
        format!("{} {text}\n", "*".repeat(level))
    }

    fn prose(&self, markdown: &str) -> String {
        with_newline(&prose(markdown, Some(PROSE_DEPTH))) + "\n"
    }

    fn aside(&self, label: &str, markdown: &str) -> String {
        let name = label.to_uppercase();
        let text = with_newline(&prose(markdown, None));
        format!(":{name}:\n{text}:END:\n\n")
    }

    fn quote(&self, text: &str) -> String {
        let text: String = text
            .lines()
            .map(|line| format!("{}\\\\\n", escaped(line)))
            .collect();
        // A line break is marked within a paragraph only.
        let text = text.replace("\n\\\\\n", "\n\n").replace("\\\\\n\n", "\n\n");
        let text = text.trim_end().trim_end_matches("\\\\");
        format!("#+begin_quote\n{text}\n#+end_quote\n\n")
    }

    fn block(&self, language: &str, text: &str) -> String {
        block(language, text) + "\n"
    }

    fn plan(&self, plan: &[PlanEntry]) -> String {
        let mut text = String::new();
        for entry in plan {
            let mark = match entry.status {
                PlanStatus::Completed => "X",
                PlanStatus::InProgress => "-",
                PlanStatus::Pending => " ",
            };
            let step = escaped(&one_line(&entry.step));
            text.push_str(&format!("- [{mark}] {step}\n"));
        }
        text + "\n"
    }

    fn remark(&self, text: &str) -> String {
        format!("/{}/\n\n", escaped(text.trim()))
    }
}

/// A value as it is: whoever copies a path must not get characters that mark nothing.
fn fact(value: &str) -> String {
    let is_plain = escaped(value) == value;
    if is_plain || value.contains(['=', '\u{200b}']) {
        escaped(value)
    } else {
        format!("={value}=")
    }
}

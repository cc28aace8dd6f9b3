//! Markdown turned into Org.
//!
//! The Markdown is what a model wrote, so it can be anything, cut off anywhere.

use pulldown_cmark::{
    CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd, TextMergeStream,
};

use super::org_text::{NOTHING, block, escaped_after, may_follow_mark, may_precede_mark};

/// The Org for a text of Markdown.  Its headings begin below the given depth; without one
/// they become bold lines.
pub(super) fn prose(markdown: &str, depth: Option<usize>) -> String {
    let mut options = Options::empty();
    options.insert(Options::ENABLE_TABLES);
    options.insert(Options::ENABLE_STRIKETHROUGH);
    options.insert(Options::ENABLE_TASKLISTS);
    let mut writer = Writer {
        depth,
        ..Writer::default()
    };
    for event in TextMergeStream::new(Parser::new_ext(markdown, options)) {
        writer.take(event);
    }
    writer.text
}

/// A block that text is inside of.
enum Container {
    /// A list; the number of the next item, if it is a numbered one.
    List(Option<u64>),
    /// An item, by the width of its mark.
    Item(usize),
}

#[derive(Default)]
struct Writer {
    text: String,
    depth: Option<usize>,
    containers: Vec<Container>,
    /// The text of a code block, with its language.
    code: Option<(String, String)>,
    /// Where the text of the link that is open begins, and where it leads.
    link: Option<(usize, String)>,
    in_table: bool,
    /// What was written last is the end of emphasis.
    after_mark: bool,
}

impl Writer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.words(&text),
            },
            Event::Code(code) => self.inline_code(&code),
            Event::SoftBreak | Event::HardBreak if self.in_table => self.raw(" "),
            Event::SoftBreak => self.new_line(),
            Event::HardBreak => {
                self.raw("\\\\");
                self.new_line();
            }
            Event::Rule => self.line("-----"),
            Event::TaskListMarker(done) => self.raw(if done { "[X] " } else { "[ ] " }),
            Event::Html(html) => match &mut self.code {
                Some((_, code)) => code.push_str(&html),
                None => self.words(&html),
            },
            Event::InlineHtml(html) => self.inline_code(&html),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.words(&text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.open_line(),
            Tag::Heading { level, .. } => {
                self.open_line();
                match self.heading_depth(level) {
                    Some(depth) => self.raw(&format!("{} ", "*".repeat(depth))),
                    None => self.mark("*"),
                }
            }
            Tag::BlockQuote(_) => self.line("#+begin_quote"),
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::HtmlBlock => self.code = Some(("html".into(), String::new())),
            Tag::List(first) => {
                if !self.at_line_start() {
                    self.text.push('\n');
                }
                self.containers.push(Container::List(first));
            }
            Tag::Item => self.item(),
            Tag::Emphasis => self.mark("/"),
            Tag::Strong => self.mark("*"),
            Tag::Strikethrough => self.mark("+"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.separate();
                self.link = Some((self.text.len(), dest_url.to_string()));
            }
            Tag::Table(_) => self.in_table = true,
            Tag::TableHead | Tag::TableRow => {
                self.own_line();
                self.raw("|");
            }
            Tag::TableCell => self.raw(" "),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.close_paragraph(),
            TagEnd::Heading(level) => {
                if self.heading_depth(level).is_none() {
                    self.end_mark("*");
                }
                self.close_paragraph();
            }
            TagEnd::BlockQuote(_) => {
                self.trim_empty_lines();
                self.line("#+end_quote");
                self.text.push('\n');
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock => {
                if let Some((language, code)) = self.code.take() {
                    for line in block(&language, &code).lines() {
                        self.line(line);
                    }
                    self.text.push('\n');
                }
            }
            TagEnd::List(_) => {
                self.containers.pop();
                self.trim_empty_lines();
                if self.containers.is_empty() {
                    self.text.push('\n');
                }
            }
            TagEnd::Item => {
                self.containers.pop();
                self.trim_empty_lines();
            }
            TagEnd::Emphasis => self.end_mark("/"),
            TagEnd::Strong => self.end_mark("*"),
            TagEnd::Strikethrough => self.end_mark("+"),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableCell => self.raw(" |"),
            TagEnd::TableRow => self.text.push('\n'),
            TagEnd::TableHead => {
                let line = self.text.lines().last().unwrap_or_default();
                let columns = line.matches('|').count().saturating_sub(1);
                self.text.push('\n');
                self.line(&format!("|{}|", vec!["---"; columns].join("+")));
            }
            TagEnd::Table => {
                self.in_table = false;
                self.text.push('\n');
            }
            _ => {}
        }
    }

    /// The stars of a heading, if one can be here.
    fn heading_depth(&self, level: HeadingLevel) -> Option<usize> {
        let depth = self.depth.filter(|_| self.containers.is_empty())?;
        Some(depth + level as usize)
    }

    fn item(&mut self) {
        let mark = match self.containers.last_mut() {
            Some(Container::List(Some(number))) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        self.indent();
        self.raw(&mark);
        self.containers.push(Container::Item(mark.len()));
    }

    fn words(&mut self, text: &str) {
        if self.after_mark
            && text
                .chars()
                .next()
                .is_some_and(|next| !may_follow_mark(next))
        {
            self.text.push(NOTHING);
        }
        self.after_mark = false;
        let line = self.text.rsplit('\n').next().unwrap_or_default();
        let is_first = line.trim().is_empty();
        let previous = line.chars().next_back().filter(|_| !is_first);
        let mut text = escaped_after(previous, text);
        if self.in_table {
            text = text.replace('|', "\\vert{}");
        }
        self.text.push_str(&text);
    }

    fn inline_code(&mut self, code: &str) {
        let code = code.trim().replace('\n', " ");
        let mark = ["~", "="].into_iter().find(|mark| !code.contains(mark));
        let breaks_cell = self.in_table && code.contains('|');
        match mark.filter(|_| !(code.is_empty() || breaks_cell)) {
            Some(mark) => {
                self.mark(mark);
                self.text.push_str(&code);
                self.end_mark(mark);
            }
            None => self.words(&code),
        }
    }

    fn mark(&mut self, mark: &str) {
        self.separate();
        let last = self.text.chars().next_back();
        if last.is_some_and(|last| !may_precede_mark(last)) {
            self.text.push(NOTHING);
        }
        self.text.push_str(mark);
    }

    fn end_mark(&mut self, mark: &str) {
        // Nothing at all cannot be emphasized.
        if self.text.ends_with(mark) && !self.after_mark {
            self.text.truncate(self.text.len() - mark.len());
            return;
        }
        self.text.push_str(mark);
        self.after_mark = true;
    }

    fn end_link(&mut self) {
        let Some((start, url)) = self.link.take() else {
            return;
        };
        let url = url
            .replace('[', "%5B")
            .replace(']', "%5D")
            .replace('\n', "");
        let label = self.text.split_off(start);
        let label = label.replace(['[', ']'], "").replace(NOTHING, "");
        self.after_mark = false;
        if url.is_empty() {
            self.text.push_str(&label);
        } else if label.trim().is_empty() || label == url {
            self.text.push_str(&format!("[[{url}]]"));
        } else {
            self.text.push_str(&format!("[[{url}][{label}]]"));
        }
    }

    fn close_paragraph(&mut self) {
        self.after_mark = false;
        self.text.push_str("\n\n");
    }

    /// Keeps what follows apart from emphasis that just ended.
    fn separate(&mut self) {
        if std::mem::take(&mut self.after_mark) {
            self.text.push(NOTHING);
        }
    }

    fn raw(&mut self, text: &str) {
        self.after_mark = false;
        self.text.push_str(text);
    }

    fn new_line(&mut self) {
        self.after_mark = false;
        self.text.push('\n');
        self.indent();
    }

    /// Begins a line, unless the mark of an item has just begun it.
    fn open_line(&mut self) {
        if self.at_line_start() {
            self.indent();
        }
    }

    /// A line of its own, which what Org knows by its line needs even in an item.
    fn line(&mut self, line: &str) {
        self.own_line();
        self.raw(line);
        self.text.push('\n');
    }

    fn own_line(&mut self) {
        if !self.at_line_start() {
            self.text.push('\n');
        }
        self.indent();
    }

    fn at_line_start(&self) -> bool {
        self.text.is_empty() || self.text.ends_with('\n')
    }

    fn indent(&mut self) {
        let width = self.containers.iter().map(|container| match container {
            Container::List(_) => 0,
            Container::Item(width) => *width,
        });
        let width = width.sum();
        self.text.push_str(&" ".repeat(width));
    }

    /// Leaves one newline at the end.
    fn trim_empty_lines(&mut self) {
        let length = self.text.trim_end_matches([' ', '\n']).len();
        self.text.truncate(length);
        if length > 0 {
            self.text.push('\n');
        }
    }
}

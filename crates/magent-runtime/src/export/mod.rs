//! A conversation as a document for people.
//!
//! This module owns what such a document has in it and in which order.  How it is marked up
//! is up to [`Markup`]; nothing here reads or changes a session's files.

mod markdown;
mod org;
mod org_prose;
mod org_text;

use magent_tools::Catalog;
use magent_types::{
    FileDiff, ItemStatus, PlanEntry, Thread, ToolKind, ToolView, Turn, UnixSeconds, one_line,
};
use serde_json::Value;

use crate::ReplayEntry;
use crate::replay::replay_turn;
use markdown::Markdown;
use org::Org;

/// The markup of an exported conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// Org.
    Org,
    /// CommonMark, with tables as GitHub has them.
    Markdown,
}

impl ExportFormat {
    /// The format of this name, `org` or `markdown`.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "org" => Some(Self::Org),
            "markdown" => Some(Self::Markdown),
            _ => None,
        }
    }
}

/// A way to mark up the parts of a document.  Each part ends in an empty line, and none
/// can reach into the next one, whatever its text is.
trait Markup {
    /// The beginning: a title and facts by their names.
    fn opening(&self, title: &str, facts: &[(&str, String)]) -> String;
    /// A heading of level 1 or 2 out of one line of plain text.
    fn heading(&self, level: usize, text: &str) -> String;
    /// What a model wrote, in Markdown.
    fn prose(&self, markdown: &str) -> String;
    /// The same, for those who want to unfold it.
    fn aside(&self, label: &str, markdown: &str) -> String;
    /// What a person wrote, to the letter.
    fn quote(&self, text: &str) -> String;
    /// Text to the letter; the language may be empty.
    fn block(&self, language: &str, text: &str) -> String;
    /// The steps of a plan.
    fn plan(&self, plan: &[PlanEntry]) -> String;
    /// A remark that nobody said, one line.
    fn remark(&self, text: &str) -> String;
}

/// What a document begins with.
pub(crate) struct Preamble {
    pub(crate) title: String,
    /// Facts by their names, in order.
    pub(crate) facts: Vec<(&'static str, String)>,
}

/// Makes the document.
pub(crate) fn document(
    format: ExportFormat,
    preamble: &Preamble,
    thread: &Thread,
    catalog: &Catalog,
) -> String {
    let markup: &dyn Markup = match format {
        ExportFormat::Org => &Org,
        ExportFormat::Markdown => &Markdown,
    };
    let mut text = markup.opening(&preamble.title, &preamble.facts);
    for (index, turn) in thread.turns.iter().enumerate() {
        text.push_str(&turn_heading(markup, index + 1, turn));
        for entry in replay_turn(turn, catalog) {
            text.push_str(&part(markup, &entry));
        }
    }
    // One newline ends the last line of a text file.
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn turn_heading(markup: &dyn Markup, number: usize, turn: &Turn) -> String {
    let words = turn.input.as_deref().and_then(magent_ledger::first_words);
    let words = words.unwrap_or_else(|| "(no text)".to_owned());
    let mut text = markup.heading(1, &one_line(&format!("{number}. {words}")));
    text.push_str(&markup.remark(&readable_time(turn.queued_at)));
    text
}

fn part(markup: &dyn Markup, entry: &ReplayEntry) -> String {
    match entry {
        ReplayEntry::User { text, .. } => markup.heading(2, "User") + &markup.quote(text),
        ReplayEntry::Assistant { text, .. } => markup.heading(2, "Magent") + &markup.prose(text),
        ReplayEntry::Reasoning { text, .. } => markup.aside("Reasoning", text),
        ReplayEntry::Tool(view) => call(markup, view),
        ReplayEntry::Plan(plan) => markup.heading(2, "Plan") + &markup.plan(plan),
        ReplayEntry::Notice(text) => markup.remark(&one_line(text)),
    }
}

fn call(markup: &dyn Markup, view: &ToolView) -> String {
    let outcome = match (view.status, view.exit_code) {
        (ItemStatus::Completed, None | Some(0)) => String::new(),
        (ItemStatus::Completed | ItemStatus::Failed, Some(code)) => {
            format!(" (exit status {code})")
        }
        (status, _) => format!(" ({})", status.as_str()),
    };
    let title = one_line(&format!("{}: {}{outcome}", view.name, view.title));
    let mut text = markup.heading(2, &title);
    match (view.kind, view.input.get("command").and_then(Value::as_str)) {
        (ToolKind::Execute, Some(command)) => text.push_str(&markup.block("sh", command)),
        (ToolKind::Other, _) if !view.input.is_null() => {
            text.push_str(&markup.block("json", &format!("{:#}", view.input)));
        }
        _ => {}
    }
    for diff in &view.diffs {
        text.push_str(&markup.block("diff", &unified(diff)));
    }
    // A change that was made says more than the words that it was.
    if !view.content.trim().is_empty() && view.diffs.is_empty() {
        text.push_str(&markup.block("", &view.content));
    }
    text
}

fn unified(diff: &FileDiff) -> String {
    let old = diff.old_text.as_deref().unwrap_or_default();
    let path = one_line(&diff.path);
    let before = diff.old_text.as_ref().map_or("/dev/null", |_| &path);
    similar::TextDiff::from_lines(old, &diff.new_text)
        .unified_diff()
        .header(before, &path)
        .to_string()
}

/// `2026-12-03 17:20 UTC`.
pub(crate) fn readable_time(seconds: UnixSeconds) -> String {
    let format = time::macros::format_description!("[year]-[month]-[day] [hour]:[minute] UTC");
    time::OffsetDateTime::from_unix_timestamp(seconds as i64)
        .ok()
        .and_then(|time| time.format(format).ok())
        .unwrap_or_default()
}

/// Ends a text with exactly one newline.
fn with_newline(text: &str) -> String {
    format!("{}\n", text.trim_end_matches(['\n', '\r']))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

//! Replacing one part of a text, byte for byte.
//!
//! This module owns what "exactly once" means and how the bytes around the
//! replaced part are kept.  It works on text alone; files are somebody else's.

use super::change_summary::{ChangeSummary, summarize_change};
use super::line_ends::LineEnds;
use super::near_miss;

/// More matches than this are not counted, since a text of one repeated letter
/// has as many as it has characters.
const MAX_COUNTED: usize = 1_000;

/// Lines of matches that a message names.
const NAMED_LINES: usize = 8;

/// A text after an edit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Edited {
    /// The text with its own line ends.
    pub(crate) raw: String,
    /// The text before the edit, with line feeds, as people compare it.
    pub(crate) shown_old: String,
    /// The text after the edit, with line feeds.
    pub(crate) shown_new: String,
    /// What changed.
    pub(crate) summary: ChangeSummary,
}

/// Why an edit was not made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EditError {
    /// There is nothing to look for.
    Empty,
    /// The replacement is what is there already.
    NoChange,
    /// The text to replace is not there; carries what is close to it.
    NoMatch(String),
    /// The text to replace is there more than once.
    NotUnique {
        /// How often, up to the counted maximum.
        count: usize,
        /// The lines where the first ones begin.
        lines: Vec<usize>,
    },
}

impl EditError {
    /// The stable code of the failure.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Empty => "empty_old_text",
            Self::NoChange => "no_change",
            Self::NoMatch(_) => "no_match",
            Self::NotUnique { .. } => "not_unique",
        }
    }

    /// The failure as the model reads it.
    pub(crate) fn message(&self, shown_path: &str) -> String {
        match self {
            Self::Empty => "old_text is empty; write_file replaces a whole file".to_owned(),
            Self::NoChange => format!(
                "old_text and new_text are equal, at most in another form of line ends, which \
                 the file decides; {shown_path} is unchanged"
            ),
            Self::NoMatch(near) => {
                format!("old_text was found 0 times in {shown_path}, which is unchanged. {near}")
            }
            Self::NotUnique { count, lines } => {
                let more = if *count > MAX_COUNTED {
                    "more than "
                } else {
                    ""
                };
                let count = (*count).min(MAX_COUNTED);
                let named: Vec<String> = lines.iter().map(ToString::to_string).collect();
                let rest = if count > lines.len() { ", ..." } else { "" };
                format!(
                    "old_text was found {more}{count} times in {shown_path}, beginning in the \
                     lines {}{rest}; the file is unchanged. Add lines around it to old_text and \
                     new_text until it is found exactly once",
                    named.join(", ")
                )
            }
        }
    }
}

/// Replaces the only place where `old` is in the text by `new`.
///
/// `raw` is the text as it stands in its file.  The model's texts are compared
/// with line feeds, whatever the file uses, and the replacement gets the line ends
/// of the part it replaces; nothing outside that part changes.
pub(crate) fn edit_text(raw: &str, old: &str, new: &str) -> Result<Edited, EditError> {
    let ends = LineEnds::of(raw);
    let (old, new) = (ends.model_text(old), ends.model_text(new));
    if old.is_empty() {
        return Err(EditError::Empty);
    }
    if old == new {
        return Err(EditError::NoChange);
    }
    let shown = ends.to_feeds(raw);
    let start = only_match(&shown, &old)?;
    let end = start + old.len();
    let (raw_start, raw_end) = (ends.raw_offset(raw, start), ends.raw_offset(raw, end));
    let replacement = ends.restore(raw, raw_start, raw_end, &new);
    let edited = [&raw[..raw_start], &replacement, &raw[raw_end..]].concat();
    let shown_new = [&shown[..start], new.as_ref(), &shown[end..]].concat();
    let summary = summarize_change(&shown, &shown_new);
    Ok(Edited {
        raw: edited,
        shown_old: shown.into_owned(),
        shown_new,
        summary,
    })
}

fn only_match(text: &str, wanted: &str) -> Result<usize, EditError> {
    let mut matches = overlapping_matches(text, wanted);
    let Some(first) = matches.next() else {
        return Err(EditError::NoMatch(near_miss::explain(text, wanted)));
    };
    let others: Vec<usize> = matches.take(MAX_COUNTED).collect();
    if others.is_empty() {
        return Ok(first);
    }
    let lines = std::iter::once(&first)
        .chain(&others)
        .take(NAMED_LINES)
        .map(|at| text[..*at].matches('\n').count() + 1)
        .collect();
    Err(EditError::NotUnique {
        count: others.len() + 1,
        lines,
    })
}

/// Where a text begins inside another.  Matches may overlap: "aa" is in "aaa"
/// twice, and an edit could mean either.
fn overlapping_matches<'a>(text: &'a str, wanted: &'a str) -> impl Iterator<Item = usize> + 'a {
    let step = wanted.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text.get(from..)?.find(wanted)?;
        from = at + step;
        Some(at)
    })
}

#[cfg(test)]
#[path = "text_edit_tests.rs"]
mod tests;

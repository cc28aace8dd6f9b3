//! Line ends: what a file uses, how its text looks with plain line feeds, and how
//! a changed part gets the line ends of the file again.
//!
//! Models read and write line feeds only.  This module is the one place that
//! translates, so that what a model saw is exactly what an edit looks for.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

/// The line ends of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnds {
    /// Line feeds, or no line end at all.  A lone carriage return is a character
    /// like any other here, as in the output of a progress bar.
    Lf,
    /// Every line ends with a carriage return and a line feed.
    Crlf,
    /// Carriage returns and not a single line feed.
    Cr,
    /// Some lines end with a line feed and some with both.
    Mixed,
}

impl LineEnds {
    /// Tells the line ends of a text.
    pub(crate) fn of(text: &str) -> Self {
        let feeds = text.bytes().filter(|byte| *byte == b'\n').count();
        if feeds == 0 {
            return if text.contains('\r') {
                Self::Cr
            } else {
                Self::Lf
            };
        }
        match text.matches("\r\n").count() {
            0 => Self::Lf,
            pairs if pairs == feeds => Self::Crlf,
            _ => Self::Mixed,
        }
    }

    /// The name that results show, or `None` for the usual line feeds.
    pub(crate) fn label(self) -> Option<&'static str> {
        match self {
            Self::Lf => None,
            Self::Crlf => Some("crlf"),
            Self::Cr => Some("cr"),
            Self::Mixed => Some("mixed"),
        }
    }

    /// The text with a line feed for every line end.
    pub(crate) fn to_feeds(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Lf => Cow::Borrowed(text),
            Self::Crlf | Self::Mixed => Cow::Owned(text.replace("\r\n", "\n")),
            Self::Cr => Cow::Owned(text.replace('\r', "\n")),
        }
    }

    /// A text that a model wrote, with line feeds only.  In a file with line
    /// feeds, too, a pair can only be a line end that the model spelled out.
    pub(crate) fn model_text(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Cr => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
            _ if text.contains("\r\n") => Cow::Owned(text.replace("\r\n", "\n")),
            _ => Cow::Borrowed(text),
        }
    }

    /// Where a place of the text with line feeds is in the file's own text.  A
    /// place before a line end is before the whole pair, never inside it.
    pub(crate) fn raw_offset(self, raw: &str, offset: usize) -> usize {
        match self {
            Self::Lf | Self::Cr => offset,
            Self::Crlf | Self::Mixed => {
                let before = raw
                    .match_indices("\r\n")
                    .enumerate()
                    .take_while(|(pairs, (at, _))| at - pairs < offset)
                    .count();
                offset + before
            }
        }
    }

    /// The text `new`, written with line feeds, as it replaces the part
    /// `raw[from..to]` of the file's own text.
    pub(crate) fn restore(self, raw: &str, from: usize, to: usize, new: &str) -> String {
        match self {
            Self::Lf => new.to_owned(),
            Self::Crlf => new.replace('\n', "\r\n"),
            Self::Cr => new.replace('\n', "\r"),
            Self::Mixed => restore_mixed(&raw[from..to], new, end_near(raw, from)),
        }
    }
}

/// Gives each line of `new` the line end that fits the part `raw` it replaces.
///
/// Lines that both have stay byte for byte.  A changed line keeps the line end of
/// the line it replaces, an added one gets that of the line above it, and without
/// any line to look at it gets `fallback`.
fn restore_mixed(raw: &str, new: &str, fallback: &'static str) -> String {
    let raw_lines: Vec<&str> = raw.split_inclusive('\n').collect();
    let old_lines: Vec<Cow<'_, str>> = raw_lines
        .iter()
        .map(|line| LineEnds::Mixed.to_feeds(line))
        .collect();
    let old: Vec<&str> = old_lines.iter().map(AsRef::as_ref).collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let mut out = String::new();
    let first = raw_lines.iter().find_map(|line| end_of(line));
    let mut end = first.unwrap_or(fallback);
    for op in line_diff(&old, &new) {
        let (_, from, to) = op.as_tag_tuple();
        if let DiffOp::Equal { .. } = op {
            for line in &raw_lines[from] {
                out.push_str(line);
                end = end_of(line).unwrap_or(end);
            }
            continue;
        }
        for (index, line) in new[to].iter().enumerate() {
            let replaced = raw_lines[from.clone()].get(index);
            end = replaced.and_then(|line| end_of(line)).unwrap_or(end);
            match line.strip_suffix('\n') {
                Some(body) => {
                    out.push_str(body);
                    out.push_str(end);
                }
                None => out.push_str(line),
            }
        }
    }
    out
}

/// The line end at a place: that of the line there, else of the one before it.
fn end_near(raw: &str, offset: usize) -> &'static str {
    let after = raw[offset..].find('\n').map(|at| offset + at);
    match after.or_else(|| raw[..offset].rfind('\n')) {
        Some(at) if raw[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The line end of a line, if it has one.
fn end_of(line: &str) -> Option<&'static str> {
    if line.ends_with("\r\n") {
        Some("\r\n")
    } else {
        line.ends_with('\n').then_some("\n")
    }
}

/// The differences of two texts by lines.  On texts that have little in common
/// the search for the shortest answer is given up after a moment.
pub(crate) fn line_diff(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let deadline = Instant::now() + Duration::from_millis(200);
    capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(deadline))
}

#[cfg(test)]
#[path = "line_ends_tests.rs"]
mod tests;

//! The bounding of everything long: results before the model reads them, lines
//! before a user interface draws them.
//!
//! This module owns the cut itself and its wording.  Where the full text is kept
//! is the business of the caller, which passes the id of the stored result.

use std::fmt::Write as _;

/// How long a result may be before the model sees only a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputBounds {
    /// Most characters of a result that is shown whole; `None` is no limit.
    pub max_length: Option<usize>,
    /// Characters that are kept of a longer result.
    pub preview_length: usize,
}

impl Default for OutputBounds {
    fn default() -> Self {
        Self {
            max_length: Some(12_000),
            preview_length: 10_000,
        }
    }
}

/// A result as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundedOutput {
    /// The whole text, or the kept part and a notice.
    pub text: String,
    /// Whether something was left out.
    pub omitted: bool,
    /// Characters of the whole text.
    pub original_characters: usize,
}

/// Bounds a result.
///
/// A text within the limit is returned as it is.  Of a longer one the model gets
/// the beginning if the call succeeded, and the first quarter and the last three
/// quarters of the preview if it failed, since an error is mostly told at the end.
/// The notice names both counts and, with a `result_id`, how to read the rest.
pub fn bound_output(
    content: &str,
    failed: bool,
    bounds: &OutputBounds,
    result_id: Option<&str>,
) -> BoundedOutput {
    let original_characters = content.chars().count();
    let max_length = bounds.max_length.unwrap_or(usize::MAX);
    if original_characters <= max_length {
        return BoundedOutput {
            text: content.to_owned(),
            omitted: false,
            original_characters,
        };
    }
    let kept = bounds.preview_length.min(max_length);
    let head = if failed { kept / 4 } else { kept };
    let tail = kept - head;
    let notice = omission_notice(kept, original_characters, head, tail, result_id);
    let mut text = first_characters(content, head).to_owned();
    // The notice stands on a line of its own, where the gap is.
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&notice);
    if tail > 0 {
        text.push('\n');
        text.push_str(last_characters(content, original_characters, tail));
    }
    BoundedOutput {
        text,
        omitted: true,
        original_characters,
    }
}

fn omission_notice(
    kept: usize,
    total: usize,
    head: usize,
    tail: usize,
    result_id: Option<&str>,
) -> String {
    let mut notice = if tail == 0 {
        format!("[output cut: the first {kept} of {total} characters are shown")
    } else {
        format!(
            "[output cut here: {kept} of {total} characters are shown, \
             the first {head} and the last {tail}"
        )
    };
    let next = head + 1;
    // Writing to a string cannot fail.
    let _ = match result_id {
        Some(id) => write!(
            notice,
            "; read the rest with read_tool_output, result_id \"{id}\", start_character {next}]"
        ),
        None => write!(notice, "; the full output is unavailable]"),
    };
    notice
}

/// Shortens every line that has more than `max_line` characters, with a visible
/// marker that tells how many characters were cut.
///
/// No line of the answer is longer than `max_line` characters, unless that is too
/// few for the marker itself.
pub fn clip_lines(text: &str, max_line: usize) -> String {
    let mut out = String::with_capacity(text.len().min(1 << 20));
    for line in text.split_inclusive('\n') {
        let (body, end) = match line.strip_suffix('\n') {
            Some(body) => (body, "\n"),
            None => (line, ""),
        };
        match clip_line(body, max_line) {
            Some(clipped) => out.push_str(&clipped),
            None => out.push_str(body),
        }
        out.push_str(end);
    }
    out
}

/// The shortened form of a line, or `None` if it is short enough.
fn clip_line(line: &str, max_line: usize) -> Option<String> {
    // A line has at least one byte per character.
    if line.len() <= max_line {
        return None;
    }
    let total = line.chars().count();
    if total <= max_line {
        return None;
    }
    // The marker for cutting everything is the longest this line can need.
    let room = cut_marker(total).chars().count();
    let kept = max_line.saturating_sub(room);
    Some(format!(
        "{}{}",
        first_characters(line, kept),
        cut_marker(total - kept)
    ))
}

/// The marker where characters of a line are left out.
pub(crate) fn cut_marker(characters: usize) -> String {
    format!(" [... {characters} characters cut]")
}

/// The first `count` characters of a text.
pub(crate) fn first_characters(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// The last `count` characters of a text that has `total`.
fn last_characters(text: &str, total: usize, count: usize) -> &str {
    let Some(skipped) = total.checked_sub(count) else {
        return text;
    };
    match text.char_indices().nth(skipped) {
        Some((start, _)) => &text[start..],
        None => "",
    }
}

#[cfg(test)]
#[path = "bounds_tests.rs"]
mod tests;

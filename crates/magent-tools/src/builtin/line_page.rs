//! A page of a text, by lines.

use crate::bounds::{cut_marker, first_characters};

/// Most characters of a page, unless its only line has more.
pub(crate) const PAGE_CHARACTERS: usize = 8_000;

/// A single line beyond this is cut: no model can use it, and it would be copied
/// through the whole system.
const MAX_LINE_CHARACTERS: usize = 200_000;

/// A page and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinePage {
    /// The first and last line, from 1; `None` if the page has no line.
    pub(crate) lines: Option<(usize, usize)>,
    /// Lines of the whole text.
    pub(crate) total: usize,
    /// The lines with their line ends.
    pub(crate) text: String,
}

impl LinePage {
    /// Cuts a page out of a text: at most `count` lines from line `start` on, and
    /// at most as many as fit a page.  One line is always whole, up to a bound far
    /// beyond the page, so that reading goes on in any case.
    pub(crate) fn of(text: &str, start: usize, count: usize) -> Self {
        let mut page = Self {
            lines: None,
            total: 0,
            text: String::new(),
        };
        let mut characters = 0;
        let mut open = true;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let number = index + 1;
            page.total = number;
            if !open || number < start {
                continue;
            }
            let length = line.chars().count();
            let first = page.lines.map_or(number, |(first, _)| first);
            let fits = page.lines.is_none() || characters + length <= PAGE_CHARACTERS;
            open = fits && number - first < count;
            if open {
                characters += length;
                page.lines = Some((first, number));
                push_line(&mut page.text, line, length);
            }
        }
        page
    }

    /// The line after the page, if there is one.
    pub(crate) fn next_line(&self) -> Option<usize> {
        let (_, last) = self.lines?;
        (last < self.total).then_some(last + 1)
    }
}

fn push_line(out: &mut String, line: &str, length: usize) {
    if length <= MAX_LINE_CHARACTERS {
        out.push_str(line);
        return;
    }
    let (body, end) = match line.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (line, ""),
    };
    out.push_str(first_characters(body, MAX_LINE_CHARACTERS));
    out.push_str(&cut_marker(
        (length - end.len()).saturating_sub(MAX_LINE_CHARACTERS),
    ));
    out.push_str(end);
}

#[cfg(test)]
#[path = "line_page_tests.rs"]
mod tests;

//! Just enough of Rust's syntax: where comments and strings are, where an item ends, and
//! where functions are.

use std::ops::Range;

/// The text with comments, strings and characters blanked out; every other byte keeps
/// its place.
pub(crate) fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        match blank_end(bytes, at) {
            Some(end) => {
                let end = end.min(bytes.len());
                for byte in &mut out[at..end] {
                    if *byte != b'\n' {
                        *byte = b' ';
                    }
                }
                at = end;
            }
            None => at += 1,
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The end of the comment, string or character that starts at `at`.
fn blank_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    match rest {
        [b'/', b'/', ..] => {
            let line = rest.iter().position(|byte| *byte == b'\n');
            Some(line.map_or(bytes.len(), |length| at + length))
        }
        [b'/', b'*', ..] => Some(comment_end(bytes, at)),
        [b'"', ..] => Some(string_end(bytes, at + 1, b'"')),
        [b'\'', b'\\', _, ..] => Some(string_end(bytes, at + 3, b'\'')),
        [b'\'', first, ..] => {
            let length = match first {
                0..0xC0 => 1,
                0xC0..0xE0 => 2,
                0xE0..0xF0 => 3,
                0xF0.. => 4,
            };
            // Otherwise it is a lifetime.
            (rest.get(1 + length) == Some(&b'\'')).then_some(at + length + 2)
        }
        [b'r', ..] => raw_string_end(bytes, at),
        _ => None,
    }
}

fn comment_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while at < bytes.len() {
        match bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string_end(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while let Some(byte) = bytes.get(at) {
        match *byte {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    at
}

fn raw_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let before = |back: usize| at.checked_sub(back).map(|at| bytes[at]);
    let starts_word = match before(1) {
        Some(b'b' | b'c') => !before(2).is_some_and(is_word),
        Some(byte) => !is_word(byte),
        None => true,
    };
    let rest = &bytes[at + 1..];
    let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
    if !starts_word || rest.get(hashes) != Some(&b'"') {
        return None;
    }
    let mut closing = vec![b'"'];
    closing.resize(hashes + 1, b'#');
    let body = &rest[hashes + 1..];
    let found = body
        .windows(closing.len())
        .position(|window| window == closing);
    let end = found.map_or(body.len(), |found| found + closing.len());
    Some(at + 1 + hashes + 1 + end)
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// The number of the line that `offset` is on.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// Where the item (or statement) that starts at `start` of masked text ends.
pub(crate) fn item_end(code: &str, start: usize) -> usize {
    let mut depth = 0usize;
    for (offset, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => return offset + 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    let end = offset + 1;
                    let blanks = code[end..].len() - code[end..].trim_start().len();
                    let more = code[end + blanks..].starts_with(';');
                    return if more { end + blanks + 1 } else { end };
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// The ranges of masked text that only tests see.
pub(crate) fn test_ranges(code: &str) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (start, attribute) in code.match_indices("#[cfg(test)]") {
        if ranges.last().is_none_or(|range| range.end <= start) {
            ranges.push(start..item_end(code, start + attribute.len()));
        }
    }
    ranges
}

/// A function with a body.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) at: usize,
    /// What is between the parentheses.
    pub(crate) parameters: &'a str,
    /// How many lines it has, from `fn` to the closing brace.
    pub(crate) lines: usize,
}

/// The functions of masked text, nested ones too.
pub(crate) fn functions(code: &str) -> Vec<Function<'_>> {
    code.match_indices("fn ")
        .filter(|(at, _)| *at == 0 || !is_word(code.as_bytes()[at - 1]))
        .filter_map(|(at, word)| function(code, at, at + word.len()))
        .collect()
}

fn function(code: &str, at: usize, name_start: usize) -> Option<Function<'_>> {
    let rest = &code[name_start..];
    let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
    let open = parameters_start(code, name_start + length)?;
    let close = matching(code, open)?;
    let body = body_start(code, close + 1)?;
    let end = matching(code, body)?;
    Some(Function {
        name: &rest[..length],
        at,
        parameters: &code[open + 1..close],
        lines: line_of(code, end) - line_of(code, at) + 1,
    })
}

/// The parenthesis after a function's name and its generic parameters.
fn parameters_start(code: &str, from: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut before = b' ';
    for (offset, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'(' if depth == 0 => return Some(offset),
            b'<' => depth += 1,
            b'>' if before != b'-' => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = byte;
    }
    None
}

/// The brace that opens a function's body, unless a semicolon stands for it.
fn body_start(code: &str, from: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (offset, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'{' if depth == 0 => return Some(offset),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The bracket that closes the one at `open`, if there is one at `open`.
fn matching(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (offset, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return (offset > open).then_some(offset);
        }
    }
    None
}

/// The parts of a list of parameters or arguments, which commas separate.
pub(crate) fn comma_parts(list: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start, mut before) = (0usize, 0, b' ');
    for (offset, byte) in list.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'>' if before != b'-' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&list[start..offset]);
                start = offset + 1;
            }
            _ => {}
        }
        before = byte;
    }
    parts.push(&list[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

#[cfg(test)]
#[path = "rust_text_tests.rs"]
mod tests;

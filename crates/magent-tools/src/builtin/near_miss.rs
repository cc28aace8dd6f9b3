//! What is close to a text that was not found, and how it differs.
//!
//! A model that gets this report can correct its next call without reading the
//! whole file again.  The report is advice; nothing is ever replaced by it.

mod looser;
mod similar_lines;

use looser::{Difference, Loosened};
use unicode_normalization::char::is_combining_mark;

/// Texts beyond this size are not searched for similar places.
const MAX_TEXT: usize = 8 * 1024 * 1024;

/// Characters of a line that a report shows.
const SHOWN_CHARACTERS: usize = 160;

/// Describes what is closest to `wanted` in `text`; both have line feeds.
pub(crate) fn explain(text: &str, wanted: &str) -> String {
    if text.is_empty() {
        return "The file is empty.".to_owned();
    }
    if text.len() > MAX_TEXT || wanted.len() > MAX_TEXT {
        return "The text is too big to look for a similar place; read it again.".to_owned();
    }
    if let Some(body) = wanted.strip_suffix('\n')
        && text.ends_with(body)
    {
        return "It ends with a line break, which the end of the file does not have.".to_owned();
    }
    let lines = lines_of(text);
    let wanted_lines = lines_of(wanted);
    if let Some(report) = same_but_for_form(text, &lines, wanted, &wanted_lines) {
        return report;
    }
    if let Some(start) = similar_lines::best_window(&lines, &wanted_lines) {
        return describe_window(&lines, &wanted_lines, start);
    }
    match similar_lines::most_similar(&lines, &wanted_lines) {
        Some((index, wanted_index)) => format!(
            "The most similar line is line {}:\n{}",
            index + 1,
            pair(wanted_lines[wanted_index], index + 1, lines[index])
        ),
        None => "Nothing similar was found; read the file again.".to_owned(),
    }
}

/// The report on a place that has the same text in another form, for example with
/// tabs instead of spaces.
fn same_but_for_form(
    text: &str,
    lines: &[&str],
    wanted: &str,
    wanted_lines: &[&str],
) -> Option<String> {
    let loose = Loosened::new(text, None);
    let (first, last) = loose.find(wanted)?;
    let names: Vec<&str> = Difference::ALL
        .into_iter()
        .filter(|kept| Loosened::new(text, Some(*kept)).find(wanted).is_none())
        .map(Difference::name)
        .collect();
    let names = if names.is_empty() {
        "its form".to_owned()
    } else {
        names.join(" and ")
    };
    let place_lines = lines.get(first..=last)?;
    let index = place_lines
        .iter()
        .zip(wanted_lines)
        .enumerate()
        .position(|(index, (line, _))| !fits(line, wanted_lines, index))
        .unwrap_or(0);
    let place = if first == last {
        format!("Line {} differs", first + 1)
    } else {
        format!("The lines {}-{} differ", first + 1, last + 1)
    };
    Some(format!(
        "{place} from it only in {names}:\n{}",
        pair(wanted_lines[index], first + index + 1, place_lines[index])
    ))
}

/// The lines of a text; a final line break does not begin another one.
fn lines_of(text: &str) -> Vec<&str> {
    text.strip_suffix('\n')
        .unwrap_or(text)
        .split('\n')
        .collect()
}

/// Whether a line is as wanted.  The wanted text may begin and end within a line.
fn fits(line: &str, wanted: &[&str], index: usize) -> bool {
    let text = wanted[index];
    match (index == 0, index + 1 == wanted.len()) {
        (true, true) => line.contains(text),
        (true, false) => line.ends_with(text),
        (false, true) => line.starts_with(text),
        (false, false) => line == text,
    }
}

/// The report on a place where some of the wanted lines stand.
fn describe_window(lines: &[&str], wanted: &[&str], start: usize) -> String {
    let window = &lines[start..(start + wanted.len()).min(lines.len())];
    let different: Vec<usize> = (0..window.len())
        .filter(|index| !fits(window[*index], wanted, *index))
        .collect();
    let mut report = format!(
        "The closest place is at the lines {}-{}, where {} of {} lines are equal",
        start + 1,
        start + window.len(),
        window.len() - different.len(),
        wanted.len()
    );
    if different.is_empty() {
        report.push_str(" and the rest is not there.");
        return report;
    }
    report.push_str(". The first that differ:");
    for index in different.into_iter().take(2) {
        report.push('\n');
        report.push_str(&pair(wanted[index], start + index + 1, window[index]));
    }
    report
}

/// A wanted line above the line that was found, both around their first difference.
fn pair(wanted: &str, number: usize, found: &str) -> String {
    let same = wanted
        .chars()
        .zip(found.chars())
        .take_while(|(a, b)| a == b)
        .count();
    // A little of what is equal shows where the difference is.
    let skipped = same.saturating_sub(SHOWN_CHARACTERS / 4);
    format!(
        "  old_text: {}\n  line {number}: {}",
        visible(wanted, skipped),
        visible(found, skipped)
    )
}

/// A line as a string literal in which everything that is hard to see is spelled
/// out, in the notation that a model writes its arguments in.
fn visible(line: &str, skipped: usize) -> String {
    let mut out = String::from(if skipped > 0 { "...\"" } else { "\"" });
    let mut rest = line.chars().skip(skipped);
    for character in rest.by_ref().take(SHOWN_CHARACTERS) {
        match character {
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            _ if is_hard_to_see(character) => {
                let mut units = [0_u16; 2];
                for unit in character.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    if rest.next().is_some() {
        out.push_str("...");
    }
    out
}

fn is_hard_to_see(character: char) -> bool {
    character.is_control()
        || is_combining_mark(character)
        || looser::is_special_space(character)
        || looser::is_invisible(character)
}

#[cfg(test)]
#[path = "near_miss_tests.rs"]
mod tests;

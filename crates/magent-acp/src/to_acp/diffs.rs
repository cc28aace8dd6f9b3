//! Changes of files, cut down to what a display can draw.

use agent_client_protocol_schema::v1::{Diff, ToolCallContent};
use magent_types::FileDiff;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// The most lines of either side.
const MOST_LINES: usize = 300;
/// The most characters of a line.
const MOST_COLUMNS: usize = 400;
/// A file up to this size is shown whole.
const WHOLE: usize = 16 * 1024;

/// A change as the client gets it, and the line where it begins.
pub(crate) fn diff_content(diff: &FileDiff) -> (ToolCallContent, Option<u32>) {
    let old = diff.old_text.as_deref();
    let small = old.unwrap_or_default().len() + diff.new_text.len() <= WHOLE
        && longest_line(old.unwrap_or_default()) <= MOST_COLUMNS
        && longest_line(&diff.new_text) <= MOST_COLUMNS;
    if small {
        let first = first_difference(old.unwrap_or_default(), &diff.new_text);
        let content =
            Diff::new(&diff.path, diff.new_text.as_str()).old_text(old.map(str::to_owned));
        return (ToolCallContent::Diff(content), diff.line.or(Some(first)));
    }
    let part = changed_part(old.unwrap_or_default(), &diff.new_text);
    let content = Diff::new(&diff.path, part.new).old_text(old.map(|_| part.old));
    (
        ToolCallContent::Diff(content),
        diff.line.or(Some(part.line)),
    )
}

fn longest_line(text: &str) -> usize {
    text.lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
}

fn first_difference(old: &str, new: &str) -> u32 {
    let same = old
        .lines()
        .zip(new.lines())
        .take_while(|(old, new)| old == new)
        .count();
    u32::try_from(same + 1).unwrap_or(u32::MAX)
}

struct Part {
    old: String,
    new: String,
    line: u32,
}

/// The lines between the first and the last difference, with some context.
fn changed_part(old: &str, new: &str) -> Part {
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let head = old
        .iter()
        .zip(&new)
        .take_while(|(old, new)| old == new)
        .count();
    let tail = old[head..]
        .iter()
        .rev()
        .zip(new[head..].iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    let from = head.saturating_sub(CONTEXT);
    let keep = |lines: &[&str]| {
        let end = (lines.len() - tail + CONTEXT).min(lines.len());
        render(&lines[from..end])
    };
    Part {
        old: keep(&old),
        new: keep(&new),
        line: u32::try_from(head + 1).unwrap_or(u32::MAX),
    }
}

fn render(lines: &[&str]) -> String {
    let mut out = String::new();
    for line in lines.iter().take(MOST_LINES) {
        let length = line.chars().count();
        if length > MOST_COLUMNS {
            out.extend(line.chars().take(MOST_COLUMNS));
            out.push_str(&format!(" […{} more characters]", length - MOST_COLUMNS));
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    if lines.len() > MOST_LINES {
        out.push_str(&format!("[…{} more lines]\n", lines.len() - MOST_LINES));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: Option<&str>, new: &str) -> (Diff, u32) {
        let diff = FileDiff {
            path: "/p/a".into(),
            old_text: old.map(str::to_owned),
            new_text: new.into(),
            line: None,
        };
        match diff_content(&diff) {
            (ToolCallContent::Diff(content), Some(line)) => (content, line),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn small_changes_are_shown_whole() {
        let (content, line) = diff(Some("a\nb\n"), "a\nc\n");
        assert_eq!(content.old_text.as_deref(), Some("a\nb\n"));
        assert_eq!((content.new_text.as_str(), line), ("a\nc\n", 2));
        let (content, line) = diff(None, "new\n");
        assert_eq!((content.old_text, line), (None, 1));
    }

    /// E6: one long line, and a rewrite of 20,000 lines.
    #[test]
    fn giant_changes_are_cut_and_say_so() {
        let old = "x".repeat(2_000_000);
        let (content, _) = diff(Some(&old), &old.replacen('x', "y", 1));
        assert!(content.new_text.len() < 1_000);
        assert!(content.new_text.contains("more characters"));
        let old: String = (0..20_000).map(|n| format!("old {n}\n")).collect();
        let new: String = (0..20_000).map(|n| format!("new {n}\n")).collect();
        let (content, _) = diff(Some(&old), &new);
        assert!(content.new_text.lines().count() <= MOST_LINES + 1);
        assert!(content.new_text.contains("more lines"));
    }

    #[test]
    fn a_small_change_in_a_large_file_shows_its_surroundings() {
        let old: String = (1..=5_000).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 2500\n", "changed\n");
        let (content, line) = diff(Some(&old), &new);
        assert_eq!(line, 2_500);
        assert_eq!(
            content.new_text,
            "line 2497\nline 2498\nline 2499\nchanged\nline 2501\nline 2502\nline 2503\n"
        );
        assert_eq!(content.old_text.unwrap().lines().count(), 7);
    }
}

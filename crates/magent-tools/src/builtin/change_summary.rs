//! What changed between two texts, in numbers.

use similar::DiffOp;

use super::line_ends::line_diff;

/// The size and place of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangeSummary {
    /// The first line that differs, from 1.
    pub(crate) line: u32,
    /// Lines of the new text that the old one does not have.
    pub(crate) added: usize,
    /// Lines of the old text that the new one does not have.
    pub(crate) removed: usize,
}

/// Compares two texts by lines.
pub(crate) fn summarize_change(old: &str, new: &str) -> ChangeSummary {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    // Most changes are small, so the equal ends are taken off before the search.
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[before..], &new[before..]);
    let after = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (old, new) = (&old[..old.len() - after], &new[..new.len() - after]);
    let mut summary = ChangeSummary {
        line: u32::try_from(before + 1).unwrap_or(u32::MAX),
        added: 0,
        removed: 0,
    };
    for op in line_diff(old, new) {
        if !matches!(op, DiffOp::Equal { .. }) {
            summary.removed += op.old_range().len();
            summary.added += op.new_range().len();
        }
    }
    summary
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn summary(old: &str, new: &str) -> (u32, usize, usize) {
        let summary = summarize_change(old, new);
        (summary.line, summary.added, summary.removed)
    }

    #[test]
    fn changes_are_counted_by_lines() {
        assert_eq!(summary("a\nb\nc\n", "a\nx\nc\n"), (2, 1, 1));
        assert_eq!(summary("a\nb\n", "a\nx\ny\nb\n"), (2, 2, 0));
        assert_eq!(summary("a\nb\nc\nd\n", "a\nd\n"), (2, 0, 2));
        assert_eq!(summary("a\nb\nc\n", "x\nb\ny\n"), (1, 2, 2));
        assert_eq!(summary("", "a\nb"), (1, 2, 0));
        assert_eq!(summary("a", ""), (1, 0, 1));
        assert_eq!(summary("a\n", "a"), (1, 1, 1));
    }

    /// E6: a rewrite of a long file and of one huge line takes no noticeable time.
    #[test]
    fn big_changes_are_counted_quickly() {
        let lines = |salt: usize| -> String {
            (0..20_000_usize)
                .map(|n| format!("{}\n", n.wrapping_mul(7919 + salt) % 10_007))
                .collect()
        };
        let start = Instant::now();
        let (_, added, removed) = summary(&lines(0), &lines(1));
        assert!(added > 0 && removed > 0);
        let huge = "x".repeat(2_000_000);
        assert_eq!(summary(&huge, &format!("{huge}y")), (1, 1, 1));
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}

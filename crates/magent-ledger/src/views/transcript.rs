//! The conversation as a user sees it again after a restart.

use std::sync::Arc;

use magent_types::{Item, ItemType, Turn, TurnStatus};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// One entry of the transcript, in order.
#[derive(Clone, Debug)]
pub enum TranscriptEntry<'thread> {
    /// Something of a turn that a user interface shows.
    Item(&'thread Arc<Item>),
    /// The turn of what came before has ended without an answer.
    Unanswered(&'thread Turn),
}

/// Everything of a turn that can be shown again, in its original order.
pub fn transcript(turn: &Turn) -> Vec<TranscriptEntry<'_>> {
    let items = turn.items.iter().filter(|item| is_shown(item));
    let mut entries: Vec<_> = items.map(TranscriptEntry::Item).collect();
    match turn.status {
        TurnStatus::Failed | TurnStatus::Interrupted | TurnStatus::Dropped => {
            entries.push(TranscriptEntry::Unanswered(turn));
        }
        TurnStatus::Queued | TurnStatus::InProgress | TurnStatus::Completed => {}
    }
    entries
}

fn is_shown(item: &Item) -> bool {
    match item.kind {
        ItemType::Message | ItemType::Reasoning | ItemType::Notice => item
            .content
            .as_deref()
            .is_some_and(|text| !text.trim().is_empty()),
        ItemType::Tool | ItemType::Plan => true,
        ItemType::Provider | ItemType::Sample | ItemType::WorkflowStep => false,
    }
}

/// A title out of a text: its first words on one line, at most 48 columns.
pub fn first_words(text: &str) -> Option<String> {
    const COLUMNS: usize = 48;
    const CONSIDERED: usize = 4_096;
    let head: String = text.chars().take(CONSIDERED).collect();
    let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return None;
    }
    if line.width() <= COLUMNS {
        return Some(line);
    }
    let mut title = String::new();
    for character in line.chars() {
        if title.width() + character.width().unwrap_or(0) > COLUMNS - 1 {
            break;
        }
        title.push(character);
    }
    title.truncate(title.trim_end().len());
    title.push('…');
    Some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_one_line_of_at_most_48_columns() {
        assert_eq!(first_words(" fix \n the\tbug ").unwrap(), "fix the bug");
        assert_eq!(first_words(" \n"), None);
        let long = first_words(&"word ".repeat(30)).unwrap();
        assert!(long.width() <= 48, "{long}");
        assert!(long.ends_with('…'));
        let wide = first_words(&"漢字".repeat(40)).unwrap();
        assert!(wide.width() <= 48, "{wide}");
        let exact = "x".repeat(48);
        assert_eq!(first_words(&exact).unwrap(), exact);
    }
}

//! Whether the events of a log follow their snapshot.
//!
//! An event that says something of a turn or an item that nothing began would change
//! nothing when it is applied: what it says would be gone without a word.

use std::collections::HashSet;
use std::path::Path;

use magent_types::{Event, EventType};

use crate::error::ShapeError;
use crate::{LedgerError, Snapshot};

/// Checks that events follow each other and the snapshot, and name what is there.
pub(super) fn check_follows(
    snapshot: &Snapshot,
    events: &[Event],
    path: &Path,
) -> Result<(), LedgerError> {
    check_sequence(snapshot, events, path)?;
    check_names(snapshot, events, path)
}

/// Events must follow each other and the snapshot without a gap, and reach as far as the
/// snapshot: a log always keeps the last of what a snapshot includes.
fn check_sequence(snapshot: &Snapshot, events: &[Event], path: &Path) -> Result<(), LedgerError> {
    let last = events.last().map_or(0, |event| event.seq);
    if events.is_empty() || last < snapshot.last_event_seq {
        let problem = match (last, snapshot.last_event_seq) {
            (0, 0) => "has no event".to_owned(),
            (0, known) => format!("has no event, but the snapshot includes {known}"),
            (last, known) => format!("ends with event {last}, but the snapshot includes {known}"),
        };
        return Err(ShapeError::new("", problem).in_file(path));
    }
    let mut expected: Option<u64> = None;
    for (index, event) in events.iter().enumerate() {
        let gap = match expected {
            None => event.seq > snapshot.last_event_seq + 1,
            Some(expected) => event.seq != expected,
        };
        if gap {
            let last = expected.map_or(snapshot.last_event_seq, |next| next - 1);
            let problem = format!("is {} where {} should follow", event.seq, last + 1);
            return Err(ShapeError::new("seq", problem).in_line(path, index + 1));
        }
        expected = Some(event.seq + 1);
    }
    Ok(())
}

/// What the snapshot does not include is applied, and must find its turn and its item.
fn check_names(snapshot: &Snapshot, events: &[Event], path: &Path) -> Result<(), LedgerError> {
    let turns = &snapshot.thread.turns;
    let mut known_turns: HashSet<&str> = turns.iter().map(|turn| turn.id.as_str()).collect();
    let items = turns.iter().flat_map(|turn| &turn.items);
    let mut known_items: HashSet<&str> = items.map(|item| item.id.as_str()).collect();
    let newer = events.iter().enumerate();
    for (index, event) in newer.filter(|(_, event)| event.seq > snapshot.last_event_seq) {
        let item = match &event.kind {
            EventType::TurnQueued(turn) => {
                known_turns.insert(turn.id.as_str());
                None
            }
            EventType::ItemStarted(item) => {
                known_items.insert(item.id.as_str());
                None
            }
            EventType::ItemCompleted(item)
            | EventType::ItemFailed(item, _)
            | EventType::ItemCancelled(item, _) => Some(&item.id),
            EventType::ItemContentAppended(_) => event.item_id.as_ref(),
            _ => None,
        };
        let unknown = if event
            .turn_id
            .as_ref()
            .is_some_and(|id| !known_turns.contains(id.as_str()))
        {
            "turn-id"
        } else if item.is_some_and(|id| !known_items.contains(id.as_str())) {
            "item-id"
        } else {
            continue;
        };
        let error = ShapeError::new(unknown, "names nothing that was begun before");
        return Err(error.in_line(path, index + 1));
    }
    Ok(())
}

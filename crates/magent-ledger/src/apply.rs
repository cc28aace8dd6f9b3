//! The rules by which an event changes the state.

use std::sync::Arc;

use magent_types::{
    Event, EventType, Item, ItemId, ItemStatus, Thread, ThreadStatus, Turn, TurnId, TurnStatus,
    UnixSeconds,
};
use serde_json::Value;

/// Applies an event.  Events about turns or items that are not there change nothing,
/// so that a journal whose head was cut off can be replayed over its snapshot.
pub(crate) fn apply(thread: &mut Thread, event: &Event) {
    let now = event.created_at;
    thread.updated_at = now;
    match &event.kind {
        EventType::ThreadStarted => {}
        EventType::ThreadStatusChanged(status) => thread.status = *status,
        EventType::TurnQueued(turn) => add_turn(thread, turn),
        EventType::TurnStarted(_) => {
            thread.status = ThreadStatus::Active;
            with_turn(thread, event.turn_id.as_ref(), |turn| {
                turn.status = TurnStatus::InProgress;
                turn.started_at = Some(now);
            });
        }
        EventType::TurnStatusChanged(status) => {
            with_turn(thread, event.turn_id.as_ref(), |turn| turn.status = *status);
        }
        EventType::TurnCompleted(usage) => {
            end_turn(thread, event, TurnStatus::Completed, &Value::Null);
            with_turn(thread, event.turn_id.as_ref(), |turn| {
                turn.usage = usage.clone();
            });
        }
        EventType::TurnFailed(error) => end_turn(thread, event, TurnStatus::Failed, error),
        EventType::TurnInterrupted(error) => {
            end_turn(thread, event, TurnStatus::Interrupted, error);
        }
        EventType::TurnDropped(error) => end_turn(thread, event, TurnStatus::Dropped, error),
        EventType::ItemStarted(item) => start_item(thread, event, item),
        EventType::ItemContentAppended(text) => {
            with_item(thread, event, |item| {
                item.content.get_or_insert_default().push_str(text);
                item.updated_at = now;
            });
        }
        EventType::ItemCompleted(item) => {
            end_item(thread, event, item, ItemStatus::Completed, &Value::Null);
        }
        EventType::ItemFailed(item, error) => {
            end_item(thread, event, item, ItemStatus::Failed, error);
        }
        EventType::ItemCancelled(item, error) => {
            end_item(thread, event, item, ItemStatus::Cancelled, error);
        }
    }
}

fn add_turn(thread: &mut Thread, turn: &Turn) {
    if thread.preview.is_none() {
        thread.preview.clone_from(&turn.input);
    }
    thread.turns.push(Arc::new(turn.clone()));
}

fn with_turn(thread: &mut Thread, id: Option<&TurnId>, change: impl FnOnce(&mut Turn)) {
    let Some(id) = id else { return };
    if let Some(turn) = thread.turns.iter_mut().rev().find(|turn| turn.id == *id) {
        change(Arc::make_mut(turn));
    }
}

fn with_item(thread: &mut Thread, event: &Event, change: impl FnOnce(&mut Item)) {
    let Some(id) = &event.item_id else { return };
    with_turn(thread, event.turn_id.as_ref(), |turn| {
        if let Some(item) = find_item(turn, id) {
            change(Arc::make_mut(item));
        }
    });
}

fn find_item<'turn>(turn: &'turn mut Turn, id: &ItemId) -> Option<&'turn mut Arc<Item>> {
    turn.items.iter_mut().rev().find(|item| item.id == *id)
}

fn end_turn(thread: &mut Thread, event: &Event, status: TurnStatus, error: &Value) {
    let now = event.created_at;
    let mut was_running = false;
    with_turn(thread, event.turn_id.as_ref(), |turn| {
        was_running = turn.started_at.is_some();
        turn.status = status;
        turn.completed_at = Some(now);
        turn.duration_ms = turn.started_at.map(|started| milliseconds(now - started));
        if !error.is_null() {
            turn.error = error.clone();
        }
    });
    // Dropping a queued turn says nothing about the turn that runs beside it.
    if was_running {
        thread.status = match status {
            TurnStatus::Failed => ThreadStatus::SystemError,
            _ => ThreadStatus::Idle,
        };
    }
}

fn milliseconds(seconds: UnixSeconds) -> i64 {
    (seconds * 1_000.0).round() as i64
}

fn start_item(thread: &mut Thread, event: &Event, item: &Item) {
    with_turn(thread, event.turn_id.as_ref(), |turn| {
        if let Some(known) = find_item(turn, &item.id) {
            merge(Arc::make_mut(known), item);
        } else {
            turn.items.push(Arc::new(item.clone()));
        }
    });
}

fn end_item(thread: &mut Thread, event: &Event, item: &Item, status: ItemStatus, error: &Value) {
    let now = event.created_at;
    with_turn(thread, event.turn_id.as_ref(), |turn| {
        let known = match find_item(turn, &item.id) {
            Some(known) => Arc::make_mut(known),
            None => return,
        };
        merge(known, item);
        known.status = status;
        known.updated_at = now;
        known.completed_at = Some(now);
        if !error.is_null() {
            known.error = error.clone();
        }
    });
}

/// Takes over what the newer item knows and keeps what it leaves out.
fn merge(known: &mut Item, newer: &Item) {
    fn text<T: Clone>(known: &mut Option<T>, newer: &Option<T>) {
        if newer.is_some() {
            known.clone_from(newer);
        }
    }
    fn value(known: &mut Value, newer: &Value) {
        if !newer.is_null() {
            known.clone_from(newer);
        }
    }
    known.kind = newer.kind;
    known.status = newer.status;
    text(&mut known.role, &newer.role);
    text(&mut known.content, &newer.content);
    text(&mut known.name, &newer.name);
    text(&mut known.call_id, &newer.call_id);
    text(&mut known.phase, &newer.phase);
    value(&mut known.input, &newer.input);
    value(&mut known.output, &newer.output);
    value(&mut known.error, &newer.error);
    for (key, entry) in &newer.metadata {
        known.metadata.insert(key.clone(), entry.clone());
    }
    known.updated_at = newer.updated_at;
    text(&mut known.completed_at, &newer.completed_at);
}

//! Events: one line of the log each.

use magent_types::{Event, EventType, ItemId, ThreadId, ThreadStatus, TurnId, TurnStatus};
use serde_json::{Map, Value};

use super::Fields;
use super::thread::{decode_item, decode_turn, encode_item, encode_turn};
use crate::error::ShapeError;

/// One line of the log, without its newline.
pub fn encode_event(event: &Event) -> Value {
    let mut object = Map::new();
    object.insert("seq".into(), event.seq.into());
    object.insert("type".into(), event.kind.name().into());
    object.insert("thread-id".into(), event.thread_id.as_str().into());
    let turn_id = event.turn_id.as_ref().map(TurnId::as_str);
    object.insert("turn-id".into(), turn_id.into());
    let item_id = event.item_id.as_ref().map(ItemId::as_str);
    object.insert("item-id".into(), item_id.into());
    object.insert("payload".into(), Value::Object(encode_payload(&event.kind)));
    object.insert("created-at".into(), event.created_at.into());
    Value::Object(object)
}

/// Events as the log has them, one line each.
pub(crate) fn encode_lines<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<u8> {
    let mut lines = Vec::new();
    for event in events {
        lines.extend_from_slice(encode_event(event).to_string().as_bytes());
        lines.push(b'\n');
    }
    lines
}

fn encode_payload(kind: &EventType) -> Map<String, Value> {
    let mut payload = Map::new();
    let mut put = |key: &str, value: Value| {
        payload.insert(key.to_owned(), value);
    };
    match kind {
        EventType::ThreadStarted => {}
        EventType::ThreadStatusChanged(status) => put("status", status.as_str().into()),
        EventType::TurnStatusChanged(status) => put("status", status.as_str().into()),
        EventType::TurnQueued(turn) | EventType::TurnStarted(turn) => {
            put("turn", encode_turn(turn));
        }
        EventType::TurnCompleted(usage) => put("usage", usage.clone()),
        EventType::TurnFailed(error)
        | EventType::TurnInterrupted(error)
        | EventType::TurnDropped(error) => put("error", error.clone()),
        EventType::ItemStarted(item) | EventType::ItemCompleted(item) => {
            put("item", encode_item(item));
        }
        EventType::ItemContentAppended(text) => put("content", text.as_str().into()),
        EventType::ItemFailed(item, error) | EventType::ItemCancelled(item, error) => {
            put("item", encode_item(item));
            put("error", error.clone());
        }
    }
    payload
}

/// Reads one line of the log.  The error names the field.
pub fn decode_event(value: Value) -> Result<Event, ShapeError> {
    let mut fields = Fields::of_object(value)?;
    let seq = fields.required_count("seq")?;
    let name = fields.required_text("type")?;
    let thread_id = ThreadId::new(fields.required_text("thread-id")?);
    let turn_id = fields.optional_text("turn-id")?.map(TurnId::new);
    let item_id = fields.optional_text("item-id")?.map(ItemId::new);
    let payload = fields.required("payload")?;
    let created_at = fields.required_number("created-at")?;
    fields.finish()?;
    if turn_id.is_none() && (name.starts_with("turn-") || name.starts_with("item-")) {
        return Err(ShapeError::new("turn-id", "is missing"));
    }
    if item_id.is_none() && name.starts_with("item-") {
        return Err(ShapeError::new("item-id", "is missing"));
    }
    let kind = decode_payload(&name, payload).map_err(|error| error.below("payload"))?;
    let Some(kind) = kind else {
        return Err(ShapeError::new("type", format!("has no value {name}")));
    };
    Ok(Event {
        seq,
        thread_id,
        turn_id,
        item_id,
        kind,
        created_at,
    })
}

fn decode_payload(name: &str, payload: Value) -> Result<Option<EventType>, ShapeError> {
    let mut fields = Fields::of_object(payload)?;
    let kind = match name {
        "thread-started" => EventType::ThreadStarted,
        "thread-status-changed" => {
            EventType::ThreadStatusChanged(status(&mut fields, ThreadStatus::parse)?)
        }
        "turn-status-changed" => {
            EventType::TurnStatusChanged(status(&mut fields, TurnStatus::parse)?)
        }
        "turn-queued" => EventType::TurnQueued(turn(&mut fields)?),
        "turn-started" => EventType::TurnStarted(turn(&mut fields)?),
        "turn-completed" => EventType::TurnCompleted(fields.required("usage")?),
        "turn-failed" => EventType::TurnFailed(fields.required("error")?),
        "turn-interrupted" => EventType::TurnInterrupted(fields.required("error")?),
        "turn-dropped" => EventType::TurnDropped(fields.required("error")?),
        "item-started" => EventType::ItemStarted(item(&mut fields)?),
        "item-completed" => EventType::ItemCompleted(item(&mut fields)?),
        "item-failed" => {
            let item = item(&mut fields)?;
            EventType::ItemFailed(item, fields.required("error")?)
        }
        "item-cancelled" => {
            let item = item(&mut fields)?;
            EventType::ItemCancelled(item, fields.required("error")?)
        }
        "item-content-appended" => {
            let text = fields.required_text("content")?;
            if text.is_empty() {
                return Err(ShapeError::new("content", "is empty"));
            }
            EventType::ItemContentAppended(text)
        }
        _ => return Ok(None),
    };
    fields.finish()?;
    Ok(Some(kind))
}

fn status<T>(fields: &mut Fields, parse: impl Fn(&str) -> Option<T>) -> Result<T, ShapeError> {
    let name = fields.required_text("status")?;
    parse(&name).ok_or_else(|| ShapeError::new("status", format!("has no value {name}")))
}

fn turn(fields: &mut Fields) -> Result<magent_types::Turn, ShapeError> {
    decode_turn(fields.required("turn")?).map_err(|error| error.below("turn"))
}

fn item(fields: &mut Fields) -> Result<magent_types::Item, ShapeError> {
    decode_item(fields.required("item")?).map_err(|error| error.below("item"))
}

//! Snapshots: thread, turns and items as JSON.

use std::sync::Arc;

use magent_types::{
    CallId, Item, ItemId, ItemStatus, ItemType, Role, Scope, SessionId, Thread, ThreadId,
    ThreadStatus, Turn, TurnId, TurnStatus,
};
use serde_json::{Map, Value};

use super::Fields;
use crate::error::ShapeError;
use crate::{LedgerError, Snapshot};

/// The snapshot file's content.
pub fn encode_snapshot(snapshot: &Snapshot) -> Value {
    let thread = &snapshot.thread;
    let mut object = Map::new();
    object.insert("id".into(), thread.id.as_str().into());
    object.insert("session-id".into(), thread.session_id.as_str().into());
    object.insert("scope".into(), encode_scope(&thread.scope));
    object.insert("status".into(), thread.status.as_str().into());
    object.insert("created-at".into(), thread.created_at.into());
    object.insert("updated-at".into(), thread.updated_at.into());
    object.insert("preview".into(), thread.preview.clone().into());
    object.insert("metadata".into(), Value::Object(thread.metadata.clone()));
    let turns: Vec<Value> = thread.turns.iter().map(|turn| encode_turn(turn)).collect();
    object.insert("turns".into(), turns.into());
    object.insert("snapshot-created-at".into(), snapshot.created_at.into());
    object.insert("last-event-seq".into(), snapshot.last_event_seq.into());
    Value::Object(object)
}

/// Reads a snapshot file's content; `path` only names it in errors.
pub fn decode_snapshot(value: Value, path: &std::path::Path) -> Result<Snapshot, LedgerError> {
    read_snapshot(value).map_err(|error| error.in_file(path))
}

fn read_snapshot(value: Value) -> Result<Snapshot, ShapeError> {
    let mut fields = Fields::of_object(value)?;
    let thread = Thread {
        id: ThreadId::new(fields.required_text("id")?),
        session_id: SessionId::new(fields.required_text("session-id")?),
        scope: decode_scope(&fields.required_text("scope")?),
        status: named(&mut fields, "status", ThreadStatus::parse)?,
        created_at: fields.required_number("created-at")?,
        updated_at: fields.required_number("updated-at")?,
        preview: fields.optional_text("preview")?,
        metadata: fields.optional_object("metadata")?.unwrap_or_default(),
        turns: decode_list(fields.required_array("turns")?, "turns", |value| {
            decode_turn(value).map(Arc::new)
        })?,
    };
    let created_at = fields.required_number("snapshot-created-at")?;
    let last_event_seq = fields.required_count("last-event-seq")?;
    fields.finish()?;
    Ok(Snapshot {
        thread,
        last_event_seq,
        created_at,
    })
}

/// `global`, or the project's root.
fn encode_scope(scope: &Scope) -> Value {
    scope.root().unwrap_or("global").into()
}

fn decode_scope(text: &str) -> Scope {
    match text {
        "global" => Scope::Global,
        root => Scope::Project(root.to_owned()),
    }
}

pub(super) fn encode_turn(turn: &Turn) -> Value {
    let mut object = Map::new();
    object.insert("id".into(), turn.id.as_str().into());
    object.insert("thread-id".into(), turn.thread_id.as_str().into());
    object.insert("op-id".into(), turn.op_id.clone().into());
    object.insert("status".into(), turn.status.as_str().into());
    object.insert("input".into(), turn.input.clone().into());
    let items: Vec<Value> = turn.items.iter().map(|item| encode_item(item)).collect();
    object.insert("items".into(), items.into());
    object.insert("error".into(), turn.error.clone());
    object.insert("usage".into(), turn.usage.clone());
    object.insert("metadata".into(), Value::Object(turn.metadata.clone()));
    object.insert("queued-at".into(), turn.queued_at.into());
    object.insert("started-at".into(), turn.started_at.into());
    object.insert("completed-at".into(), turn.completed_at.into());
    object.insert("duration-ms".into(), turn.duration_ms.into());
    Value::Object(object)
}

pub(super) fn decode_turn(value: Value) -> Result<Turn, ShapeError> {
    let mut fields = Fields::of_object(value)?;
    let turn = Turn {
        id: TurnId::new(fields.required_text("id")?),
        thread_id: ThreadId::new(fields.required_text("thread-id")?),
        op_id: fields.optional_text("op-id")?,
        status: named(&mut fields, "status", TurnStatus::parse)?,
        input: fields.optional_text("input")?,
        items: decode_list(fields.required_array("items")?, "items", |value| {
            decode_item(value).map(Arc::new)
        })?,
        error: fields.required("error")?,
        usage: fields.required("usage")?,
        metadata: fields.optional_object("metadata")?.unwrap_or_default(),
        queued_at: fields.required_number("queued-at")?,
        started_at: fields.optional_number("started-at")?,
        completed_at: fields.optional_number("completed-at")?,
        duration_ms: match fields.required("duration-ms")? {
            Value::Null => None,
            value => Some(
                value
                    .as_i64()
                    .ok_or_else(|| ShapeError::new("duration-ms", "is not a whole number"))?,
            ),
        },
    };
    fields.finish()?;
    Ok(turn)
}

pub(super) fn encode_item(item: &Item) -> Value {
    let mut object = Map::new();
    object.insert("id".into(), item.id.as_str().into());
    object.insert("turn-id".into(), item.turn_id.as_str().into());
    object.insert("type".into(), item.kind.as_str().into());
    object.insert("status".into(), item.status.as_str().into());
    object.insert("role".into(), item.role.map(Role::as_str).into());
    object.insert("content".into(), item.content.clone().into());
    object.insert("name".into(), item.name.clone().into());
    let call_id = item.call_id.as_ref().map(CallId::as_str);
    object.insert("call-id".into(), call_id.into());
    object.insert("input".into(), item.input.clone());
    object.insert("output".into(), item.output.clone());
    object.insert("error".into(), item.error.clone());
    object.insert("phase".into(), item.phase.clone().into());
    object.insert("metadata".into(), Value::Object(item.metadata.clone()));
    object.insert("created-at".into(), item.created_at.into());
    object.insert("updated-at".into(), item.updated_at.into());
    object.insert("completed-at".into(), item.completed_at.into());
    Value::Object(object)
}

pub(super) fn decode_item(value: Value) -> Result<Item, ShapeError> {
    let mut fields = Fields::of_object(value)?;
    let item = Item {
        id: ItemId::new(fields.required_text("id")?),
        turn_id: TurnId::new(fields.required_text("turn-id")?),
        kind: named(&mut fields, "type", ItemType::parse)?,
        status: named(&mut fields, "status", ItemStatus::parse)?,
        role: match fields.optional_text("role")? {
            None => None,
            Some(name) => Some(
                Role::parse(&name)
                    .ok_or_else(|| ShapeError::new("role", format!("has no value {name}")))?,
            ),
        },
        content: fields.optional_text("content")?,
        name: fields.optional_text("name")?,
        call_id: fields.optional_text("call-id")?.map(CallId::new),
        input: fields.required("input")?,
        output: fields.required("output")?,
        error: fields.required("error")?,
        phase: fields.optional_text("phase")?,
        metadata: fields.optional_object("metadata")?.unwrap_or_default(),
        created_at: fields.required_number("created-at")?,
        updated_at: fields.required_number("updated-at")?,
        completed_at: fields.optional_number("completed-at")?,
    };
    fields.finish()?;
    check_tool_output(&item)?;
    Ok(item)
}

/// A tool's result is null or exactly `{"value", "content"}`.
fn check_tool_output(item: &Item) -> Result<(), ShapeError> {
    if item.kind != ItemType::Tool || item.output.is_null() {
        return Ok(());
    }
    let fits = item.output.as_object().is_some_and(|object| {
        object.len() == 2
            && object.contains_key("value")
            && object.get("content").is_some_and(Value::is_string)
    });
    if fits {
        Ok(())
    } else {
        Err(ShapeError::new(
            "output",
            "is not a tool result with value and content",
        ))
    }
}

fn named<T>(
    fields: &mut Fields,
    key: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, ShapeError> {
    let name = fields.required_text(key)?;
    parse(&name).ok_or_else(|| ShapeError::new(key, format!("has no value {name}")))
}

fn decode_list<T>(
    values: Vec<Value>,
    key: &str,
    decode: impl Fn(Value) -> Result<T, ShapeError>,
) -> Result<Vec<T>, ShapeError> {
    values
        .into_iter()
        .enumerate()
        .map(|(index, value)| {
            decode(value).map_err(|error| error.below(&format!("{key}[{index}]")))
        })
        .collect()
}

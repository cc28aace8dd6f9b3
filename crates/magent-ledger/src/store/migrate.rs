//! Sessions of the schemas 6 and 7, made into those of schema 8 where they lie.
//!
//! Schema 6 has everything in the header's file and an empty object where null is meant;
//! schema 7 has the three files of today.  In both a tool's result is a text, and a key may
//! be there twice, of which the first counts.  Nothing is invented: old turns have no
//! samples.  All of it is read and checked before a file is written, and the header is
//! written last, so that whatever is interrupted begins again.

use std::path::Path;

use magent_types::{Event, EventType};
use serde_json::{Map, Value, json};

use super::SessionFiles;
use super::files::{read_file, replace_file};
use super::load::{decode_lines, parse_old, whole_lines};
use crate::codec::{decode_event, decode_snapshot, encode_lines, encode_snapshot};
use crate::error::ShapeError;
use crate::{Ledger, LedgerError, SessionHeader, Snapshot};

/// The versions that are migrated.
pub(super) const OLD_VERSIONS: [u64; 2] = [6, 7];

/// The header of a session of an old version, without what else is in its file.
pub(super) fn old_header(mut value: Value) -> Result<SessionHeader, ShapeError> {
    if let Some(fields) = value.as_object_mut() {
        fields.shift_remove("snapshot");
        fields.shift_remove("journal");
        for key in [
            "kind",
            "action",
            "status",
            "title",
            "summary-title",
            "parent-session-id",
        ] {
            mean_null(fields, key);
        }
    }
    SessionHeader::from_json(value)
}

/// Makes a session of an old version, whose header's file holds `value`, into one of today.
pub(super) fn migrate(files: &SessionFiles, mut value: Value) -> Result<(), LedgerError> {
    let is_six = value.get("schema-version") == Some(&json!(6));
    let mut part = |key: &str| value.as_object_mut()?.shift_remove(key);
    let (snapshot, journal) = (part("snapshot"), part("journal"));
    let header = old_header(value).map_err(|error| error.in_file(&files.header))?;
    let (snapshot, events) = if is_six {
        read_six(files, snapshot, journal)?
    } else {
        read_seven(files)?
    };
    let events = reaching(events, &snapshot);
    if is_six {
        // What only its old program understands of it is not lost.
        let kept = files.kept_old_header();
        let old = read_file(&files.header).and_then(|bytes| replace_file(&kept, &bytes));
        old.map_err(|error| LedgerError::io(&kept, error))?;
    }
    let lines = encode_lines(&events);
    let header = header.to_json().to_string();
    // Old programs passed over events of what they did not know, which are refused today:
    // a snapshot that includes them all settles it.
    let created_at = snapshot.created_at;
    let snapshot = Ledger::restore(snapshot, events).snapshot(created_at);
    let snapshot = encode_snapshot(&snapshot).to_string();
    for (path, bytes) in [
        (&files.log, lines.as_slice()),
        (&files.snapshot, snapshot.as_bytes()),
        (&files.header, header.as_bytes()),
    ] {
        replace_file(path, bytes).map_err(|error| LedgerError::io(path, error))?;
    }
    Ok(())
}

fn read_six(
    files: &SessionFiles,
    snapshot: Option<Value>,
    journal: Option<Value>,
) -> Result<(Snapshot, Vec<Event>), LedgerError> {
    let in_file = |error: ShapeError| error.in_file(&files.header);
    let missing = |key: &str| in_file(ShapeError::new(key, "is missing"));
    let mut snapshot = snapshot.ok_or_else(|| missing("snapshot"))?;
    upgrade_thread(&mut snapshot, true);
    let snapshot = decode_snapshot(snapshot, &files.header)?;
    let Value::Array(journal) = journal.ok_or_else(|| missing("journal"))? else {
        return Err(in_file(ShapeError::new("journal", "is not an array")));
    };
    let events = journal.into_iter().enumerate().map(|(index, mut event)| {
        upgrade_event(&mut event, true);
        decode_event(event).map_err(|error| in_file(error.below(&format!("journal[{index}]"))))
    });
    Ok((snapshot, events.collect::<Result<_, _>>()?))
}

fn read_seven(files: &SessionFiles) -> Result<(Snapshot, Vec<Event>), LedgerError> {
    let bytes = |path: &Path| read_file(path).map_err(|error| LedgerError::io(path, error));
    let mut snapshot =
        parse_old(&bytes(&files.snapshot)?).map_err(|error| error.in_file(&files.snapshot))?;
    upgrade_thread(&mut snapshot, false);
    let snapshot = decode_snapshot(snapshot, &files.snapshot)?;
    let log = bytes(&files.log)?;
    let events = decode_lines(whole_lines(&log), &files.log, |line| {
        let mut event = parse_old(line)?;
        upgrade_event(&mut event, false);
        decode_event(event)
    })?;
    Ok((snapshot, events))
}

/// The events if they reach as far as the snapshot, or else one that follows it: a log is
/// never empty and never ends before its snapshot.
fn reaching(events: Vec<Event>, snapshot: &Snapshot) -> Vec<Event> {
    let last = events.last().map(|event| event.seq);
    if last.is_some_and(|last| last >= snapshot.last_event_seq) {
        return events;
    }
    vec![Event {
        seq: snapshot.last_event_seq + 1,
        thread_id: snapshot.thread.id.clone(),
        turn_id: None,
        item_id: None,
        kind: EventType::ThreadStatusChanged(snapshot.thread.status),
        created_at: snapshot.created_at,
    }]
}

/// An empty object where something else is meant becomes null.
fn mean_null(fields: &mut Map<String, Value>, key: &str) {
    if let Some(value) = fields.get_mut(key)
        && value.as_object().is_some_and(Map::is_empty)
    {
        *value = Value::Null;
    }
}

fn mean_nulls(fields: &mut Map<String, Value>, is_six: bool, keys: &[&str]) {
    if is_six {
        keys.iter().for_each(|key| mean_null(fields, key));
    }
}

fn upgrade_thread(value: &mut Value, is_six: bool) {
    let Some(fields) = value.as_object_mut() else {
        return;
    };
    mean_nulls(fields, is_six, &["preview"]);
    for turn in entries(fields, "turns") {
        upgrade_turn(turn, is_six);
    }
}

fn upgrade_turn(value: &mut Value, is_six: bool) {
    let Some(fields) = value.as_object_mut() else {
        return;
    };
    let keys = [
        "op-id",
        "input",
        "error",
        "usage",
        "started-at",
        "completed-at",
        "duration-ms",
    ];
    mean_nulls(fields, is_six, &keys);
    supply(fields, &["error", "usage", "duration-ms"]);
    if !fields.contains_key("items") {
        fields.insert("items".into(), Value::Array(Vec::new()));
    }
    for item in entries(fields, "items") {
        upgrade_item(item, is_six);
    }
}

fn upgrade_item(value: &mut Value, is_six: bool) {
    let Some(fields) = value.as_object_mut() else {
        return;
    };
    let is_tool = fields.get("type").is_some_and(|kind| kind == "tool");
    let keys = [
        "role",
        "content",
        "name",
        "call-id",
        "output",
        "error",
        "phase",
        "completed-at",
    ];
    mean_nulls(fields, is_six, &keys);
    // A call without arguments has an empty object for them.
    if !is_tool {
        mean_nulls(fields, is_six, &["input"]);
    }
    supply(fields, &["input", "output", "error"]);
    if let Some(output) = fields.get_mut("output").filter(|_| is_tool) {
        let old = output.take();
        *output = match old {
            Value::Null => Value::Null,
            Value::String(text) => json!({"value": text, "content": text}),
            // A migration that was interrupted has been here.
            old if old.get("value").is_some() && old.get("content").is_some() => old,
            old => json!({"value": old, "content": old.to_string()}),
        };
    }
}

fn upgrade_event(value: &mut Value, is_six: bool) {
    let Some(fields) = value.as_object_mut() else {
        return;
    };
    mean_nulls(fields, is_six, &["turn-id", "item-id"]);
    let Some(payload) = fields.get_mut("payload").and_then(Value::as_object_mut) else {
        return;
    };
    mean_nulls(payload, is_six, &["error", "usage"]);
    if let Some(turn) = payload.get_mut("turn") {
        upgrade_turn(turn, is_six);
    }
    if let Some(item) = payload.get_mut("item") {
        upgrade_item(item, is_six);
    }
}

fn entries<'a>(fields: &'a mut Map<String, Value>, key: &str) -> &'a mut [Value] {
    fields
        .get_mut(key)
        .and_then(Value::as_array_mut)
        .map_or(&mut [], Vec::as_mut_slice)
}

/// Fields that old files could leave out.
fn supply(fields: &mut Map<String, Value>, keys: &[&str]) {
    for key in keys {
        fields.entry(*key).or_insert(Value::Null);
    }
}

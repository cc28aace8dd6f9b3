//! Reading what can be read of a damaged session.
//!
//! Loading is strict, so that damage is noticed; this is for when it was.  Nothing is
//! changed: what is found becomes another session.

use magent_types::{Event, EventType, Scope, SessionId, Thread, Turn};

use super::SessionFiles;
use super::files::read_file;
use super::load::{parse, read_header};
use crate::codec::{decode_event, decode_snapshot};
use crate::{Ledger, LedgerError, SessionHeader, Snapshot};

/// What could be read of a session.
#[derive(Debug)]
pub struct RecoveredSession {
    /// Its header, or a new one.
    pub header: SessionHeader,
    /// The conversation, as far as it is there, not yet reconciled.
    pub ledger: Ledger,
    /// What is missing, for people.
    pub lost: Vec<String>,
}

/// Names of damaged lines in the report; of more only the number is told.
const NAMED_LINES: usize = 5;

pub(super) fn recover(
    files: &SessionFiles,
    scope: &Scope,
    id: &SessionId,
) -> Result<RecoveredSession, LedgerError> {
    let parts = [&files.header, &files.log, &files.snapshot];
    if !parts.iter().any(|path| path.exists()) {
        return Err(LedgerError::NotFound(id.to_string()));
    }
    let mut lost = Vec::new();
    let header = read_header(&files.header, id).unwrap_or_else(|error| {
        lost.push(format!("title and options ({error})"));
        SessionHeader::new(id.clone(), scope.clone())
    });
    let events = read_events(files, &mut lost);
    let snapshot = read_snapshot(files, scope, id, &events, &mut lost);
    note_gaps(&snapshot, &events, &mut lost);
    // A snapshot that claims to be newer than it is must not hide what the log has.
    let mut ledger = replay(snapshot, &events);
    if ledger.thread().turns.is_empty() && !events.is_empty() {
        ledger = replay(before_all(scope, id, &events), &events);
    }
    if ledger.thread().turns.is_empty() {
        return Err(LedgerError::Unrecoverable(id.to_string()));
    }
    Ok(RecoveredSession {
        header,
        ledger,
        lost,
    })
}

/// Every event whose line can be read, in order.
fn read_events(files: &SessionFiles, lost: &mut Vec<String>) -> Vec<Event> {
    let bytes = match read_file(&files.log) {
        Ok(bytes) => bytes,
        Err(error) => {
            let problem = LedgerError::io(&files.log, error);
            lost.push(format!("the log ({problem})"));
            return Vec::new();
        }
    };
    let mut events: Vec<Event> = Vec::new();
    let mut bad = Vec::new();
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match parse(line).and_then(decode_event) {
            Ok(event) => events.push(event),
            Err(_) => bad.push((index + 1).to_string()),
        }
    }
    if !bad.is_empty() {
        let more = bad.len().saturating_sub(NAMED_LINES);
        bad.truncate(NAMED_LINES);
        let names = bad.join(", ");
        lost.push(match (bad.len(), more) {
            (1, _) => format!("the log's line {names}"),
            (_, 0) => format!("the log's lines {names}"),
            (_, more) => format!("the log's lines {names} and {more} more"),
        });
    }
    // Lines that were written twice, by two programs, count once.
    events.sort_by_key(|event| event.seq);
    events.dedup_by_key(|event| event.seq);
    events
}

/// Applies what the snapshot does not include.  Where the line is lost that a turn or an
/// item began with, the first of its other lines that has it whole stands in.
fn replay(snapshot: Snapshot, events: &[Event]) -> Ledger {
    let mut ledger = Ledger::restore(snapshot.clone(), []);
    for event in events.iter().filter(|it| it.seq > snapshot.last_event_seq) {
        for missing in beginnings(ledger.thread(), event) {
            again(&mut ledger, event, missing);
        }
        again(&mut ledger, event, event.kind.clone());
    }
    ledger
}

fn again(ledger: &mut Ledger, event: &Event, kind: EventType) {
    let (turn, item) = (event.turn_id.clone(), event.item_id.clone());
    ledger.append(turn, item, kind, event.created_at);
}

/// What must have happened before an event, but is not known.
fn beginnings(thread: &Thread, event: &Event) -> Vec<EventType> {
    let Some(turn_id) = &event.turn_id else {
        return Vec::new();
    };
    let mut missing = Vec::new();
    let known = thread.turn(turn_id);
    match &event.kind {
        EventType::TurnQueued(_) => {}
        EventType::TurnStarted(turn) if known.is_none() => {
            missing.push(EventType::TurnQueued(turn.clone()));
        }
        _ if known.is_none() => {
            let mut turn = Turn::new(thread.id.clone(), event.created_at);
            turn.id = turn_id.clone();
            missing.push(EventType::TurnQueued(turn.clone()));
            missing.push(EventType::TurnStarted(turn));
        }
        _ => {}
    }
    if let EventType::ItemCompleted(item)
    | EventType::ItemFailed(item, _)
    | EventType::ItemCancelled(item, _) = &event.kind
        && !known.is_some_and(|turn| turn.items.iter().any(|known| known.id == item.id))
    {
        missing.push(EventType::ItemStarted(item.clone()));
    }
    missing
}

fn read_snapshot(
    files: &SessionFiles,
    scope: &Scope,
    id: &SessionId,
    events: &[Event],
    lost: &mut Vec<String>,
) -> Snapshot {
    let read = read_file(&files.snapshot)
        .map_err(|error| LedgerError::io(&files.snapshot, error))
        .and_then(|bytes| parse(&bytes).map_err(|error| error.in_file(&files.snapshot)))
        .and_then(|value| decode_snapshot(value, &files.snapshot));
    read.unwrap_or_else(|error| {
        // A log from the first event on has all that the snapshot had.
        if events.first().is_none_or(|event| event.seq != 1) {
            lost.push(format!("what only the snapshot had ({error})"));
        }
        before_all(scope, id, events)
    })
}

/// The empty state before the first event.
fn before_all(scope: &Scope, id: &SessionId, events: &[Event]) -> Snapshot {
    let created_at = events.first().map_or(0.0, |event| event.created_at);
    Snapshot::before_all(id.clone(), scope.clone(), created_at)
}

fn note_gaps(snapshot: &Snapshot, events: &[Event], lost: &mut Vec<String>) {
    let mut last = snapshot.last_event_seq;
    let mut missing = 0;
    for event in events {
        if event.seq > last {
            missing += event.seq - last - 1;
            last = event.seq;
        }
    }
    if missing > 0 {
        lost.push(format!("{missing} events"));
    }
}

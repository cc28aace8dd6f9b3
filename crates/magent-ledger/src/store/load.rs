//! Reading a saved session.

use std::io;
use std::path::Path;

use magent_types::{Event, Scope, SessionId};
use serde_json::Value;

use super::SessionFiles;
use super::files::{FileState, read_file};
use super::follow::check_follows;
use super::migrate::{OLD_VERSIONS, migrate, old_header};
use crate::codec::{decode_event, decode_snapshot, parse_first, parse_unique};
use crate::error::ShapeError;
use crate::{Ledger, LedgerError, SCHEMA_VERSION, SessionHeader, Snapshot, SpillStore};

/// What had to be put right while a session was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Bytes of a last line that was torn by a crash, dropped.
    pub torn_bytes: u64,
    /// Length of the log up to its last whole line.
    pub log_length: u64,
    /// Events in the log.
    pub log_events: u64,
    /// Length of the snapshot file.
    pub snapshot_length: u64,
}

/// A session as it was saved.
#[derive(Debug)]
pub struct LoadedSession {
    /// Its header.
    pub header: SessionHeader,
    /// Its state and journal, not yet reconciled.
    pub ledger: Ledger,
    /// What had to be put right.
    pub report: LoadReport,
}

/// How often a session is read again that another process writes at the same time.
const ATTEMPTS: usize = 10;

/// Reads a session.  Whoever reads need not hold the lock, and two files cannot be read at
/// one moment: what does not fit together because the holder wrote meanwhile is no damage.
pub(super) fn load(
    files: &SessionFiles,
    spill: &SpillStore,
    scope: &Scope,
    id: &SessionId,
) -> Result<LoadedSession, LedgerError> {
    let states = || [&files.header, &files.snapshot, &files.log].map(|path| FileState::of(path));
    let mut before = states();
    for _ in 1..ATTEMPTS {
        let loaded = load_once(files, spill, scope, id);
        if !matches!(loaded, Err(LedgerError::Corrupt { .. })) {
            return loaded;
        }
        let after = states();
        if after == before {
            return loaded;
        }
        before = after;
    }
    load_once(files, spill, scope, id)
}

fn load_once(
    files: &SessionFiles,
    spill: &SpillStore,
    scope: &Scope,
    id: &SessionId,
) -> Result<LoadedSession, LedgerError> {
    let mut header = match read_header_file(&files.header) {
        Err(LedgerError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Err(if files.log.exists() {
                missing_header(&files.header)
            } else {
                LedgerError::NotFound(id.to_string())
            });
        }
        header => header?,
    };
    if is_old(&header) {
        migrate(files, header)?;
        spill.adopt(scope, id);
        header = read_header_file(&files.header)?;
    }
    let header = check_header(header, &files.header, id)?;
    if header.scope != *scope {
        let error = ShapeError::new("project-root", "names another project than its folder");
        return Err(error.in_file(&files.header));
    }
    let (events, mut report) = read_log(&files.log)?;
    let snapshot = match read_file(&files.snapshot) {
        Ok(bytes) => {
            report.snapshot_length = bytes.len() as u64;
            let value = parse(&bytes).map_err(|error| error.in_file(&files.snapshot))?;
            decode_snapshot(value, &files.snapshot)?
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            snapshot_before(&events, scope, id).ok_or_else(|| {
                ShapeError::new(
                    "",
                    "is missing and the log does not reach back to the start",
                )
                .in_file(&files.snapshot)
            })?
        }
        Err(error) => return Err(LedgerError::io(&files.snapshot, error)),
    };
    check_follows(&snapshot, &events, &files.log)?;
    Ok(LoadedSession {
        header,
        ledger: Ledger::restore(snapshot, events),
        report,
    })
}

fn is_old(header: &Value) -> bool {
    let version = header.get("schema-version").and_then(Value::as_u64);
    version.is_some_and(|version| OLD_VERSIONS.contains(&version))
}

/// Reads and checks a header, of an old version too.
pub(super) fn read_header(path: &Path, id: &SessionId) -> Result<SessionHeader, LedgerError> {
    check_header(read_header_file(path)?, path, id)
}

/// What is wrong with a session that has only a log.
pub(super) fn missing_header(path: &Path) -> LedgerError {
    ShapeError::new("", "is missing").in_file(path)
}

fn read_header_file(path: &Path) -> Result<Value, LedgerError> {
    let bytes = read_file(path).map_err(|error| LedgerError::io(path, error))?;
    parse_header(&bytes).map_err(|error| error.in_file(path))
}

/// The version is looked at first, so that a file of another version is called that and
/// not damaged.
fn check_header(value: Value, path: &Path, id: &SessionId) -> Result<SessionHeader, LedgerError> {
    let read = if is_old(&value) {
        old_header
    } else {
        SessionHeader::from_json
    };
    match value.get("schema-version") {
        Some(version) if version.as_u64() == Some(SCHEMA_VERSION) || is_old(&value) => {}
        Some(version) => {
            return Err(LedgerError::Version {
                path: path.to_owned(),
                found: version.to_string(),
                supported: SCHEMA_VERSION,
            });
        }
        None => return Err(ShapeError::new("schema-version", "is missing").in_file(path)),
    }
    let header = read(value).map_err(|error| error.in_file(path))?;
    if header.id != *id {
        return Err(ShapeError::new("id", "is not the name of the file").in_file(path));
    }
    Ok(header)
}

/// Programs of the old versions wrote some keys twice, and went by the first.
fn parse_header(bytes: &[u8]) -> Result<Value, ShapeError> {
    parse(bytes).or_else(|error| parse_old(bytes).ok().filter(is_old).ok_or(error))
}

pub(super) fn parse_old(bytes: &[u8]) -> Result<Value, ShapeError> {
    parse_first(bytes).map_err(|error| ShapeError::new("", format!("is not JSON: {error}")))
}

pub(super) fn parse(bytes: &[u8]) -> Result<Value, ShapeError> {
    parse_unique(bytes).map_err(|error| ShapeError::new("", format!("is not JSON: {error}")))
}

fn read_log(path: &Path) -> Result<(Vec<Event>, LoadReport), LedgerError> {
    let bytes = match read_file(path) {
        Ok(bytes) => bytes,
        Err(error) => return Err(LedgerError::io(path, error)),
    };
    let whole = whole_lines(&bytes);
    let events = decode_lines(whole, path, |line| parse(line).and_then(decode_event))?;
    let report = LoadReport {
        torn_bytes: (bytes.len() - whole.len()) as u64,
        log_length: whole.len() as u64,
        log_events: events.len() as u64,
        snapshot_length: 0,
    };
    Ok((events, report))
}

/// The lines of a log.  One counts once its newline is written; what follows the last one
/// is the beginning of a line that a crash cut off.
pub(super) fn whole_lines(log: &[u8]) -> &[u8] {
    let last = log.iter().rposition(|byte| *byte == b'\n');
    &log[..last.map_or(0, |newline| newline + 1)]
}

/// The events of whole lines; one that `decode` cannot read is named.
pub(super) fn decode_lines(
    lines: &[u8],
    path: &Path,
    decode: impl Fn(&[u8]) -> Result<Event, ShapeError>,
) -> Result<Vec<Event>, LedgerError> {
    let lines = lines.split_inclusive(|byte| *byte == b'\n').enumerate();
    lines
        .map(|(index, line)| decode(line).map_err(|error| error.in_line(path, index + 1)))
        .collect()
}

/// The empty state before the first event, for a log that is complete.
fn snapshot_before(events: &[Event], scope: &Scope, id: &SessionId) -> Option<Snapshot> {
    let first = events.first().filter(|event| event.seq == 1)?;
    let (id, scope) = (id.clone(), scope.clone());
    Some(Snapshot::before_all(id, scope, first.created_at))
}

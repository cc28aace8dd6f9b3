//! Lists of saved sessions, made from their headers alone.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use magent_types::{Scope, SessionId, UnixSeconds};

use super::{SessionFiles, SessionLock, load};
use crate::{LedgerError, SessionHeader};

/// A saved session as a list shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionSummary {
    /// Its id.
    pub id: SessionId,
    /// Where it belongs; unknown if no header of its folder can be read.
    pub scope: Option<Scope>,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// When its files last changed.
    pub updated_at: UnixSeconds,
    /// How many bytes its header, log and snapshot have.
    pub bytes: u64,
    /// How many turns it has, if its header tells.
    pub turns: Option<u64>,
    /// The full name of the model that it used last or is set to, if its header tells.
    pub model: Option<String>,
    /// Who has it live in another process.
    pub holder: Option<String>,
    /// What is wrong with its header, if it cannot be read.
    pub damage: Option<String>,
}

/// A header that was read, and the file's state by which it is known to be current.
#[derive(Clone, Debug)]
pub(crate) struct CachedHeader {
    size: u64,
    modified: Option<SystemTime>,
    header: Result<SessionHeader, String>,
}

pub(super) fn list(
    directory: &Path,
    cache: &Mutex<HashMap<PathBuf, CachedHeader>>,
) -> Result<Vec<SessionSummary>, LedgerError> {
    let entries = entries_of(directory)?;
    let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut locks, mut logs) = (Vec::new(), Vec::new());
    let mut sessions: Vec<SessionSummary> = Vec::new();
    for path in entries {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => {
                sessions.extend(summarize(directory, path, &mut cache));
            }
            Some("lock") => locks.push(path),
            Some("jsonl") => logs.push(path),
            _ => {}
        }
    }
    let listed: HashSet<String> = sessions.iter().map(|it| it.id.to_string()).collect();
    logs.retain(|log| stem(log).is_some_and(|stem| !listed.contains(stem)));
    sessions.extend(logs.iter().filter_map(|log| without_header(directory, log)));
    for lock in locks {
        note_holder(&lock, &mut sessions);
    }
    sort(&mut sessions);
    Ok(sessions)
}

/// What is in a folder; nothing if it does not exist, since nothing was saved there yet.
pub(super) fn entries_of(directory: &Path) -> Result<Vec<PathBuf>, LedgerError> {
    match fs::read_dir(directory) {
        Ok(entries) => Ok(entries.flatten().map(|entry| entry.path()).collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(LedgerError::io(directory, error)),
    }
}

/// Sessions whose header cannot be read belong where the others of their folder do.
pub(super) fn supply_scope(sessions: &mut [SessionSummary], scope: Option<&Scope>) {
    let scope = scope
        .or_else(|| sessions.iter().find_map(|session| session.scope.as_ref()))
        .cloned();
    for session in sessions {
        session.scope = session.scope.take().or_else(|| scope.clone());
    }
}

/// Newest first.
pub(super) fn sort(sessions: &mut [SessionSummary]) {
    sessions.sort_by(|left, right| {
        right
            .updated_at
            .total_cmp(&left.updated_at)
            .then_with(|| right.id.cmp(&left.id))
    });
}

fn summarize(
    directory: &Path,
    path: PathBuf,
    cache: &mut HashMap<PathBuf, CachedHeader>,
) -> Option<SessionSummary> {
    let stem = stem(&path)?.to_owned();
    if !SessionId::is_legal(&stem) {
        return None;
    }
    let id = SessionId::new(stem.clone());
    let metadata = fs::metadata(&path).ok()?;
    if !metadata.is_file() {
        return None;
    }
    let modified = metadata.modified().ok();
    let known = cache
        .get(&path)
        .is_some_and(|known| known.size == metadata.len() && known.modified == modified);
    if !known {
        let header = load::read_header(&path, &id).map_err(|error| error.to_string());
        let entry = CachedHeader {
            size: metadata.len(),
            modified,
            header,
        };
        cache.insert(path.clone(), entry);
    }
    let header = &cache.get(&path)?.header;
    let files = SessionFiles::new(directory.to_owned(), &stem);
    let log = fs::metadata(&files.log).ok();
    let snapshot = fs::metadata(&files.snapshot).ok();
    let log_modified = log.as_ref().and_then(|log| log.modified().ok());
    let others = [log, snapshot].into_iter().flatten();
    let bytes = metadata.len() + others.map(|file| file.len()).sum::<u64>();
    let readable = header.as_ref().ok();
    Some(SessionSummary {
        id,
        scope: readable.map(|header| header.scope.clone()),
        title: readable.and_then(|header| header.display_title().map(str::to_owned)),
        updated_at: log_modified.max(modified).map_or(0.0, unix_seconds),
        bytes,
        turns: readable.and_then(SessionHeader::turns),
        model: readable.and_then(|header| header.model().map(str::to_owned)),
        holder: None,
        damage: header.as_ref().err().cloned(),
    })
}

/// A session of which somebody removed the header: it is listed so that it is missed and
/// recovered.
fn without_header(directory: &Path, log: &Path) -> Option<SessionSummary> {
    let stem = stem(log)?;
    let metadata = fs::metadata(log).ok().filter(fs::Metadata::is_file)?;
    let header = SessionFiles::new(directory.to_owned(), stem).header;
    // A session that is just being made gets its header last.
    if !SessionId::is_legal(stem) || metadata.len() == 0 || header.exists() {
        return None;
    }
    Some(SessionSummary {
        id: SessionId::new(stem),
        scope: None,
        title: None,
        updated_at: metadata.modified().map_or(0.0, unix_seconds),
        bytes: metadata.len(),
        turns: None,
        model: None,
        holder: None,
        damage: Some(load::missing_header(&header).to_string()),
    })
}

fn note_holder(lock: &Path, sessions: &mut [SessionSummary]) {
    let stem = stem(lock);
    let session = sessions
        .iter_mut()
        .find(|session| Some(session.id.as_str()) == stem);
    if let Some(session) = session {
        session.holder = SessionLock::holder(lock);
    }
}

fn stem(path: &Path) -> Option<&str> {
    path.file_stem()?.to_str()
}

fn unix_seconds(time: SystemTime) -> UnixSeconds {
    time.duration_since(UNIX_EPOCH)
        .map_or(0.0, |elapsed| elapsed.as_secs_f64())
}

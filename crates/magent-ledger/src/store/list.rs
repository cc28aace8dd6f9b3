//! Lists of saved sessions, made from their headers alone.

use std::collections::HashMap;
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
    /// Where it belongs, if its header can be read.
    pub scope: Option<Scope>,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// When its files last changed.
    pub updated_at: UnixSeconds,
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
    let mut locks = Vec::new();
    let mut sessions: Vec<SessionSummary> = Vec::new();
    for path in entries {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => {
                sessions.extend(summarize(directory, path, &mut cache));
            }
            Some("lock") => locks.push(path),
            _ => {}
        }
    }
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
    let stem = path.file_stem()?.to_str()?.to_owned();
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
    let log = SessionFiles::new(directory.to_owned(), &stem).log;
    let log_modified = fs::metadata(log).and_then(|log| log.modified()).ok();
    let updated_at = log_modified.max(modified).map_or(0.0, unix_seconds);
    Some(match header {
        Ok(header) => SessionSummary {
            id,
            scope: Some(header.scope.clone()),
            title: header.display_title().map(str::to_owned),
            updated_at,
            holder: None,
            damage: None,
        },
        Err(problem) => SessionSummary {
            id,
            scope: None,
            title: None,
            updated_at,
            holder: None,
            damage: Some(problem.clone()),
        },
    })
}

fn note_holder(lock: &Path, sessions: &mut [SessionSummary]) {
    let stem = lock.file_stem().and_then(|stem| stem.to_str());
    if let Some(session) = sessions
        .iter_mut()
        .find(|session| Some(session.id.as_str()) == stem)
    {
        session.holder = SessionLock::holder(lock);
    }
}

fn unix_seconds(time: SystemTime) -> UnixSeconds {
    time.duration_since(UNIX_EPOCH)
        .map_or(0.0, |elapsed| elapsed.as_secs_f64())
}

//! Results that were too long for a model, kept for a while so that it can read on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use magent_types::{Scope, SessionId, fresh_suffix};
use sha2::{Digest, Sha256};

use crate::store::{create_private_directory, hex, replace_file};

/// How much is kept, and how long.
#[derive(Clone, Copy, Debug)]
pub struct SpillSettings {
    /// Most bytes of one session; the oldest results go first.
    pub session_max_bytes: u64,
    /// How long a result is kept.
    pub time_to_live: Duration,
}

impl Default for SpillSettings {
    fn default() -> Self {
        Self {
            session_max_bytes: 64 << 20,
            time_to_live: Duration::from_secs(86_400),
        }
    }
}

/// A page of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpillPage {
    /// The characters of the page.
    pub text: String,
    /// How many characters the whole result has.
    pub total_characters: usize,
}

/// Why a result cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum SpillError {
    /// No such result in this session, or it has expired.
    #[error("no such result; it may have expired")]
    NotFound,
    /// The result alone is larger than a session may keep.
    #[error("the result is larger than a session may keep ({0} bytes)")]
    TooLarge(u64),
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The results of all sessions, below one folder.
#[derive(Clone, Debug)]
pub struct SpillStore {
    root: PathBuf,
}

impl SpillStore {
    /// Names the store below the session folder; nothing is made before a result is kept.
    pub fn new(session_directory: &Path) -> Self {
        Self {
            root: session_directory.join("tool-results"),
        }
    }

    /// Keeps a text and returns its id, which only this session in this scope can read.
    pub fn put(
        &self,
        scope: &Scope,
        session: &SessionId,
        text: &str,
        settings: SpillSettings,
    ) -> Result<String, SpillError> {
        if text.len() as u64 > settings.session_max_bytes {
            return Err(SpillError::TooLarge(settings.session_max_bytes));
        }
        let directory = self.directory(scope, session);
        create_private_directory(&directory)?;
        let id = format!("result-{}", fresh_suffix());
        replace_file(&directory.join(format!("{id}.txt")), text.as_bytes())?;
        clean(&directory, settings);
        Ok(id)
    }

    /// Reads `count` characters from `start` (from 1).
    pub fn read(
        &self,
        scope: &Scope,
        session: &SessionId,
        id: &str,
        start: usize,
        count: usize,
        settings: SpillSettings,
    ) -> Result<SpillPage, SpillError> {
        if !is_legal_id(id) {
            return Err(SpillError::NotFound);
        }
        let directory = self.directory(scope, session);
        clean(&directory, settings);
        let text = match fs::read_to_string(directory.join(format!("{id}.txt"))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(SpillError::NotFound);
            }
            text => text?,
        };
        let page = text
            .chars()
            .skip(start.saturating_sub(1))
            .take(count)
            .collect();
        Ok(SpillPage {
            text: page,
            total_characters: text.chars().count(),
        })
    }

    /// Copies what was kept for one session to another.
    pub fn copy(&self, scope: &Scope, from: &SessionId, to: &SessionId) -> io::Result<()> {
        copy_files(&self.directory(scope, from), &self.directory(scope, to))
    }

    /// Removes what was kept for a session.
    pub(crate) fn remove(&self, scope: &Scope, session: &SessionId) -> io::Result<()> {
        remove_folder(&self.directory(scope, session))
    }

    /// Removes what has expired, of every session.
    pub fn sweep(&self, settings: SpillSettings) {
        for scope in folders(&self.root) {
            for session in folders(&scope) {
                clean(&session, settings);
                // Only empty folders can be removed, which is what is wanted here.
                let _ = fs::remove_dir(&session);
            }
            let _ = fs::remove_dir(&scope);
        }
    }

    /// Takes over what was kept for a session that was migrated.  Its scope's folder has a
    /// name of which nothing is known but that the session's own folder is in it.
    pub(crate) fn adopt(&self, scope: &Scope, session: &SessionId) {
        let ours = self.directory(scope, session);
        let mut found = folders(&self.root)
            .into_iter()
            .map(|scope| scope.join(session.as_str()));
        if let Some(theirs) = found.find(|folder| folder.is_dir() && *folder != ours)
            && let Some(parent) = ours.parent()
        {
            // Without them the results are told as expired, as others are in time.
            let _ = create_private_directory(parent).and_then(|()| fs::rename(theirs, &ours));
        }
    }

    fn directory(&self, scope: &Scope, session: &SessionId) -> PathBuf {
        session_folder(&self.root, scope, session)
    }
}

/// Copies the files of a folder, which need not exist; nothing is left of a copy that
/// fails.
pub(crate) fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    create_private_directory(to)?;
    let copied = (|| {
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::copy(entry.path(), to.join(entry.file_name()))?;
            }
        }
        Ok(())
    })();
    if copied.is_err() {
        // The first error is what counts.
        let _ = fs::remove_dir_all(to);
    }
    copied
}

/// Removes the folder of a session, which need not exist.
pub(crate) fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// The folder of one session in one scope.
pub(crate) fn session_folder(root: &Path, scope: &Scope, session: &SessionId) -> PathBuf {
    let scope = match scope {
        Scope::Global => "global".to_owned(),
        Scope::Project(root) => {
            format!("scope-{}", hex(&Sha256::digest(root.as_bytes())))
        }
    };
    root.join(scope).join(session.as_str())
}

/// Ids become file names, so nothing else than their own form may pass.
pub(crate) fn is_legal_id(id: &str) -> bool {
    id.len() <= 200
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

/// Removes expired results, then the oldest until the rest fits.
fn clean(directory: &Path, settings: SpillSettings) {
    let now = SystemTime::now();
    let mut results: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let Ok(modified) = metadata.modified() else {
            continue;
        };
        let age = now.duration_since(modified).unwrap_or_default();
        if age > settings.time_to_live {
            // A file that is gone already is as good as removed.
            let _ = fs::remove_file(entry.path());
        } else {
            results.push((modified, metadata.len(), entry.path()));
        }
    }
    results.sort();
    let mut total: u64 = results.iter().map(|(_, size, _)| size).sum();
    for (_, size, path) in results {
        if total <= settings.session_max_bytes {
            break;
        }
        let _ = fs::remove_file(path);
        total -= size;
    }
}

#[cfg(test)]
#[path = "spill_tests.rs"]
mod tests;

//! The folder that holds all sessions.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use magent_types::{Scope, SessionId};
use sha1::{Digest, Sha1};

use super::list::CachedHeader;
use super::{
    LoadedSession, RecoveredSession, SessionFiles, SessionLock, SessionSummary, delete, hex, list,
    load, recover,
};
use crate::{ImageStore, LedgerError, SpillStore};

/// The session folder: `global/`, `projects/<hash>/` and `actions/<name>/`.
#[derive(Debug)]
pub struct SessionDirectory {
    root: PathBuf,
    headers: Mutex<HashMap<PathBuf, CachedHeader>>,
}

impl SessionDirectory {
    /// Names the folder; nothing is made before a session is saved.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            headers: Mutex::default(),
        }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Lists the saved sessions of exactly this scope, newest first.  Reads headers
    /// only; a damaged one is listed as such and stops no other.
    pub fn list(&self, scope: &Scope) -> Result<Vec<SessionSummary>, LedgerError> {
        let mut sessions = list::list(&self.scope_directory(scope), &self.headers)?;
        list::supply_scope(&mut sessions, Some(scope));
        Ok(sessions)
    }

    /// Lists the saved sessions of every project and of none, newest first.
    pub fn list_all(&self) -> Result<Vec<SessionSummary>, LedgerError> {
        let mut sessions = self.list(&Scope::Global)?;
        let projects = list::entries_of(&self.root.join("projects"))?;
        for folder in projects.iter().filter(|folder| folder.is_dir()) {
            let mut listed = list::list(folder, &self.headers)?;
            list::supply_scope(&mut listed, None);
            sessions.extend(listed);
        }
        list::sort(&mut sessions);
        Ok(sessions)
    }

    /// Whether a session of this scope is saved, be it damaged.
    pub fn exists(&self, scope: &Scope, id: &SessionId) -> bool {
        let files = self.files(scope, id);
        let is_there = |path: &Path| fs::exists(path).unwrap_or(false);
        SessionId::is_legal(id.as_str()) && (is_there(&files.header) || is_there(&files.log))
    }

    /// Reads a saved session; one of an old version is migrated first.
    pub fn load(&self, scope: &Scope, id: &SessionId) -> Result<LoadedSession, LedgerError> {
        if !SessionId::is_legal(id.as_str()) {
            return Err(LedgerError::NotFound(id.to_string()));
        }
        let spill = SpillStore::new(&self.root);
        load::load(&self.files(scope, id), &spill, scope, id)
    }

    /// Reads what can be read of a damaged session, and changes nothing.
    pub fn recover(&self, scope: &Scope, id: &SessionId) -> Result<RecoveredSession, LedgerError> {
        if !SessionId::is_legal(id.as_str()) {
            return Err(LedgerError::NotFound(id.to_string()));
        }
        recover::recover(&self.files(scope, id), scope, id)
    }

    /// Takes the right to write a session.
    pub fn lock(
        &self,
        scope: &Scope,
        id: &SessionId,
        holder: &str,
    ) -> Result<SessionLock, LedgerError> {
        SessionLock::acquire(&self.files(scope, id).lock, holder)
    }

    /// Removes a saved session and all that was kept for it.  A session that somebody has
    /// live is left alone; so is everything if it is not there.
    pub fn delete(&self, scope: &Scope, id: &SessionId, holder: &str) -> Result<(), LedgerError> {
        if !self.exists(scope, id) {
            return Err(LedgerError::NotFound(id.to_string()));
        }
        let _lock = self.lock(scope, id, holder)?;
        delete::delete(&self.files(scope, id))?;
        SpillStore::new(&self.root)
            .remove(scope, id)
            .and_then(|()| ImageStore::new(&self.root).remove(scope, id))
            .map_err(|error| LedgerError::io(&self.root, error))
    }

    pub(crate) fn files(&self, scope: &Scope, id: &SessionId) -> SessionFiles {
        SessionFiles::new(self.scope_directory(scope), id.as_str())
    }

    fn scope_directory(&self, scope: &Scope) -> PathBuf {
        match scope {
            Scope::Global => self.root.join("global"),
            Scope::Project(root) => {
                let name = hex(&Sha1::digest(root.as_bytes()));
                self.root.join("projects").join(name)
            }
        }
    }
}

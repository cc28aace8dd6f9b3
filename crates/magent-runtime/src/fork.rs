//! A new session with the conversation of another.

use std::sync::Arc;
use std::time::Duration;

use magent_ledger::{Ledger, SessionHeader};
use magent_types::{Scope, SessionId, Thread};

use crate::replay::MISSING;
use crate::runtime::Runtime;
use crate::session::{Options, Session, now};
use crate::session_registry::{describe, new_session_id};
use crate::{RuntimeConfig, RuntimeError, SessionInfo};

/// How long a copy may take to be written.
const SAVE_LIMIT: Duration = Duration::from_secs(3);

/// A session as it is now, which a fork begins with.
pub(crate) struct Source {
    pub(crate) thread: Thread,
    pub(crate) header: SessionHeader,
    options: Options,
}

impl Runtime {
    /// Makes a session that begins with the conversation of another one of exactly this
    /// scope, live or saved, in which nothing runs.  It inherits the options, but nothing
    /// that the user allowed, and is saved at once.  A session that another process has
    /// can be forked as it is saved.
    pub async fn fork_session(
        self: &Arc<Self>,
        scope: Scope,
        id: SessionId,
        config: &RuntimeConfig,
    ) -> Result<SessionInfo, RuntimeError> {
        let default_agent = config.default_agent.clone();
        self.save_copy(move |runtime| runtime.fork(&scope, &id, &default_agent))
            .await
    }

    /// Makes a session out of what can be read of a damaged one, which stays as it is.
    /// The notice says what is missing.
    pub async fn recover_session(
        self: &Arc<Self>,
        scope: Scope,
        id: SessionId,
        config: &RuntimeConfig,
    ) -> Result<SessionInfo, RuntimeError> {
        let default_agent = config.default_agent.clone();
        self.save_copy(move |runtime| runtime.recover(&scope, &id, &default_agent))
            .await
    }

    /// Makes a copy off the threads of others, and waits until it is on the disk, so that
    /// lists have it.
    async fn save_copy(
        self: &Arc<Self>,
        make: impl FnOnce(&Self) -> Result<SessionInfo, RuntimeError> + Send + 'static,
    ) -> Result<SessionInfo, RuntimeError> {
        self.check_open()?;
        let runtime = Arc::clone(self);
        let made = tokio::task::spawn_blocking(move || make(&runtime)).await;
        let mut info = made.unwrap_or(Err(RuntimeError::ShuttingDown))?;
        if let Some(problem) = self.session(&info.id)?.flush(SAVE_LIMIT).await {
            let unsaved = format!("The session is not on the disk yet: {problem}.");
            let notices: Vec<String> = info.notice.into_iter().chain([unsaved]).collect();
            info.notice = Some(notices.join(" "));
        }
        Ok(info)
    }

    fn fork(
        &self,
        scope: &Scope,
        id: &SessionId,
        default_agent: &str,
    ) -> Result<SessionInfo, RuntimeError> {
        if self.live(scope, id).is_some() && self.queue.lock().is_busy(id) {
            return Err(RuntimeError::Busy);
        }
        let source = self.read_session(scope, id, default_agent)?;
        self.copy(scope, id, source, "fork")
    }

    fn recover(
        &self,
        scope: &Scope,
        id: &SessionId,
        default_agent: &str,
    ) -> Result<SessionInfo, RuntimeError> {
        if self.live(scope, id).is_some() {
            return Err(RuntimeError::NotDamaged);
        }
        let found = self.services.directory.recover(scope, id)?;
        let mut source = self.saved(found.header, found.ledger, default_agent);
        let lost = found.lost.join("; ");
        if !lost.is_empty() {
            // Whoever reads it later has to know, too.
            let metadata = &mut source.thread.metadata;
            metadata.insert(MISSING.to_owned(), lost.as_str().into());
        }
        let mut info = self.copy(scope, id, source, "recovered")?;
        info.notice = Some(match lost.as_str() {
            "" => "Nothing is missing.".to_owned(),
            lost => format!("Missing: {lost}."),
        });
        Ok(info)
    }

    /// Makes and saves a session that begins as `source`, which belongs to `id`.
    fn copy(
        &self,
        scope: &Scope,
        id: &SessionId,
        source: Source,
        label: &str,
    ) -> Result<SessionInfo, RuntimeError> {
        let Source {
            thread,
            header,
            options,
        } = source;
        let (new, now) = (new_session_id(), now());
        let services = &self.services;
        let copied = (services.spill.copy(scope, id, &new))
            .and_then(|()| services.images.copy(scope, id, &new));
        copied.map_err(RuntimeError::Fork)?;
        let (ledger, first) = Ledger::fork(&thread, new.clone(), now);
        let header = header.fork(new, label, now);
        let session = Arc::new(Session::unsaved(header, ledger, first, options));
        let session = self.register(session);
        // What keeps its lock from being taken keeps it from being saved, which is told.
        session.open_for_writing(&services.directory, &services.writer, &services.holder);
        Ok(describe(&session, None))
    }

    /// What was read of a saved session; whatever was under way in it has ended.
    fn saved(&self, header: SessionHeader, mut ledger: Ledger, default_agent: &str) -> Source {
        ledger.reconcile_after_restart(now());
        Source {
            thread: ledger.thread().clone(),
            options: self.options_of(&header, default_agent),
            header,
        }
    }

    /// Reads a session, live or saved; nobody needs its lock for that.
    pub(crate) fn read_session(
        &self,
        scope: &Scope,
        id: &SessionId,
        default_agent: &str,
    ) -> Result<Source, RuntimeError> {
        let Some(session) = self.live(scope, id) else {
            let directory = &self.services.directory;
            if !directory.exists(scope, id) {
                return Err(RuntimeError::UnknownSession(id.clone()));
            }
            let loaded = directory.load(scope, id)?;
            return Ok(self.saved(loaded.header, loaded.ledger, default_agent));
        };
        Ok(session.read(|state| Source {
            thread: state.ledger.thread().clone(),
            header: state.header.clone(),
            options: state.options.clone(),
        }))
    }
}

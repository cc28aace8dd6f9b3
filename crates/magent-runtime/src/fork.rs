//! A new session with the conversation of another.

use std::sync::Arc;

use magent_ledger::{Ledger, SessionHeader};
use magent_types::{Scope, SessionId, Thread};

use crate::runtime::Runtime;
use crate::session::{Options, Session, now};
use crate::session_registry::{describe, new_session_id};
use crate::{RuntimeConfig, RuntimeError, SessionInfo};

/// What a fork begins with.
struct Source {
    thread: Thread,
    header: SessionHeader,
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
        self.check_open()?;
        let runtime = Arc::clone(self);
        let default_agent = config.default_agent.clone();
        let forked = tokio::task::spawn_blocking(move || runtime.fork(&scope, &id, &default_agent));
        forked.await.unwrap_or(Err(RuntimeError::ShuttingDown))
    }

    fn fork(
        &self,
        scope: &Scope,
        id: &SessionId,
        default_agent: &str,
    ) -> Result<SessionInfo, RuntimeError> {
        let Source {
            thread,
            header,
            options,
        } = self.source(scope, id, default_agent)?;
        let (new, now) = (new_session_id(), now());
        let services = &self.services;
        let copied = (services.spill.copy(scope, id, &new))
            .and_then(|()| services.images.copy(scope, id, &new));
        copied.map_err(RuntimeError::Fork)?;
        let (ledger, first) = Ledger::fork(&thread, new.clone(), now);
        let header = header.fork(new, now);
        let session = Arc::new(Session::forked(header, ledger, first, options));
        let session = self.register(session);
        let lock =
            session.open_for_writing(&services.directory, &services.writer, &services.holder);
        session.flush_later();
        Ok(describe(&session, lock))
    }

    fn source(
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
            let mut ledger = loaded.ledger;
            ledger.reconcile_after_restart(now());
            return Ok(Source {
                thread: ledger.thread().clone(),
                options: self.options_of(&loaded.header, default_agent),
                header: loaded.header,
            });
        };
        if self.queue.lock().is_busy(id) {
            return Err(RuntimeError::Busy);
        }
        Ok(session.read(|state| Source {
            thread: state.ledger.thread().clone(),
            header: state.header.clone(),
            options: state.options.clone(),
        }))
    }
}

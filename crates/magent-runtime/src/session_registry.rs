//! The sessions that are live, and the way from and to the saved ones.

use std::sync::Arc;
use std::time::Duration;

use magent_ledger::{LedgerError, SessionHeader, SessionSummary};
use magent_types::{Effort, Scope, SessionId, Thinking, Usage};

use crate::runtime::Runtime;
use crate::services::Services;
use crate::session::{Options, Session, last_answer};
use crate::{ModelCatalog, ModelChoice, ReplayEntry, RuntimeConfig, RuntimeError};

/// A live session.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// Its id.
    pub id: SessionId,
    /// Where it belongs.
    pub scope: Scope,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Its options.
    pub options: SessionOptions,
    /// What had to be put right when it was loaded, for people.
    pub notice: Option<String>,
}

/// A session's options as they stand.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionOptions {
    /// The agent.
    pub agent: String,
    /// The model; `None` is the default.
    pub model: Option<ModelChoice>,
    /// The reasoning effort; `None` is the default.
    pub effort: Option<Effort>,
    /// The thinking mode; `None` is the default.
    pub thinking: Option<Thinking>,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionListing {
    /// What its files tell.
    pub summary: SessionSummary,
    /// Where it belongs.
    pub scope: Scope,
    /// Whether this very process has it live.
    pub is_here: bool,
}

impl SessionListing {
    /// A title for lists that have no column for what is wrong with a session.  A list is
    /// where the user meets a problem first, so it must not be silent there.
    pub fn full_title(&self) -> Option<String> {
        let summary = &self.summary;
        let (title, id) = (summary.title.as_ref(), &summary.id);
        if summary.damage.is_some() {
            Some(format!("(cannot be read) {id}"))
        } else if summary.holder.is_some() && !self.is_here {
            let name = title.cloned().unwrap_or_else(|| id.to_string());
            // Lists are narrow: whoever chooses it is told who has it.
            Some(format!("(in use) {name}"))
        } else {
            title.cloned()
        }
    }
}

impl Runtime {
    /// Makes a session.  It is saved with its first turn.
    pub fn new_session(
        &self,
        scope: Scope,
        config: &RuntimeConfig,
    ) -> Result<SessionInfo, RuntimeError> {
        self.check_open()?;
        let agent = &config.default_agent;
        if self.agents().get(agent).is_none() {
            return Err(self.unknown_agent(agent));
        }
        let id = new_session_id();
        let options = Options {
            agent: agent.clone(),
            model: None,
            effort: None,
            thinking: None,
        };
        let session = Arc::new(Session::new(id, scope, options));
        let info = describe(&session, None);
        self.register(session);
        Ok(info)
    }

    /// Opens a session of exactly this scope: the live one, or the saved one, which is
    /// locked for this process then.
    pub async fn load_session(
        self: &Arc<Self>,
        scope: Scope,
        id: SessionId,
        config: &RuntimeConfig,
    ) -> Result<SessionInfo, RuntimeError> {
        self.check_open()?;
        if let Some(session) = self.live_or_gone(&scope, &id).await {
            return Ok(describe(&session, None));
        }
        let runtime = Arc::clone(self);
        let default_agent = config.default_agent.clone();
        let opened =
            tokio::task::spawn_blocking(move || runtime.open_saved(&scope, &id, &default_agent));
        match opened.await {
            Ok(opened) => {
                let (session, notice) = opened?;
                let notices = [notice, self.forget_missing_model(&session).await];
                let notices: Vec<String> = notices.into_iter().flatten().collect();
                let notice = (!notices.is_empty()).then(|| notices.join(" "));
                Ok(describe(&session, notice))
            }
            Err(_) => Err(RuntimeError::ShuttingDown),
        }
    }

    /// A session whose model is not registered any more goes on with the default one, and
    /// says so.  Where nothing is registered, or nobody answers, nothing is changed.
    async fn forget_missing_model(&self, session: &Session) -> Option<String> {
        let model = session.read(|state| state.options.model.clone())?;
        let catalog = self.models().await.ok()?;
        let default = catalog.default.as_ref()?;
        if catalog.get(&model).is_some() {
            return None;
        }
        session.update(|state| state.options.model = None);
        Some(format!(
            "The model {} of this session is not configured any more; {} is used instead.",
            model.full_name(),
            default.full_name()
        ))
    }

    fn open_saved(
        &self,
        scope: &Scope,
        id: &SessionId,
        default_agent: &str,
    ) -> Result<(Arc<Session>, Option<String>), RuntimeError> {
        let directory = &self.services.directory;
        if !directory.exists(scope, id) {
            return Err(RuntimeError::UnknownSession(id.clone()));
        }
        let lock = match directory.lock(scope, id, &self.services.holder) {
            Ok(lock) => Some(lock),
            // A folder that cannot be written can still be read.
            Err(LedgerError::Io { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let loaded = directory.load(scope, id)?;
        let mut ledger = loaded.ledger;
        let unfinished = ledger.reconcile_after_restart(crate::session::now());
        let options = self.options_of(&loaded.header, default_agent);
        let report = loaded.report;
        let session = Session::loaded(loaded.header, ledger, report, lock, options);
        let session = self.register(Arc::new(session));
        if unfinished {
            session.open_for_writing(directory, &self.services.writer, &self.services.holder);
            session.flush_later();
        }
        let notice = (report.torn_bytes > 0).then(|| {
            format!(
                "The last {} bytes of the session's log were cut off by a crash and left out.",
                report.torn_bytes
            )
        });
        Ok((session, notice))
    }

    /// The options that a session was saved with.
    pub(crate) fn options_of(&self, header: &SessionHeader, default_agent: &str) -> Options {
        let text = |key: &str| header.metadata.get(key).and_then(|value| value.as_str());
        let agent = text("agent").filter(|name| self.agents().get(name).is_some());
        Options {
            agent: agent.unwrap_or(default_agent).to_owned(),
            model: text("model").and_then(split_model),
            effort: text("effort").and_then(Effort::parse),
            thinking: text("thinking").and_then(Thinking::parse),
        }
    }

    /// Adds a session, unless somebody else added it meanwhile; returns the one that
    /// counts.
    pub(crate) fn register(&self, session: Arc<Session>) -> Arc<Session> {
        let key = (session.scope.clone(), session.id.clone());
        Arc::clone(self.sessions.lock().entry(key).or_insert(session))
    }

    pub(crate) fn live(&self, scope: &Scope, id: &SessionId) -> Option<Arc<Session>> {
        let key = (scope.clone(), id.clone());
        self.sessions.lock().get(&key).cloned()
    }

    /// The live session, or `None` once nobody here has it: one that is just being
    /// closed still holds its lock and writes its last events.
    async fn live_or_gone(&self, scope: &Scope, id: &SessionId) -> Option<Arc<Session>> {
        loop {
            let left = self.session_left.notified();
            let session = self.live(scope, id)?;
            if !session.is_leaving() {
                return Some(session);
            }
            left.await;
        }
    }

    /// A live session, by its id.
    pub(crate) fn session(&self, id: &SessionId) -> Result<Arc<Session>, RuntimeError> {
        self.sessions
            .lock()
            .values()
            .find(|session| session.id == *id)
            .cloned()
            .ok_or_else(|| RuntimeError::UnknownSession(id.clone()))
    }

    /// Lists the saved sessions of exactly this scope, or of all, newest first.
    pub async fn list_sessions(
        self: &Arc<Self>,
        scope: Option<Scope>,
    ) -> Result<Vec<SessionListing>, RuntimeError> {
        let runtime = Arc::clone(self);
        let listed = tokio::task::spawn_blocking(move || {
            let directory = &runtime.services.directory;
            let summaries = match &scope {
                Some(scope) => directory.list(scope),
                None => directory.list_all(),
            }
            .map_err(RuntimeError::List)?;
            let listed = summaries.into_iter().filter_map(|summary| {
                let scope = summary.scope.clone()?;
                let is_here = runtime.live(&scope, &summary.id).is_some();
                Some(SessionListing {
                    summary,
                    scope,
                    is_here,
                })
            });
            Ok(listed.collect())
        });
        listed.await.unwrap_or(Err(RuntimeError::ShuttingDown))
    }

    /// Removes a saved session and all that was kept for it.  One that somebody has live,
    /// here or in another process, is left alone.
    pub async fn delete_session(
        self: &Arc<Self>,
        scope: Scope,
        id: SessionId,
    ) -> Result<(), RuntimeError> {
        self.check_open()?;
        if self.live_or_gone(&scope, &id).await.is_some() {
            return Err(RuntimeError::Live);
        }
        let runtime = Arc::clone(self);
        let deleted = tokio::task::spawn_blocking(move || {
            let Services {
                directory, holder, ..
            } = &*runtime.services;
            directory
                .delete(&scope, &id, holder)
                .map_err(|error| match error {
                    LedgerError::NotFound(_) => RuntimeError::UnknownSession(id),
                    error => RuntimeError::Delete(error),
                })
        });
        deleted.await.unwrap_or(Err(RuntimeError::ShuttingDown))
    }

    /// Counts one more user of a session; a session without users is closed.
    pub fn attach(&self, id: &SessionId) {
        if let Ok(session) = self.session(id) {
            session.attach();
        }
    }

    /// Counts one user less.  Without any, the session's work is cancelled, its files
    /// are written and its lock is given back.
    pub fn detach(self: &Arc<Self>, id: &SessionId) {
        let Ok(session) = self.session(id) else {
            return;
        };
        if !session.detach() {
            return;
        }
        self.cancel_session(id);
        let runtime = Arc::clone(self);
        self.handle.spawn(async move {
            runtime.wait_until_idle(&session.id).await;
            let key = (session.scope.clone(), session.id.clone());
            session.close(move || {
                // What could not be saved by now is lost, and no reason to wait.
                runtime.tell_storage(&key.1, None);
                runtime.sessions.lock().remove(&key);
                runtime.session_left.notify_waiters();
            });
        });
    }

    async fn wait_until_idle(&self, id: &SessionId) {
        while self.queue.lock().is_busy(id) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// What a user interface shows again of a session.
    pub fn replay(&self, id: &SessionId) -> Result<Vec<ReplayEntry>, RuntimeError> {
        let session = self.session(id)?;
        // A thread shares its turns, so this copies little.
        let thread = session.read(|state| state.ledger.thread().clone());
        Ok(crate::replay::replay(&thread, &self.services.catalog))
    }

    /// How much of its model's context the session's last request filled, and how much
    /// there is, in tokens; `None` if either is unknown.  `catalog` has the models.
    pub fn context_usage(&self, id: &SessionId, catalog: &ModelCatalog) -> Option<(u64, u64)> {
        let session = self.session(id).ok()?;
        let thread = session.read(|state| state.ledger.thread().clone());
        let sample = last_answer(&thread)?;
        let usage = Usage::from_json(sample.metadata.get("usage")?);
        let choice = ModelChoice::of_sample(sample)?;
        let window = catalog.get(&choice)?.context_window?;
        Some((usage.in_context()?, window))
    }

    /// A session's options.
    pub fn options(&self, id: &SessionId) -> Result<SessionOptions, RuntimeError> {
        Ok(describe(&*self.session(id)?, None).options)
    }

    /// A session's title, if it has one.
    pub fn title(&self, id: &SessionId) -> Result<Option<String>, RuntimeError> {
        Ok(describe(&*self.session(id)?, None).title)
    }
}

pub(crate) fn describe(session: &Session, notice: Option<String>) -> SessionInfo {
    session.read(|state| SessionInfo {
        id: session.id.clone(),
        scope: session.scope.clone(),
        title: state.header.display_title().map(str::to_owned),
        options: SessionOptions {
            agent: state.options.agent.clone(),
            model: state.options.model.clone(),
            effort: state.options.effort,
            thinking: state.options.thinking,
        },
        notice,
    })
}

fn split_model(name: &str) -> Option<ModelChoice> {
    let (backend, model) = name.split_once(':')?;
    Some(ModelChoice {
        backend: backend.to_owned(),
        model: model.to_owned(),
    })
}

/// `session-YYYYMMDD-HHMMSS-xxxx`: sorted by time, and different in two Emacsen that
/// begin a session in the same second.
pub(crate) fn new_session_id() -> SessionId {
    let format = time::macros::format_description!("[year][month][day]-[hour][minute][second]");
    let stamp = time::OffsetDateTime::now_utc()
        .format(format)
        .unwrap_or_default();
    let suffix: String = magent_types::fresh_suffix().chars().take(4).collect();
    SessionId::new(format!("session-{stamp}-{suffix}"))
}

//! The runtime as its users see it: sessions, prompts, answers.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use magent_ledger::{SessionDirectory, SpillError, SpillSettings, SpillStore, StoreWriter};
use magent_permission::{Exposure, Policy, Request, RuleTable, SessionOverrides, decide, exposure};
use magent_sampling::Sampler;
use magent_tools::{
    Catalog, HostPort, LiveOutput, ProcessSetup, ReadFilter, SpillPage, SpillReader, ToolContext,
    builtin_catalog,
};
use magent_types::{
    AgentDefinition, ApprovalId, ApprovalPolicy, Decision, Effort, EventKind, PermissionRules,
    PromptBlock, SamplingParams, Scope, SessionId, SubmissionId, Thinking, UnixSeconds,
};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::approval::Approvals;
use crate::audit::Audit;
use crate::bus::Bus;
use crate::live::LiveRelay;
use crate::queue::Queue;
use crate::session::{Options, Session};
use crate::submission::{RequestContext, Submission};
use crate::{
    AgentRegistry, ApprovalDecision, HostBridge, ModelCatalog, ModelChoice, Observer, ObserverId,
    ReplayEntry, RuntimeConfig, RuntimeError, SubmitRequest, Submitted, ToolSelection,
    builtin_agents,
};

/// What a runtime is made of.
pub struct RuntimePorts {
    /// The way to Emacs.
    pub host: Arc<HostBridge>,
    /// The way to models.
    pub sampler: Arc<dyn Sampler>,
    /// Where sessions are saved.
    pub session_directory: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// How this process is named to others that want its sessions.
    pub holder: String,
    /// One or two lines about the editor and system, for the model.
    pub about: String,
    /// How processes are prepared; without it they get a process group only.
    pub process_setup: Option<ProcessSetup>,
    /// Where the runtime's tasks run.
    pub handle: Handle,
}

/// What turns use.
pub(crate) struct Services {
    pub(crate) host: Arc<HostBridge>,
    pub(crate) sampler: Arc<dyn Sampler>,
    pub(crate) bus: Bus,
    pub(crate) approvals: Approvals,
    pub(crate) audit: Audit,
    pub(crate) spill: SpillStore,
    pub(crate) about: String,
    process_setup: Option<ProcessSetup>,
    home: Option<PathBuf>,
    holder: String,
    directory: SessionDirectory,
    writer: StoreWriter,
    catalog: Catalog,
    agents: AgentRegistry,
}

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
    /// Its id.
    pub id: SessionId,
    /// Where it belongs.
    pub scope: Scope,
    /// Its title.
    pub title: Option<String>,
    /// When it last changed.
    pub updated_at: UnixSeconds,
}

/// A row of the report on what an agent may do.
#[derive(Clone, Debug, PartialEq)]
pub struct AuthorityRow {
    /// The tool.
    pub tool: &'static str,
    /// Its permission key.
    pub permission_key: &'static str,
    /// The decision without a particular resource; `None` if the tool is switched off.
    pub decision: Option<Decision>,
    /// Whether the model is told about the tool.
    pub exposed: bool,
    /// How long an approval may last.
    pub approval: ApprovalPolicy,
    /// Why.
    pub explanation: String,
    /// Patterns with decisions of their own.
    pub patterns: Vec<(String, Decision)>,
}

type SessionKey = (Scope, SessionId);

/// The runtime.
pub struct Runtime {
    services: Arc<Services>,
    sessions: Mutex<HashMap<SessionKey, Arc<Session>>>,
    queue: Mutex<Queue>,
    submissions: Mutex<HashMap<SubmissionId, Arc<Submission>>>,
    closing: AtomicBool,
    handle: Handle,
}

/// How long a finished turn waits for the disk before it is reported anyway.
pub(crate) const FLUSH_LIMIT: Duration = Duration::from_secs(3);

impl Runtime {
    /// Starts a runtime.  No session is read or written before it is asked for.
    pub fn start(ports: RuntimePorts) -> Result<Arc<Self>, RuntimeError> {
        let listener: Arc<OnceLock<Weak<Self>>> = Arc::default();
        let slot = Arc::clone(&listener);
        let writer = StoreWriter::start(move |id, problem| {
            if let Some(runtime) = listener.get().and_then(Weak::upgrade) {
                runtime.report_storage(id, problem);
            }
        })?;
        let spill = SpillStore::new(&ports.session_directory);
        let sweeper = spill.clone();
        ports
            .handle
            .spawn_blocking(move || sweeper.sweep(SpillSettings::default()));
        let runtime = Arc::new(Self {
            services: Arc::new(Services {
                host: ports.host,
                sampler: ports.sampler,
                bus: Bus::default(),
                approvals: Approvals::default(),
                audit: Audit::new(ports.home.clone()),
                spill,
                about: ports.about,
                process_setup: ports.process_setup,
                home: ports.home,
                holder: ports.holder,
                directory: SessionDirectory::new(ports.session_directory),
                writer,
                catalog: builtin_catalog(),
                agents: builtin_agents(),
            }),
            sessions: Mutex::default(),
            queue: Mutex::default(),
            submissions: Mutex::default(),
            closing: AtomicBool::new(false),
            handle: ports.handle,
        });
        // The slot is filled once, here.
        let _ = slot.set(Arc::downgrade(&runtime));
        Ok(runtime)
    }

    pub(crate) fn services(&self) -> &Arc<Services> {
        &self.services
    }

    /// The agents that sessions can run as.
    pub fn agents(&self) -> &AgentRegistry {
        &self.services.agents
    }

    /// The tools there are.
    pub fn catalog(&self) -> &Catalog {
        &self.services.catalog
    }

    /// Asks Emacs which models are registered now.
    pub async fn models(&self) -> Result<ModelCatalog, RuntimeError> {
        ModelCatalog::fetch(&*self.services.host).await
    }

    /// Makes a session.  It is saved with its first turn.
    pub fn new_session(
        &self,
        scope: Scope,
        config: &RuntimeConfig,
    ) -> Result<SessionInfo, RuntimeError> {
        self.check_open()?;
        let agent = &config.default_agent;
        if self.agents().get(agent).is_none() {
            return Err(RuntimeError::UnknownAgent(agent.clone()));
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
        if let Some(session) = self.live(&scope, &id) {
            return Ok(describe(&session, None));
        }
        let runtime = Arc::clone(self);
        let default_agent = config.default_agent.clone();
        let opened =
            tokio::task::spawn_blocking(move || runtime.open_saved(&scope, &id, &default_agent));
        match opened.await {
            Ok(opened) => {
                let (session, notice) = opened?;
                Ok(describe(&session, notice))
            }
            Err(_) => Err(RuntimeError::ShuttingDown),
        }
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
            Err(magent_ledger::LedgerError::Io { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let loaded = directory.load(scope, id)?;
        let mut ledger = loaded.ledger;
        let unfinished = ledger.reconcile_after_restart(crate::session::now());
        let metadata = &loaded.header.metadata;
        let text = |key: &str| metadata.get(key).and_then(|value| value.as_str());
        let agent = text("agent").filter(|name| self.agents().get(name).is_some());
        let options = Options {
            agent: agent.unwrap_or(default_agent).to_owned(),
            model: text("model").and_then(split_model),
            effort: text("effort").and_then(Effort::parse),
            thinking: text("thinking").and_then(Thinking::parse),
        };
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

    /// Adds a session, unless somebody else added it meanwhile; returns the one that
    /// counts.
    fn register(&self, session: Arc<Session>) -> Arc<Session> {
        let key = (session.scope.clone(), session.id.clone());
        Arc::clone(self.sessions.lock().entry(key).or_insert(session))
    }

    fn live(&self, scope: &Scope, id: &SessionId) -> Option<Arc<Session>> {
        let key = (scope.clone(), id.clone());
        self.sessions.lock().get(&key).cloned()
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
    pub async fn list_sessions(self: &Arc<Self>, scope: Option<Scope>) -> Vec<SessionListing> {
        let runtime = Arc::clone(self);
        let listed = tokio::task::spawn_blocking(move || {
            let directory = &runtime.services.directory;
            let summaries = match &scope {
                Some(scope) => directory.list(scope),
                None => directory.list_all(),
            };
            let listed = summaries.into_iter().filter_map(|summary| {
                let scope = summary.scope.clone().or_else(|| scope.clone())?;
                let here = runtime.live(&scope, &summary.id).is_some();
                Some(listing(summary, scope, here))
            });
            listed.collect()
        });
        listed.await.unwrap_or_default()
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
            runtime.sessions.lock().remove(&key);
            session.close();
        });
    }

    async fn wait_until_idle(&self, id: &SessionId) {
        while self.queue.lock().is_busy(id) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Reports a problem with saving to whoever watches the session.
    fn report_storage(&self, id: &SessionId, problem: Option<&str>) {
        let text = match problem {
            Some(problem) => format!(
                "The session cannot be saved ({problem}). It is kept in memory and saved as soon \
                 as that works again; do not quit Emacs before."
            ),
            None => "The session is saved again.".to_owned(),
        };
        if let Ok(session) = self.session(id) {
            let kind = EventKind::Notice { item: None, text };
            session.emit(&self.services.bus, None, None, kind);
        }
    }

    /// What a user interface shows again of a session.
    pub fn replay(&self, id: &SessionId) -> Result<Vec<ReplayEntry>, RuntimeError> {
        let session = self.session(id)?;
        // A thread shares its turns, so this copies little.
        let thread = session.read(|state| state.ledger.thread().clone());
        Ok(crate::replay::replay(&thread, &self.services.catalog))
    }

    /// A session's options.
    pub fn options(&self, id: &SessionId) -> Result<SessionOptions, RuntimeError> {
        Ok(describe(&*self.session(id)?, None).options)
    }

    /// A session's title, if it has one.
    pub fn title(&self, id: &SessionId) -> Result<Option<String>, RuntimeError> {
        Ok(describe(&*self.session(id)?, None).title)
    }

    /// Switches a session's agent, for later prompts.
    pub fn set_agent(&self, id: &SessionId, agent: &str) -> Result<(), RuntimeError> {
        let known = self.agents().get(agent);
        if !known.is_some_and(|agent| agent.mode.is_primary()) {
            return Err(RuntimeError::UnknownAgent(agent.to_owned()));
        }
        let session = self.session(id)?;
        session.update(|state| state.options.agent = agent.to_owned());
        let kind = EventKind::AgentChanged(agent.to_owned());
        session.emit(&self.services.bus, None, None, kind);
        Ok(())
    }

    /// Switches a session's model, for later prompts; `None` is the default.
    pub fn set_model(
        &self,
        id: &SessionId,
        model: Option<ModelChoice>,
    ) -> Result<(), RuntimeError> {
        self.session(id)?
            .update(|state| state.options.model = model);
        Ok(())
    }

    /// Switches a session's reasoning effort, for later prompts; `None` is the default.
    pub fn set_effort(&self, id: &SessionId, effort: Option<Effort>) -> Result<(), RuntimeError> {
        self.session(id)?
            .update(|state| state.options.effort = effort);
        Ok(())
    }

    /// Subscribes to the reports of one session, or of all.
    pub fn subscribe(&self, session: Option<SessionId>, observer: Observer) -> ObserverId {
        self.services.bus.subscribe(session, observer)
    }

    /// Ends a subscription.
    pub fn unsubscribe(&self, id: ObserverId) {
        self.services.bus.unsubscribe(id);
    }

    /// Answers a question.  Returns false for one that is settled or unknown.
    pub fn resolve_approval(&self, id: &ApprovalId, decision: ApprovalDecision) -> bool {
        self.services.approvals.resolve(id, decision)
    }

    /// How many questions wait for an answer.
    pub fn open_approvals(&self) -> usize {
        self.services.approvals.count()
    }

    /// The audit records in memory, oldest first.
    pub fn audit_records(&self) -> Vec<Arc<serde_json::Value>> {
        self.services.audit.records()
    }

    /// Accepts a prompt: resolves and freezes everything its turn needs, records it,
    /// and starts it as soon as its session's slot is free.
    pub async fn submit(
        self: &Arc<Self>,
        request: SubmitRequest,
    ) -> Result<Submitted, RuntimeError> {
        self.check_open()?;
        if request.input.is_blank() {
            return Err(RuntimeError::BlankPrompt);
        }
        let session = self.session(&request.session_id)?;
        let order = Arc::clone(&session);
        let _in_order = order.submitting.lock().await;
        let context = self.freeze(&session, &request).await?;
        self.check_open()?;
        let submission_id = request.id.clone();
        let lock_problem = session.open_for_writing(
            &self.services.directory,
            &self.services.writer,
            &self.services.holder,
        );
        let (turn_id, item) = crate::drive::record_prompt(&session, &submission_id, &request);
        let (sender, outcome) = oneshot::channel();
        let submission = Arc::new(Submission {
            id: submission_id.clone(),
            turn_id: turn_id.clone(),
            session: Arc::clone(&session),
            request: context,
            cancel: CancellationToken::new(),
            outcome: Mutex::new(Some(sender)),
        });
        let report = |kind| {
            session.emit(
                &self.services.bus,
                Some(&submission_id),
                Some(&turn_id),
                kind,
            );
        };
        let text = request.input.display_text();
        if let Some(title) = session.derive_title(&text) {
            report(EventKind::TitleChanged(title));
        }
        report(EventKind::UserMessage { item, text });
        if let Some(problem) = lock_problem {
            let text =
                format!("The session could not be locked against other processes: {problem}.");
            report(EventKind::Notice { item: None, text });
        }
        self.submissions
            .lock()
            .insert(submission_id.clone(), submission);
        self.queue.lock().push(&session.id, submission_id.clone());
        self.start_next(&session.id);
        Ok(Submitted {
            id: submission_id,
            turn_id,
            outcome,
        })
    }

    async fn freeze(
        &self,
        session: &Session,
        request: &SubmitRequest,
    ) -> Result<RequestContext, RuntimeError> {
        let config = Arc::clone(&request.config);
        let options = session.read(|state| state.options.clone());
        let agent = self.agent_of(request.agent.as_deref().unwrap_or(&options.agent))?;
        let tables = rule_tables(&config, &agent)?;
        let tools = self.select_tools(&request.tools, &config, &tables)?;
        let choice = self
            .choose_model(request.model.clone().or(options.model), &agent)
            .await?;
        let params = SamplingParams {
            temperature: agent.temperature,
            top_p: agent.top_p,
            max_tokens: None,
            effort: options.effort.or(agent.effort).or(config.default_effort),
            thinking: options.thinking.unwrap_or(match agent.thinking {
                Thinking::Auto => config.default_thinking,
                thinking => thinking,
            }),
        };
        Ok(RequestContext {
            config,
            agent,
            tools,
            tables,
            choice,
            params,
            approval: request.approval.clone(),
            files: request_files(request),
        })
    }

    fn agent_of(&self, name: &str) -> Result<AgentDefinition, RuntimeError> {
        self.agents()
            .get(name)
            .cloned()
            .ok_or_else(|| RuntimeError::UnknownAgent(name.to_owned()))
    }

    fn select_tools(
        &self,
        selection: &ToolSelection,
        config: &RuntimeConfig,
        tables: &[Arc<RuleTable>],
    ) -> Result<Vec<Arc<dyn magent_tools::Tool>>, RuntimeError> {
        let names = match selection {
            ToolSelection::All => return Ok(self.catalog().iter().cloned().collect()),
            ToolSelection::Exact(names) => names,
        };
        let policy = Policy {
            tables: tables.to_vec(),
            overrides: SessionOverrides::default(),
            bypass: config.bypass_permission,
            enabled_keys: config.enabled_keys.clone(),
        };
        names
            .iter()
            .map(|name| {
                let tool = self.catalog().get(name);
                tool.filter(|tool| exposure(&policy, tool.spec().permission_key) == Exposure::Shown)
                    .cloned()
                    .ok_or_else(|| RuntimeError::UnavailableTool(name.clone()))
            })
            .collect()
    }

    /// The session's model, else the agent's, else the default.  A model that is no
    /// longer registered is an error: another one is never taken silently.
    async fn choose_model(
        &self,
        chosen: Option<ModelChoice>,
        agent: &AgentDefinition,
    ) -> Result<ModelChoice, RuntimeError> {
        let catalog = self.models().await?;
        if let Some(choice) = chosen {
            return match catalog.get(&choice) {
                Some(_) => Ok(choice),
                None => Err(RuntimeError::UnknownModel(choice.full_name())),
            };
        }
        if let Some(name) = &agent.model {
            return catalog
                .find(name)
                .ok_or_else(|| RuntimeError::UnknownModel(name.clone()));
        }
        catalog.default.ok_or(RuntimeError::NoModel)
    }

    /// Starts the next waiting submission of a session, if its slot is free.
    pub(crate) fn start_next(self: &Arc<Self>, session: &SessionId) {
        let next = self.queue.lock().start_next(session);
        let Some(id) = next else { return };
        let submission = self.submissions.lock().get(&id).cloned();
        match submission {
            Some(submission) => {
                let runtime = Arc::clone(self);
                self.handle
                    .spawn(async move { crate::drive::drive(runtime, submission).await });
            }
            None => self.queue.lock().finish(session, &id),
        }
    }

    /// Frees a submission's slot and starts the next one.
    pub(crate) fn release(self: &Arc<Self>, submission: &Submission) {
        self.submissions.lock().remove(&submission.id);
        let session = &submission.session.id;
        self.queue.lock().finish(session, &submission.id);
        self.start_next(session);
    }

    /// Cancels everything of a session: what waits is dropped, what runs is stopped.
    /// Returns how many submissions that were.
    pub fn cancel_session(self: &Arc<Self>, id: &SessionId) -> usize {
        let (waiting, running) = {
            let queue = self.queue.lock();
            let waiting: Vec<SubmissionId> = queue.waiting(id).cloned().collect();
            (waiting, queue.running(id).cloned())
        };
        // What waits goes first, or it would start when what runs has ended.
        waiting
            .iter()
            .chain(running.iter())
            .filter(|id| self.cancel_submission(id))
            .count()
    }

    /// Cancels one submission.  Returns false if it has ended already.
    pub fn cancel_submission(self: &Arc<Self>, id: &SubmissionId) -> bool {
        let Some(submission) = self.submissions.lock().get(id).cloned() else {
            return false;
        };
        submission.cancel.cancel();
        let waiting = self.queue.lock().remove_waiting(&submission.session.id, id);
        if waiting {
            self.submissions.lock().remove(id);
            crate::drive::drop_waiting(self, &submission);
        }
        true
    }

    /// Whether a session has work under way or waiting.
    pub fn is_busy(&self, id: &SessionId) -> bool {
        self.queue.lock().is_busy(id)
    }

    /// What the session's agent may do, tool by tool.
    pub fn authority(
        &self,
        id: &SessionId,
        config: &RuntimeConfig,
    ) -> Result<Vec<AuthorityRow>, RuntimeError> {
        let session = self.session(id)?;
        let (agent, overrides) =
            session.read(|state| (state.options.agent.clone(), state.overrides.clone()));
        let agent = self.agent_of(&agent)?;
        let policy = Policy {
            tables: rule_tables(config, &agent)?,
            overrides,
            bypass: config.bypass_permission,
            enabled_keys: config.enabled_keys.clone(),
        };
        let rows = self.catalog().iter().map(|tool| {
            let spec = tool.spec();
            let request = Request {
                key: spec.permission_key,
                policy: spec.approval,
                resource: None,
            };
            let authorization = decide(&policy, &request);
            let shown = exposure(&policy, spec.permission_key);
            AuthorityRow {
                tool: spec.name,
                permission_key: spec.permission_key,
                decision: (shown != Exposure::Disabled).then_some(authorization.decision),
                exposed: shown == Exposure::Shown,
                approval: spec.approval,
                explanation: authorization.explain(&request),
                patterns: policy
                    .tables
                    .iter()
                    .flat_map(|table| table.patterns(spec.permission_key))
                    .collect(),
            }
        });
        Ok(rows.collect())
    }

    fn check_open(&self) -> Result<(), RuntimeError> {
        if self.closing.load(Ordering::Acquire) {
            Err(RuntimeError::ShuttingDown)
        } else {
            Ok(())
        }
    }

    /// Ends everything: cancels all turns, waits for their processes to go, and writes
    /// what is left.  Takes at most about `deadline`; meant to be called once, from a
    /// thread that may wait.
    pub fn shutdown(self: &Arc<Self>, deadline: Duration) {
        self.closing.store(true, Ordering::Release);
        let sessions: Vec<Arc<Session>> = self.sessions.lock().values().cloned().collect();
        for session in &sessions {
            self.cancel_session(&session.id);
        }
        let end = std::time::Instant::now() + deadline;
        let busy = || {
            let queue = self.queue.lock();
            sessions.iter().any(|session| queue.is_busy(&session.id))
        };
        while busy() && std::time::Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
        for session in &sessions {
            session.close();
        }
        let left = end.saturating_duration_since(std::time::Instant::now());
        self.services
            .writer
            .stop(left.max(Duration::from_millis(100)));
    }
}

impl Services {
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// What a call may reach.
    pub(crate) fn tool_context(
        &self,
        session: &Session,
        config: &RuntimeConfig,
        cancel: CancellationToken,
        may_read: ReadFilter,
        relay: Option<LiveRelay>,
    ) -> ToolContext {
        let live: Arc<dyn LiveOutput> = match relay {
            Some(relay) => Arc::new(relay),
            None => Arc::new(NoOutput),
        };
        ToolContext {
            scope: session.scope.clone(),
            home: self.home.clone(),
            private_directories: Arc::from([self.directory.root().to_owned()]),
            may_read,
            environment: config.environment.clone(),
            process_setup: self.process_setup,
            limits: Arc::new(config.tool_limits.clone()),
            cancel,
            live,
            host: Arc::clone(&self.host) as Arc<dyn HostPort>,
            spill: Arc::new(SessionSpill {
                store: self.spill.clone(),
                scope: session.scope.clone(),
                session: session.id.clone(),
                settings: config.spill,
            }),
        }
    }
}

struct NoOutput;

impl LiveOutput for NoOutput {
    fn write(&self, _text: &str) {}
}

/// The spilled results of one session.
struct SessionSpill {
    store: SpillStore,
    scope: Scope,
    session: SessionId,
    settings: SpillSettings,
}

impl SpillReader for SessionSpill {
    fn session_id(&self) -> &str {
        self.session.as_str()
    }

    fn read(
        &self,
        result_id: &str,
        start: usize,
        count: usize,
    ) -> Result<SpillPage, magent_tools::SpillError> {
        let page = self.store.read(
            &self.scope,
            &self.session,
            result_id,
            start,
            count,
            self.settings,
        );
        match page {
            Ok(page) => Ok(SpillPage {
                text: page.text,
                total_characters: page.total_characters,
            }),
            Err(SpillError::NotFound) => Err(magent_tools::SpillError::NotFound),
            Err(error) => Err(magent_tools::SpillError::Io(error.to_string())),
        }
    }
}

fn describe(session: &Session, notice: Option<String>) -> SessionInfo {
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

/// `here` tells that this very process has the session live.
fn listing(summary: magent_ledger::SessionSummary, scope: Scope, here: bool) -> SessionListing {
    let mut title = summary.title;
    // The list is where the user meets a problem first, so it must not be silent there.
    if summary.damage.is_some() {
        title = Some(format!("(cannot be read) {}", summary.id));
    } else if let (Some(holder), false) = (summary.holder, here) {
        let name = title.unwrap_or_else(|| summary.id.to_string());
        title = Some(format!("{name} (in use by {holder})"));
    }
    SessionListing {
        id: summary.id,
        scope,
        title,
        updated_at: summary.updated_at,
    }
}

/// The user's rules come before the agent's: one table, so that the first match in
/// declared order decides.
fn rule_tables(
    config: &RuntimeConfig,
    agent: &AgentDefinition,
) -> Result<Vec<Arc<RuleTable>>, RuntimeError> {
    let mut rules = PermissionRules::default();
    let mut origin = format!("agent {}", agent.name);
    if !config.permission_rules.rules.is_empty() {
        origin = format!("magent-permission-rules and {origin}");
        rules.rules.extend(config.permission_rules.rules.clone());
    }
    rules.rules.extend(agent.permission.rules.clone());
    Ok(vec![Arc::new(RuleTable::compile(origin, &rules)?)])
}

/// Local files that a prompt names.
fn request_files(request: &SubmitRequest) -> Vec<PathBuf> {
    request
        .input
        .blocks
        .iter()
        .filter_map(|block| match block {
            PromptBlock::Text(_) => None,
            PromptBlock::Resource { uri, .. } | PromptBlock::ResourceLink { uri, .. } => {
                file_of_uri(uri)
            }
        })
        .collect()
}

fn file_of_uri(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let decoded = percent_encoding::percent_decode_str(path)
        .decode_utf8()
        .ok()?;
    let path = Path::new(decoded.as_ref());
    path.is_absolute().then(|| path.to_owned())
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
fn new_session_id() -> SessionId {
    let format = time::macros::format_description!("[year][month][day]-[hour][minute][second]");
    let stamp = time::OffsetDateTime::now_utc()
        .format(format)
        .unwrap_or_default();
    let suffix: String = magent_types::fresh_suffix().chars().take(4).collect();
    SessionId::new(format!("session-{stamp}-{suffix}"))
}

//! The runtime as a whole: how it starts, what it offers, how it ends.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use magent_ledger::{
    ImageStore, SessionDirectory, SpillSettings, SpillStore, StorageReport, StoreWriter,
};
use magent_sampling::Sampler;
use magent_tools::{Catalog, ProcessSetup, builtin_catalog};
use magent_types::{ApprovalId, EventKind, Scope, SessionId, SubmissionId};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use crate::approval::Approvals;
use crate::audit::Audit;
use crate::bus::Bus;
use crate::host_sampler::HostSampler;
use crate::queue::Queue;
use crate::services::Services;
use crate::session::Session;
use crate::submission::Submission;
use crate::{
    AgentRegistry, ApprovalDecision, HostBridge, ModelCatalog, Observer, ObserverId, RuntimeError,
    builtin_agents,
};

/// Told when a session cannot be saved, with the problem, and without one when that
/// has ended.
pub type StorageWatcher = Box<dyn Fn(&SessionId, Option<&str>) + Send + Sync>;

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

type SessionKey = (Scope, SessionId);

/// The runtime.
pub struct Runtime {
    pub(crate) services: Arc<Services>,
    pub(crate) sessions: Mutex<HashMap<SessionKey, Arc<Session>>>,
    /// Told whenever a session has left the registry.
    pub(crate) session_left: Notify,
    pub(crate) queue: Mutex<Queue>,
    pub(crate) submissions: Mutex<HashMap<SubmissionId, Arc<Submission>>>,
    closing: AtomicBool,
    storage_watcher: OnceLock<StorageWatcher>,
    pub(crate) handle: Handle,
}

impl Runtime {
    /// Starts a runtime.  No session is read or written before it is asked for.
    pub fn start(ports: RuntimePorts) -> Result<Arc<Self>, RuntimeError> {
        let listener: Arc<OnceLock<Weak<Self>>> = Arc::default();
        let slot = Arc::clone(&listener);
        let writer = StoreWriter::start(move |id, report| {
            if let Some(runtime) = listener.get().and_then(Weak::upgrade) {
                runtime.report_storage(id, report);
            }
        })?;
        let spill = SpillStore::new(&ports.session_directory);
        let images = ImageStore::new(&ports.session_directory);
        let sweeper = spill.clone();
        ports
            .handle
            .spawn_blocking(move || sweeper.sweep(SpillSettings::default()));
        let runtime = Arc::new(Self {
            services: Arc::new(Services {
                host_sampler: HostSampler::new(ports.host.clone()),
                host: ports.host,
                sampler: ports.sampler,
                bus: Bus::default(),
                approvals: Approvals::default(),
                audit: Audit::new(ports.home.clone()),
                spill,
                images,
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
            session_left: Notify::new(),
            queue: Mutex::default(),
            submissions: Mutex::default(),
            closing: AtomicBool::new(false),
            storage_watcher: OnceLock::new(),
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

    /// Sets who is told about problems with saving any session.  The first one counts.
    pub fn watch_storage(&self, watcher: StorageWatcher) {
        let _ = self.storage_watcher.set(watcher);
    }

    /// Tells the watcher whether a session can be saved.
    pub(crate) fn tell_storage(&self, id: &SessionId, problem: Option<&str>) {
        if let Some(watcher) = self.storage_watcher.get() {
            watcher(id, problem);
        }
    }

    /// Reports a problem with saving to whoever watches the session.
    fn report_storage(&self, id: &SessionId, report: StorageReport<'_>) {
        let session = self.session(id).ok();
        let (problem, text) = match report {
            StorageReport::Fails(problem) => {
                let text = format!(
                    "The session cannot be saved ({problem}). It is kept in memory and saved as \
                     soon as that works again; do not quit Emacs before."
                );
                (Some(problem), text)
            }
            StorageReport::Disturbed => {
                if let Some(session) = session {
                    session.rewrite(&self.services.directory, &self.services.holder);
                }
                return;
            }
            StorageReport::Rewritten => {
                let text = "Another program removed or changed the files of the session. All of \
                            it is written again; a log that was found is kept beside it.";
                (None, text.to_owned())
            }
            StorageReport::Works => (None, "The session is saved again.".to_owned()),
        };
        self.tell_storage(id, problem);
        if let Some(session) = session {
            let kind = EventKind::Notice { item: None, text };
            session.emit(&self.services.bus, None, None, kind);
        }
    }

    /// Subscribes to the reports of one session, or of all.
    pub fn subscribe(&self, session: Option<SessionId>, observer: Observer) -> ObserverId {
        self.services.bus.subscribe(session, observer)
    }

    /// Ends a subscription.
    pub fn unsubscribe(&self, id: ObserverId) {
        self.services.bus.unsubscribe(id);
    }

    /// Takes an event, JSON text, of a sample that Emacs makes.  Returns false if nobody
    /// waits for it, so that the sample can be ended.
    pub fn sampling_event(&self, id: &str, event: String) -> bool {
        self.services.host_sampler.event(id, event)
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

    pub(crate) fn check_open(&self) -> Result<(), RuntimeError> {
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
        let end = Instant::now() + deadline;
        let busy = || {
            let queue = self.queue.lock();
            sessions.iter().any(|session| queue.is_busy(&session.id))
        };
        while busy() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
        for session in &sessions {
            session.close(|| {});
        }
        let left = end.saturating_duration_since(Instant::now());
        self.services
            .writer
            .stop(left.max(Duration::from_millis(100)));
    }
}

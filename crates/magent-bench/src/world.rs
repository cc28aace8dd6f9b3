//! A runtime with everything real except the model and Emacs.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use magent_runtime::{
    ApprovalMode, HostBridge, HostRequest, HostSink, Runtime, RuntimeConfig, RuntimePorts,
    SubmitRequest, Submitted, ToolSelection,
};
use magent_sampling::HttpSampler;
use magent_testkit::{Reply, ScriptedServer, TempProject};
use magent_tools::HostError;
use magent_types::{PromptInput, Scope, SessionId, SubmissionId, TurnOutcome};
use parking_lot::Mutex;
use serde_json::{Map, json};

use crate::Failure;

/// No measurement waits longer than this for anything.
const DEADLINE: Duration = Duration::from_secs(30);

/// Answers what Emacs would answer, at once.
struct FakeEmacs {
    bridge: OnceLock<Weak<HostBridge>>,
    url: String,
}

impl HostSink for FakeEmacs {
    fn send(&self, request: HostRequest) -> bool {
        let answer = match request.op.as_str() {
            "models" => Ok(json!({
                "models": [{"backend": "Mock", "model": "m", "context-window": 200_000}],
                "default": {"backend": "Mock", "model": "m"},
            })),
            "route" => Ok(json!({
                "dialect": "openai-chat",
                "url": self.url,
                "headers": [["Authorization", "Bearer no-real-key"]],
                "proxy": "direct",
                "context-window": 200_000,
            })),
            "buffer-state" => {
                Ok(json!({"visiting": false, "modified": false, "stale": false, "buffer": null}))
            }
            op => Err(HostError::Failed {
                code: "unknown-op".into(),
                message: format!("no operation {op}"),
            }),
        };
        if let Some(bridge) = self.bridge.get().and_then(Weak::upgrade) {
            bridge.reply(&request.id, answer);
        }
        true
    }
}

/// When something was first and last reported since the last prompt, by its name.
type Reports = HashMap<&'static str, (Instant, Instant)>;

/// A runtime, its project and its model.
pub(crate) struct World {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) project: TempProject,
    pub(crate) server: ScriptedServer,
    pub(crate) session: SessionId,
    reports: Arc<Mutex<Reports>>,
    _storage: tempfile::TempDir,
}

impl World {
    /// Starts a runtime whose model gives these answers.
    pub(crate) async fn new(replies: impl IntoIterator<Item = Reply>) -> Result<Self, Failure> {
        let storage = tempfile::tempdir()?;
        let project = TempProject::new();
        let server = ScriptedServer::start(replies).await;
        let emacs = Arc::new(FakeEmacs {
            bridge: OnceLock::new(),
            url: server.url(),
        });
        let host = Arc::new(HostBridge::new(Arc::clone(&emacs) as Arc<dyn HostSink>));
        // It is set here, once.
        let _ = emacs.bridge.set(Arc::downgrade(&host));
        let runtime = Runtime::start(RuntimePorts {
            host,
            sampler: Arc::new(HttpSampler::new()),
            session_directory: storage.path().join("sessions"),
            home: Some(storage.path().to_owned()),
            holder: "magent-bench".into(),
            about: "Measurements.".into(),
            process_setup: None,
            handle: tokio::runtime::Handle::current(),
        })?;
        let reports: Arc<Mutex<Reports>> = Arc::default();
        let seen = Arc::clone(&reports);
        runtime.subscribe(
            None,
            Arc::new(move |event| {
                let now = Instant::now();
                let mut seen = seen.lock();
                let times = seen.entry(event.kind.name()).or_insert((now, now));
                times.1 = now;
            }),
        );
        let scope = Scope::Project(project.root().to_string_lossy().into_owned());
        let session = runtime.new_session(scope, &RuntimeConfig::default())?.id;
        Ok(Self {
            runtime,
            project,
            server,
            session,
            reports,
            _storage: storage,
        })
    }

    /// Queues a prompt.
    pub(crate) async fn submit(&self, approval: ApprovalMode) -> Result<Submitted, Failure> {
        self.reports.lock().clear();
        let request = SubmitRequest {
            id: SubmissionId::fresh(),
            session_id: self.session.clone(),
            input: PromptInput::text("go"),
            tools: ToolSelection::All,
            agent: None,
            model: None,
            approval,
            config: Arc::new(RuntimeConfig::default()),
            metadata: Map::new(),
        };
        Ok(self.runtime.submit(request).await?)
    }

    /// Waits until something was reported since the last prompt.
    pub(crate) async fn wait_for(&self, name: &str) -> Result<(), Failure> {
        wait_until(name, || self.reports.lock().contains_key(name)).await
    }

    /// The time from the first report of one name to the last one of another.
    pub(crate) fn time_between(&self, first: &str, last: &str) -> Result<Duration, Failure> {
        let reports = self.reports.lock();
        match (reports.get(first), reports.get(last)) {
            (Some((begun, _)), Some((_, ended))) => Ok(ended.saturating_duration_since(*begun)),
            _ => Err(format!("there was no {first} or no {last}").into()),
        }
    }
}

/// Waits until something holds.
pub(crate) async fn wait_until(what: &str, holds: impl Fn() -> bool) -> Result<(), Failure> {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(DEADLINE, waiting)
        .await
        .map_err(|_| format!("{what} did not happen in time").into())
}

/// Waits for the end of a turn.
pub(crate) async fn outcome(submitted: Submitted) -> Result<TurnOutcome, Failure> {
    Ok(tokio::time::timeout(DEADLINE, submitted.outcome)
        .await
        .map_err(|_| "the turn did not end in time")??)
}

/// Runs a measurement on threads like those that the module has.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(work)
}

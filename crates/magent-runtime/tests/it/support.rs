//! A runtime with everything real except the model and Emacs.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use magent_runtime::{
    ApprovalDecision, ApprovalMode, HostBridge, HostRequest, HostSink, Runtime, RuntimeConfig,
    RuntimePorts, SubmitRequest, Submitted, ToolSelection,
};
use magent_sampling::HttpSampler;
use magent_testkit::{Reply, ScriptedServer, TempProject};
use magent_tools::HostError;
use magent_types::{
    EventKind, Item, ItemType, PromptInput, RuntimeEvent, Scope, SessionId, TurnOutcome,
};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

/// Answers what Emacs would answer: the scripted model, and no buffer visits anything.
pub(crate) struct FakeEmacs {
    bridge: OnceLock<Weak<HostBridge>>,
    url: String,
    context_window: u64,
}

impl HostSink for FakeEmacs {
    fn send(&self, request: HostRequest) -> bool {
        let answer = match request.op.as_str() {
            "models" => Ok(json!({
                "models": [{"backend": "Mock", "model": "m", "context-window": self.context_window},
                           {"backend": "Other", "model": "m"},
                           {"backend": "Responses", "model": "m"}],
                "default": {"backend": "Mock", "model": "m"},
            })),
            "route" => Ok(json!({
                "dialect": if request.args["backend"] == "Responses" {
                    "openai-responses"
                } else {
                    "openai-chat"
                },
                "url": self.url,
                "headers": [["Authorization", "Bearer sk-secret-key"]],
                "proxy": "direct",
                "context-window": self.context_window,
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

/// A runtime, its project, its model and what it reported.
pub(crate) struct World {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) project: TempProject,
    pub(crate) server: ScriptedServer,
    pub(crate) config: RuntimeConfig,
    pub(crate) approval: ApprovalMode,
    pub(crate) session: SessionId,
    pub(crate) events: Arc<Mutex<Vec<RuntimeEvent>>>,
    pub(crate) storage: Arc<tempfile::TempDir>,
}

impl World {
    pub(crate) async fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let storage = Arc::new(tempfile::tempdir().unwrap());
        Self::with_storage(storage, TempProject::new(), replies).await
    }

    pub(crate) async fn with_storage(
        storage: Arc<tempfile::TempDir>,
        project: TempProject,
        replies: impl IntoIterator<Item = Reply>,
    ) -> Self {
        let server = ScriptedServer::start(replies).await;
        let emacs = Arc::new(FakeEmacs {
            bridge: OnceLock::new(),
            url: server.url(),
            context_window: 1_000,
        });
        let host = Arc::new(HostBridge::new(Arc::clone(&emacs) as Arc<dyn HostSink>));
        emacs.bridge.set(Arc::downgrade(&host)).unwrap();
        let runtime = Runtime::start(RuntimePorts {
            host,
            sampler: Arc::new(HttpSampler::new()),
            session_directory: storage.path().join("sessions"),
            home: Some("/home/nobody".into()),
            holder: "test".into(),
            about: "Tests.".into(),
            process_setup: None,
            handle: tokio::runtime::Handle::current(),
        })
        .unwrap();
        let events: Arc<Mutex<Vec<RuntimeEvent>>> = Arc::default();
        let log = Arc::clone(&events);
        runtime.subscribe(None, Arc::new(move |event| log.lock().push(event.clone())));
        let config = RuntimeConfig::default();
        let scope = Scope::Project(project.root().to_str().unwrap().into());
        let session = runtime.new_session(scope, &config).unwrap().id;
        Self {
            runtime,
            project,
            server,
            config,
            approval: ApprovalMode::Ask,
            session,
            events,
            storage,
        }
    }

    pub(crate) fn scope(&self) -> Scope {
        Scope::Project(self.project.root().to_str().unwrap().into())
    }

    pub(crate) fn request(&self, prompt: &str) -> SubmitRequest {
        SubmitRequest {
            id: magent_types::SubmissionId::fresh(),
            session_id: self.session.clone(),
            input: PromptInput::text(prompt),
            tools: ToolSelection::All,
            agent: None,
            model: None,
            approval: self.approval.clone(),
            config: Arc::new(self.config.clone()),
            metadata: Map::new(),
        }
    }

    pub(crate) async fn submit(&self, prompt: &str) -> Submitted {
        self.runtime.submit(self.request(prompt)).await.unwrap()
    }

    /// Runs a prompt to its end.
    pub(crate) async fn turn(&self, prompt: &str) -> TurnOutcome {
        let submitted = self.submit(prompt).await;
        outcome(submitted).await
    }

    /// Answers every question of this session in the same way.
    pub(crate) fn answer_all(&self, decision: ApprovalDecision) {
        let runtime = Arc::downgrade(&self.runtime);
        self.runtime.subscribe(
            Some(self.session.clone()),
            Arc::new(move |event| {
                if let EventKind::ApprovalRequested(view) = &event.kind
                    && let Some(runtime) = runtime.upgrade()
                {
                    assert!(runtime.resolve_approval(&view.approval_id, decision));
                }
            }),
        );
    }

    /// Waits until a report fits.
    pub(crate) async fn wait_for(&self, fits: impl Fn(&EventKind) -> bool) -> EventKind {
        for _ in 0..2_000 {
            let found = self
                .events
                .lock()
                .iter()
                .map(|event| event.kind.clone())
                .find(|kind| fits(kind));
            if let Some(kind) = found {
                return kind;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("no such report: {:#?}", self.names());
    }

    /// Waits until the model has been asked this often; a request that is cancelled
    /// before it arrives would leave its script to the next one.
    pub(crate) async fn wait_for_requests(&self, count: usize) {
        for _ in 0..2_000 {
            if self.server.requests().len() >= count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("the model was not asked {count} times");
    }

    /// The names of all reports so far; runs of the same delta count once.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = self
            .events
            .lock()
            .iter()
            .map(|event| event.kind.name())
            .collect();
        names.dedup();
        names
    }

    /// The items of the newest turn in the files, read back from the disk.
    pub(crate) fn saved_items(&self) -> Vec<Item> {
        let directory = magent_ledger::SessionDirectory::new(self.storage.path().join("sessions"));
        let loaded = directory.load(&self.scope(), &self.session).unwrap();
        let thread = loaded.ledger.thread();
        let turn = thread.turns.last().unwrap();
        turn.items.iter().map(|item| Item::clone(item)).collect()
    }

    /// What the model reads of the results of its calls, in the newest request.
    pub(crate) fn results(&self) -> Vec<String> {
        let requests = self.server.requests();
        let request = requests.last().unwrap();
        request.check_calls();
        request
            .messages()
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| message["content"].as_str().unwrap().to_owned())
            .collect()
    }
}

pub(crate) async fn outcome(submitted: Submitted) -> TurnOutcome {
    tokio::time::timeout(Duration::from_secs(20), submitted.outcome)
        .await
        .expect("an outcome in time")
        .expect("an outcome at all")
}

/// The kinds and statuses of items, for comparisons.
pub(crate) fn shapes(items: &[Item]) -> Vec<String> {
    items
        .iter()
        .map(|item| {
            let phase = match (item.kind, &item.phase) {
                (ItemType::Message, Some(phase)) => format!(" {phase}"),
                _ => String::new(),
            };
            format!("{} {}{phase}", item.kind.as_str(), item.status.as_str())
        })
        .collect()
}

/// A call's arguments for `read_file`.
pub(crate) fn read_args(path: &str) -> Value {
    json!({"path": path, "source": "disk"})
}

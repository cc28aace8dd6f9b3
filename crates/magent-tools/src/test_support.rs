//! A project on the disk and everything a call reaches, for the tests of the tools.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use magent_types::{Scope, ToolError, ToolOutput};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    Call, HostError, HostPort, LiveOutput, SpillError, SpillPage, SpillReader, Tool, ToolContext,
    ToolLimits, check_arguments, resolve_path,
};

type Answer = Box<dyn Fn(&Value) -> Result<Value, HostError> + Send + Sync>;

/// An Emacs that answers as the test says, and that is absent otherwise.
#[derive(Default)]
pub(crate) struct FakeHost {
    answers: Mutex<HashMap<String, Answer>>,
    calls: Mutex<Vec<(String, Value)>>,
}

impl FakeHost {
    /// Sets the answer to an operation.
    pub(crate) fn on(
        &self,
        op: &str,
        answer: impl Fn(&Value) -> Result<Value, HostError> + Send + Sync + 'static,
    ) {
        let mut answers = self.answers.lock().unwrap();
        answers.insert(op.to_owned(), Box::new(answer));
    }

    /// Sets a fixed answer to an operation.
    pub(crate) fn answer(&self, op: &str, value: Value) {
        self.on(op, move |_| Ok(value.clone()));
    }

    /// Lets an operation fail.
    pub(crate) fn fail(&self, op: &str, code: &str) {
        let code = code.to_owned();
        self.on(op, move |_| {
            Err(HostError::Failed {
                code: code.clone(),
                message: format!("Emacs says {code}"),
            })
        });
    }

    /// The operations that were asked for.
    pub(crate) fn ops(&self) -> Vec<String> {
        let calls = self.calls.lock().unwrap();
        calls.iter().map(|(op, _)| op.clone()).collect()
    }

    /// The arguments of the last call of an operation.
    pub(crate) fn last_args(&self, op: &str) -> Value {
        let calls = self.calls.lock().unwrap();
        let found = calls.iter().rev().find(|(called, _)| called == op);
        found.unwrap().1.clone()
    }
}

#[async_trait]
impl HostPort for FakeHost {
    async fn call(&self, op: &str, args: Value, _deadline: Duration) -> Result<Value, HostError> {
        self.calls
            .lock()
            .unwrap()
            .push((op.to_owned(), args.clone()));
        match self.answers.lock().unwrap().get(op) {
            Some(answer) => answer(&args),
            None => Err(HostError::Absent),
        }
    }
}

/// Live output that is kept.
#[derive(Default)]
pub(crate) struct RecordedLive(Mutex<String>);

impl RecordedLive {
    /// Everything that was shown.
    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

impl LiveOutput for RecordedLive {
    fn write(&self, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }
}

/// Spilled results in memory.
#[derive(Default)]
pub(crate) struct FakeSpill(Mutex<HashMap<String, String>>);

impl FakeSpill {
    /// Keeps a result.
    pub(crate) fn put(&self, id: &str, text: &str) {
        self.0
            .lock()
            .unwrap()
            .insert(id.to_owned(), text.to_owned());
    }
}

impl SpillReader for FakeSpill {
    fn session_id(&self) -> &str {
        "session-1"
    }

    fn read(&self, result_id: &str, start: usize, count: usize) -> Result<SpillPage, SpillError> {
        let results = self.0.lock().unwrap();
        let text = results.get(result_id).ok_or(SpillError::NotFound)?;
        Ok(SpillPage {
            text: text.chars().skip(start - 1).take(count).collect(),
            total_characters: text.chars().count(),
        })
    }
}

/// A project in a temporary folder.
pub(crate) struct Project {
    _folder: tempfile::TempDir,
    /// Its canonical root.
    pub(crate) root: PathBuf,
    pub(crate) host: Arc<FakeHost>,
    pub(crate) live: Arc<RecordedLive>,
    pub(crate) spill: Arc<FakeSpill>,
    pub(crate) limits: ToolLimits,
    pub(crate) private: Vec<PathBuf>,
    pub(crate) scope: Scope,
    pub(crate) cancel: CancellationToken,
}

impl Project {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        Self {
            scope: Scope::Project(root.to_str().unwrap().to_owned()),
            _folder: folder,
            root,
            host: Arc::default(),
            live: Arc::default(),
            spill: Arc::default(),
            limits: ToolLimits::default(),
            private: Vec::new(),
            cancel: CancellationToken::new(),
        }
    }

    /// A path below the root.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Writes a file and its folders.
    pub(crate) fn write(&self, relative: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The bytes of a file.
    pub(crate) fn bytes(&self, relative: &str) -> Vec<u8> {
        std::fs::read(self.path(relative)).unwrap()
    }

    /// The revision of a file.
    pub(crate) fn revision(&self, relative: &str) -> String {
        crate::revision_of(&self.bytes(relative))
    }

    /// All names in a folder.
    pub(crate) fn names(&self, relative: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.path(relative))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn context(&self) -> ToolContext {
        ToolContext {
            scope: self.scope.clone(),
            home: Some(PathBuf::from("/home/nobody")),
            private_directories: self.private.clone().into(),
            may_read: Arc::new(|_| true),
            environment: None,
            process_setup: None,
            limits: Arc::new(self.limits.clone()),
            cancel: self.cancel.clone(),
            live: self.live.clone(),
            host: self.host.clone(),
            spill: self.spill.clone(),
        }
    }

    /// The call as the orchestrator prepares it.
    pub(crate) fn call(&self, tool: &dyn Tool, arguments: &Value) -> Result<Call, ToolError> {
        let spec = tool.spec();
        let (arguments, _) = check_arguments(spec, &arguments.to_string())
            .map_err(|error| ToolError::failed("arguments", error.to_string()))?;
        let resource = spec
            .resource_argument
            .and_then(|name| arguments.get(name))
            .and_then(Value::as_str)
            .map(|given| {
                resolve_path(given, &self.root, None, &self.scope)
                    .map_err(|error| ToolError::failed("path", error.to_string()))
            })
            .transpose()?;
        Ok(Call {
            arguments,
            resource,
        })
    }

    /// Runs a call, and checks that its result is what the tool promises.
    pub(crate) async fn run(
        &self,
        tool: &dyn Tool,
        arguments: Value,
    ) -> Result<ToolOutput, ToolError> {
        let call = self.call(tool, &arguments)?;
        let output = tool.run(&call, &self.context()).await?;
        let errors = crate::arguments::schema_errors(&tool.spec().output, &output.value);
        assert_eq!(errors, Ok(Vec::new()), "the value breaks the output schema");
        Ok(output)
    }

    /// Makes a FIFO.
    pub(crate) fn fifo(&self, relative: &str) {
        let status = std::process::Command::new("mkfifo")
            .arg(self.path(relative))
            .status();
        assert!(status.unwrap().success());
    }
}

/// The code and the message of a failure.
pub(crate) fn failure(result: Result<ToolOutput, ToolError>) -> (String, String) {
    match result {
        Err(ToolError::Failed { code, message, .. }) => (code, message),
        other => panic!("no failure: {other:?}"),
    }
}

/// An answer to `buffer-state`.
pub(crate) fn visiting(visiting: bool) -> Value {
    json!({
        "visiting": visiting,
        "modified": false,
        "stale": false,
        "buffer": visiting.then_some("a.rs"),
    })
}

/// Waits until something is true, for at most five seconds.
pub(crate) async fn eventually(what: &str, check: impl Fn() -> bool) {
    for _ in 0..500 {
        if check() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("did not happen: {what}");
}

/// Whether a file exists.
pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

//! What a running tool may reach: limits, cancellation and the ports to the outside.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use magent_types::Scope;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Why Emacs did not answer a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// Emacs ran the request and signalled an error.
    #[error("{message}")]
    Failed {
        /// A stable code such as `buffer_not_found`, or `error`.
        code: String,
        /// The error's text.
        message: String,
    },
    /// No answer came in time.
    #[error("Emacs did not answer within {} s", .0.as_secs_f32())]
    Deadline(Duration),
    /// The call was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// There is no Emacs to ask.
    #[error("no Emacs is connected")]
    Absent,
}

/// The way to ask Emacs for something only it can do.
#[async_trait]
pub trait HostPort: Send + Sync {
    /// Asks Emacs to run the operation and waits for the answer, at most `deadline`.
    async fn call(&self, op: &str, args: Value, deadline: Duration) -> Result<Value, HostError>;
}

/// Where a running call's output is shown.
pub trait LiveOutput: Send + Sync {
    /// Shows a piece.  Never blocks; may drop pieces when there are too many.
    fn write(&self, text: &str);
}

/// A page of a spilled result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpillPage {
    /// The characters of the page.
    pub text: String,
    /// How many characters the whole result has.
    pub total_characters: usize,
}

/// Why a spilled result cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpillError {
    /// No such result in this session, or it has expired.
    #[error("no such result; it may have expired")]
    NotFound,
    /// The file cannot be read.
    #[error("{0}")]
    Io(String),
}

/// The way to results that were too long for the model.
pub trait SpillReader: Send + Sync {
    /// The id of the session whose results these are.
    fn session_id(&self) -> &str;

    /// Reads `count` characters from `start` (from 1).  Blocks on the disk.
    fn read(&self, result_id: &str, start: usize, count: usize) -> Result<SpillPage, SpillError>;
}

/// Prepares a process before it starts, as far as safe code cannot: it gets a session
/// of its own, so that nothing it does reaches the terminal that Emacs draws on.
pub type ProcessSetup = fn(&mut std::process::Command);

/// Whether the permission rules let a file be read; searches leave out the others.
pub type ReadFilter = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Limits that user options set.
#[derive(Clone, Debug)]
pub struct ToolLimits {
    /// Most lines that `grep` returns.
    pub grep_max_matches: usize,
    /// Most paths that `glob` returns.
    pub glob_max_results: usize,
    /// Most entries that `glob` looks at.
    pub glob_max_files_scanned: usize,
    /// The shell of `bash`.
    pub bash_program: String,
    /// How long `bash` may run.
    pub bash_timeout: Duration,
    /// Characters of a page of `read_tool_output`.
    pub page_characters: usize,
    /// Most characters of a result that the model reads; `None` is no limit.
    pub result_max_length: Option<usize>,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            grep_max_matches: 100,
            glob_max_results: 500,
            glob_max_files_scanned: 50_000,
            bash_program: "bash".to_owned(),
            bash_timeout: Duration::from_secs(300),
            page_characters: 8_000,
            result_max_length: Some(12_000),
        }
    }
}

/// What a call may reach.
#[derive(Clone)]
pub struct ToolContext {
    /// Where the session belongs; its root is canonical.
    pub scope: Scope,
    /// The user's home directory, for `~`.
    pub home: Option<PathBuf>,
    /// Folders with Magent's own files, which searches leave out.
    pub private_directories: Arc<[PathBuf]>,
    /// Which files may be read.
    pub may_read: ReadFilter,
    /// The environment of processes, as Emacs has it; `None` is this process's own.
    pub environment: Option<Arc<[(String, String)]>>,
    /// How processes are prepared; without it they get a process group only.
    pub process_setup: Option<ProcessSetup>,
    /// Limits from user options.
    pub limits: Arc<ToolLimits>,
    /// Fires when the call is to stop.
    pub cancel: CancellationToken,
    /// Where output is shown while the call runs.
    pub live: Arc<dyn LiveOutput>,
    /// The way to Emacs.
    pub host: Arc<dyn HostPort>,
    /// The way to spilled results.
    pub spill: Arc<dyn SpillReader>,
}

impl ToolContext {
    /// The local folder that relative paths start from: the project root, or the
    /// home directory outside any project.
    pub fn base_directory(&self) -> PathBuf {
        match self.scope.root() {
            Some(root) => PathBuf::from(root),
            None => self
                .home
                .clone()
                .unwrap_or_else(|| Path::new("/").to_owned()),
        }
    }

    /// A path as people read it: relative to the project root where it is below it.
    pub fn display_path(&self, path: &str) -> String {
        match self.scope.root() {
            Some(root) if path == root => ".".to_owned(),
            Some(root) => path
                .strip_prefix(root.trim_end_matches('/'))
                .and_then(|rest| rest.strip_prefix('/'))
                .unwrap_or(path)
                .to_owned(),
            None => path.to_owned(),
        }
    }
}

//! Tools as data: specification, result and error.

use serde_json::{Map, Value};

use crate::status::status_type;
use crate::{Failure, PlanEntry};

status_type!(
    /// What a tool does, as far as a user interface shows it.
    ToolKind {
        /// Reads something.
        Read = "read",
        /// Changes a file.
        Edit = "edit",
        /// Deletes something.
        Delete = "delete",
        /// Moves or renames something.
        Move = "move",
        /// Searches.
        Search = "search",
        /// Runs a command or code.
        Execute = "execute",
        /// Keeps notes or plans.
        Think = "think",
        /// Fetches something from the net.
        Fetch = "fetch",
        /// Anything else.
        Other = "other",
    }
);

status_type!(
    /// How long an approval may last.
    ApprovalPolicy {
        /// The user may allow the tool for the session.
        Normal = "normal",
        /// Every single call is asked for.
        OnceOnly = "once-only",
    }
);

status_type!(
    /// Where a tool runs when the project is on another host.
    Locality {
        /// On the host of Emacs.
        Local = "local",
        /// On the host of Emacs, through Emacs's file functions.
        TrampFile = "tramp-file",
        /// On the project's host.
        ProjectProcess = "project-process",
    }
);

/// Everything that is fixed about a tool.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// Unique name.
    pub name: &'static str,
    /// What the model is told about it.
    pub description: &'static str,
    /// JSON schema of the arguments, an object.
    pub parameters: Value,
    /// JSON schema of the result's value.
    pub output: Value,
    /// The permission rules' name for it; several tools may share one.
    pub permission_key: &'static str,
    /// The argument that names a file, if there is one.
    pub resource_argument: Option<&'static str>,
    /// What user interfaces show.
    pub kind: ToolKind,
    /// How long an approval may last.
    pub approval: ApprovalPolicy,
    /// Where it runs.
    pub locality: Locality,
    /// Whether start and end of every call go to the audit.
    pub audited: bool,
}

/// A change of a file, whole, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// The file's absolute path.
    pub path: String,
    /// Its text before, or `None` for a new file.
    pub old_text: Option<String>,
    /// Its text after.
    pub new_text: String,
    /// The first changed line, from 1.
    pub line: Option<u32>,
}

/// A place a call touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file's absolute path.
    pub path: String,
    /// The line, from 1.
    pub line: Option<u32>,
}

/// The result of a call that did what it should.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The result as data.
    pub value: Value,
    /// The result as the model and people read it.
    pub content: String,
    /// Facts about the call, by key.
    pub metadata: Map<String, Value>,
    /// Files it changed.
    pub diffs: Vec<FileDiff>,
    /// Places it touched.
    pub locations: Vec<Location>,
    /// The plan it set.
    pub plan: Option<Vec<PlanEntry>>,
}

impl ToolOutput {
    /// A result whose value is its text.
    pub fn text(content: impl Into<String>) -> Self {
        let content = content.into();
        Self {
            value: Value::String(content.clone()),
            content,
            ..Self::default()
        }
    }
}

/// How a call can go wrong.  The loop decides by the variant, never by a text.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolError {
    /// The call failed; the model is told and goes on.
    Failed {
        /// A stable code such as `stale_revision`.
        code: String,
        /// What went wrong, for the model and people.
        message: String,
        /// What the call had put out until then; empty if nothing.
        content: String,
        /// The exit status of a process, if one ended.
        exit_code: Option<i32>,
        /// Facts about the call, by key.
        metadata: Map<String, Value>,
    },
    /// The turn cannot go on.
    Fatal(Failure),
    /// The call was cancelled.
    Cancelled,
}

impl ToolError {
    /// A failure that is told to the model.
    pub fn failed(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Failed {
            code: code.into(),
            message: message.into(),
            content: String::new(),
            exit_code: None,
            metadata: Map::new(),
        }
    }
}

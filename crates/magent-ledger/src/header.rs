//! A session's header: what lists show without reading the conversation.

use magent_types::{Decision, Scope, SessionId};
use serde_json::{Map, Value, json};

use crate::codec::Fields;
use crate::error::ShapeError;

/// The version of the three-file layout that this program writes and reads.
pub const SCHEMA_VERSION: u64 = 8;

/// A decision the user made for the rest of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalOverride {
    /// The permission key.
    pub tool: String,
    /// Allow or deny.
    pub decision: Decision,
}

/// The header file's content.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionHeader {
    /// The session's id.
    pub id: SessionId,
    /// Where it belongs.
    pub scope: Scope,
    /// `action` for isolated sessions of Actions.
    pub kind: Option<String>,
    /// The Action's name.
    pub action: Option<String>,
    /// The Action's status.
    pub status: Option<String>,
    /// A title set by somebody.
    pub title: Option<String>,
    /// A title derived from the first words.
    pub summary_title: Option<String>,
    /// The session this one was forked from.
    pub parent_session_id: Option<String>,
    /// Anything else, by key: `agent`, `model`, `turns`, ...
    pub metadata: Map<String, Value>,
    /// Child agents, as they were saved.
    pub agent_jobs: Vec<Value>,
    /// Decisions for the rest of the session.
    pub approval_overrides: Vec<ApprovalOverride>,
}

impl SessionHeader {
    /// The header of a new session.
    pub fn new(id: SessionId, scope: Scope) -> Self {
        Self {
            id,
            scope,
            kind: None,
            action: None,
            status: None,
            title: None,
            summary_title: None,
            parent_session_id: None,
            metadata: Map::new(),
            agent_jobs: Vec::new(),
            approval_overrides: Vec::new(),
        }
    }

    /// The title for lists, if there is one yet.
    pub fn display_title(&self) -> Option<&str> {
        self.title.as_deref().or(self.summary_title.as_deref())
    }

    /// How many turns the session has, if that was noted.
    pub fn turns(&self) -> Option<u64> {
        self.metadata.get("turns")?.as_u64()
    }

    /// The full name of the model that the session is set to or else used last.
    pub fn model(&self) -> Option<&str> {
        let text = |key: &str| self.metadata.get(key)?.as_str();
        text("model").or_else(|| text("last-model"))
    }

    /// Notes for lists how far the session has come: how many turns it has, and the full
    /// name of the model that answered last.
    pub fn note_progress(&mut self, turns: usize, last_model: Option<String>) {
        self.metadata.insert("turns".into(), turns.into());
        if let Some(model) = last_model {
            self.metadata.insert("last-model".into(), model.into());
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("id".into(), self.id.as_str().into());
        object.insert("schema-version".into(), SCHEMA_VERSION.into());
        let mut optional = |key: &str, value: &Option<String>| {
            if let Some(value) = value {
                object.insert(key.into(), value.as_str().into());
            }
        };
        optional("kind", &self.kind);
        optional("action", &self.action);
        optional("status", &self.status);
        optional("title", &self.title);
        optional("parent-session-id", &self.parent_session_id);
        optional("summary-title", &self.summary_title);
        if !self.metadata.is_empty() {
            object.insert("metadata".into(), Value::Object(self.metadata.clone()));
        }
        match &self.scope {
            Scope::Global => {
                object.insert("scope".into(), "global".into());
            }
            Scope::Project(root) => {
                object.insert("scope".into(), "project".into());
                object.insert("project-root".into(), root.as_str().into());
            }
        }
        object.insert("agent-jobs".into(), self.agent_jobs.clone().into());
        let overrides: Vec<Value> = self
            .approval_overrides
            .iter()
            .map(|entry| json!({"tool": entry.tool, "decision": entry.decision.as_str()}))
            .collect();
        object.insert("approval-overrides".into(), overrides.into());
        Value::Object(object)
    }

    /// Reads a header of the current version; unknown fields are refused.
    pub(crate) fn from_json(value: Value) -> Result<Self, ShapeError> {
        let mut fields = Fields::of_object(value)?;
        let id = fields.required_text("id")?;
        if !SessionId::is_legal(&id) {
            return Err(ShapeError::new("id", "is not a session id"));
        }
        let _version = fields.take("schema-version");
        let project_root = fields.optional_text("project-root")?;
        let scope = match (fields.required_text("scope")?.as_str(), project_root) {
            ("global", None) => Scope::Global,
            ("project", Some(root)) => Scope::Project(root),
            ("project", None) => return Err(ShapeError::new("project-root", "is missing")),
            ("global", Some(_)) => {
                return Err(ShapeError::new("project-root", "does not fit scope global"));
            }
            _ => return Err(ShapeError::new("scope", "is neither global nor project")),
        };
        let header = Self {
            id: SessionId::new(id),
            scope,
            kind: fields.optional_text("kind")?,
            action: fields.optional_text("action")?,
            status: fields.optional_text("status")?,
            title: fields.optional_text("title")?,
            summary_title: fields.optional_text("summary-title")?,
            parent_session_id: fields.optional_text("parent-session-id")?,
            metadata: fields.optional_object("metadata")?.unwrap_or_default(),
            agent_jobs: fields.required_array("agent-jobs")?,
            approval_overrides: read_overrides(fields.required_array("approval-overrides")?)?,
        };
        fields.finish()?;
        Ok(header)
    }
}

fn read_overrides(entries: Vec<Value>) -> Result<Vec<ApprovalOverride>, ShapeError> {
    entries
        .into_iter()
        .enumerate()
        .map(|(index, entry)| {
            read_override(entry)
                .map_err(|error| error.below(&format!("approval-overrides[{index}]")))
        })
        .collect()
}

fn read_override(entry: Value) -> Result<ApprovalOverride, ShapeError> {
    let mut fields = Fields::of_object(entry)?;
    let tool = fields.required_text("tool")?;
    let decision = match Decision::parse(&fields.required_text("decision")?) {
        Some(decision @ (Decision::Allow | Decision::Deny)) => decision,
        _ => return Err(ShapeError::new("decision", "is neither allow nor deny")),
    };
    fields.finish()?;
    Ok(ApprovalOverride { tool, decision })
}

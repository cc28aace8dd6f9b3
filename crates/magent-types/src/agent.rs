//! Agent definitions: who answers, with which role prompt and permissions.

use crate::{Effort, PermissionRules, Thinking};

/// Where an agent may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentMode {
    /// As the agent of a session.
    Primary,
    /// As a child of another agent.
    Subagent,
    /// Both.
    All,
}

impl AgentMode {
    /// Returns the name used in agent files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Subagent => "subagent",
            Self::All => "all",
        }
    }

    /// Whether a session may run under this agent.
    pub fn is_primary(self) -> bool {
        matches!(self, Self::Primary | Self::All)
    }
}

/// An agent that sessions and children can run as.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentDefinition {
    /// Unique name, also its mode id in ACP.
    pub name: String,
    /// One line for pickers.
    pub description: String,
    /// Where it may be used.
    pub mode: AgentMode,
    /// Left out of pickers.
    pub hidden: bool,
    /// Sampling temperature, if the agent fixes one.
    pub temperature: Option<f64>,
    /// Nucleus sampling share, if the agent fixes one.
    pub top_p: Option<f64>,
    /// Reasoning effort, if the agent fixes one.
    pub effort: Option<Effort>,
    /// Thinking mode, if the agent fixes one.
    pub thinking: Thinking,
    /// `BACKEND:MODEL` or a model of the default backend, if the agent fixes one.
    pub model: Option<String>,
    /// Role prompt; supplements the system prompt and never replaces it.
    pub prompt: Option<String>,
    /// What the agent may do.
    pub permission: PermissionRules,
}

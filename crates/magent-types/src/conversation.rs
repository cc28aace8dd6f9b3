//! The conversation as a model is to read it, free of any provider's format.

use serde_json::Value;

use crate::CallId;

/// A tool call together with what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolExchange {
    /// The call's id.
    pub call_id: CallId,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub input: Value,
    /// What the model reads of the result.
    pub output: String,
    /// Whether the call failed.
    pub failed: bool,
}

/// One entry of the conversation, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum ConversationEntry {
    /// The user said something.
    User(String),
    /// A sample began.  What follows up to the next user entry or sample is one
    /// answer of the model, so that every request repeats it in the same bytes.
    SampleStart,
    /// The model reasoned.
    Reasoning(String),
    /// The model said something.
    Assistant {
        /// What it said.
        text: String,
        /// Its phase, if known.
        phase: Option<String>,
    },
    /// The model called a tool.
    Tool(ToolExchange),
}

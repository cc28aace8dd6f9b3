//! One request to a model, free of any provider's format.

use magent_types::{ConversationEntry, SamplingParams};
use serde_json::{Value, json};

/// A tool as a provider is told about it.
#[derive(Clone, Debug, PartialEq)]
pub struct WireTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: Value,
}

impl WireTool {
    /// The canonical schema that is kept in a sample's header.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        })
    }
}

/// What is asked of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRequest {
    /// The model's name.
    pub model: String,
    /// The system text.
    pub system: String,
    /// The conversation, ending with what is to be answered.
    pub conversation: Vec<ConversationEntry>,
    /// The tools it may call, in fixed order.
    pub tools: Vec<WireTool>,
    /// Numbers that shape the sample.
    pub params: SamplingParams,
    /// Whether the answer comes in pieces.
    pub stream: bool,
}

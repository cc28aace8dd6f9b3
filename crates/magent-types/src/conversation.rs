//! The conversation as a model is to read it, free of any provider's format.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{CallId, Dialect};

/// What a model is told of a call that never got a result.
pub const UNKNOWN_RESULT: &str = "The call was interrupted. Whether it took effect is unknown.";

/// Where an answer came from.  Its provider's own form means something only there:
/// signatures and encrypted reasoning are refused by any other model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeOrigin {
    /// The protocol.
    pub dialect: Dialect,
    /// The backend's registered name.
    pub backend: String,
    /// Host and port.
    pub host: String,
    /// The model's name.
    pub model: String,
}

impl NativeOrigin {
    /// The origin as a JSON object.
    pub fn to_json(&self) -> Value {
        json!({
            "dialect": self.dialect.as_str(),
            "backend": self.backend,
            "host": self.host,
            "model": self.model,
        })
    }

    /// Reads what [`NativeOrigin::to_json`] wrote.
    pub fn from_json(value: &Value) -> Option<Self> {
        let text = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        Some(Self {
            dialect: Dialect::parse(&text("dialect")?)?,
            backend: text("backend")?,
            host: text("host")?,
            model: text("model")?,
        })
    }
}

/// A whole answer in its provider's own form.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeAnswer {
    /// Where it came from.
    pub origin: NativeOrigin,
    /// The answer, opaque to everything but the dialect's codec.
    pub answer: Value,
}

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

/// A picture that the user showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserImage {
    /// Its name for people.
    pub name: String,
    /// Its media type, such as `image/png`.
    pub mime_type: String,
    /// The name it is kept under.
    pub file: String,
    /// Its bytes in base64, if they are there and the model may see them.
    pub data: Option<Arc<str>>,
}

/// One entry of the conversation, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum ConversationEntry {
    /// The user said something.
    User(String),
    /// The user showed a picture with the words before it.
    Image(UserImage),
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
    /// The whole sample in its provider's own form, before its calls.
    Native(NativeAnswer),
    /// The model called a tool.
    Tool(ToolExchange),
}

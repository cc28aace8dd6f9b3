//! What the runtime and a model say to each other, free of any provider's format.

use serde_json::{Map, Value};

use crate::status::status_type;

status_type!(
    /// How a provider is spoken to.
    Dialect {
        /// OpenAI chat completions and everything compatible with it.
        OpenAiChat = "openai-chat",
        /// OpenAI Responses.
        OpenAiResponses = "openai-responses",
        /// Anthropic Messages.
        Anthropic = "anthropic",
        /// Google Gemini.
        Gemini = "gemini",
        /// Ollama's own protocol.
        Ollama = "ollama",
        /// Whatever gptel speaks to the backend, which is its own business.
        Gptel = "gptel",
    }
);

status_type!(
    /// How much the model should reason.
    Effort {
        /// Least.
        Minimal = "minimal",
        /// Little.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// Much.
        High = "high",
        /// Most.
        XHigh = "xhigh",
    }
);

status_type!(
    /// Whether the model should think before it answers.
    Thinking {
        /// As the provider does by default.
        Auto = "auto",
        /// On.
        Enabled = "enabled",
        /// Off; also suppresses the effort.
        Disabled = "disabled",
    }
);

/// Numbers that shape a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingParams {
    /// Temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling share.
    pub top_p: Option<f64>,
    /// Most tokens of an answer.
    pub max_tokens: Option<u64>,
    /// Reasoning effort.
    pub effort: Option<Effort>,
    /// Thinking mode.
    pub thinking: Thinking,
}

impl Default for SamplingParams {
    fn default() -> Self {
        Self {
            temperature: None,
            top_p: None,
            max_tokens: None,
            effort: None,
            thinking: Thinking::Auto,
        }
    }
}

/// A route as it is kept in a session: names only, never keys or URLs.
#[derive(Clone, Debug, PartialEq)]
pub struct DurableRoute {
    /// The backend's registered name.
    pub backend: String,
    /// The model's name.
    pub model: String,
    /// The numbers used with it.
    pub params: SamplingParams,
}

impl DurableRoute {
    /// The route as a JSON object with the keys of a sample header.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("backend-name".into(), self.backend.clone().into());
        object.insert("model".into(), self.model.clone().into());
        object.insert("temperature".into(), self.params.temperature.into());
        object.insert("top-p".into(), self.params.top_p.into());
        object.insert(
            "effort".into(),
            self.params.effort.map(Effort::as_str).into(),
        );
        object.insert("thinking".into(), self.params.thinking.as_str().into());
        Value::Object(object)
    }
}

/// A model the user registered.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// The backend's name.
    pub backend: String,
    /// The model's name.
    pub model: String,
    /// One line about it.
    pub description: Option<String>,
    /// How many tokens it can read and write in one request.
    pub context_window: Option<u64>,
    /// What it can do, in gptel's words (`tool-use`, `media`, `reasoning`, ...).
    pub capabilities: Vec<String>,
}

impl ModelInfo {
    /// `BACKEND:MODEL`, the name people read and type.
    pub fn full_name(&self) -> String {
        format!("{}:{}", self.backend, self.model)
    }
}

/// Whether a model that is registered with these capabilities has one, which goes by any of
/// these names.  Registries often say nothing, so only a list that names none is a no.
pub fn is_capable(capabilities: &[String], names: &[&str]) -> bool {
    capabilities.is_empty()
        || capabilities
            .iter()
            .any(|name| names.contains(&name.as_str()))
}

/// Tokens of one request, each `None` when the provider did not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read, cached ones included.
    pub input: Option<u64>,
    /// Tokens written, reasoning included.
    pub output: Option<u64>,
    /// Tokens written as reasoning.
    pub reasoning: Option<u64>,
    /// Tokens read from the provider's cache.
    pub cached_read: Option<u64>,
    /// Tokens written to the provider's cache.
    pub cached_write: Option<u64>,
}

impl Usage {
    /// Adds the tokens of another request; unknown plus known is known.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        fn add(left: Option<u64>, right: Option<u64>) -> Option<u64> {
            match (left, right) {
                (None, None) => None,
                (left, right) => Some(left.unwrap_or(0).saturating_add(right.unwrap_or(0))),
            }
        }
        Self {
            input: add(self.input, other.input),
            output: add(self.output, other.output),
            reasoning: add(self.reasoning, other.reasoning),
            cached_read: add(self.cached_read, other.cached_read),
            cached_write: add(self.cached_write, other.cached_write),
        }
    }

    /// What the request and its answer fill of the model's context.
    pub fn in_context(self) -> Option<u64> {
        Some(self.input?.saturating_add(self.output.unwrap_or(0)))
    }

    /// Whether the provider told nothing.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// The tokens as a JSON object; what is unknown is left out, nothing known is null.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        for (key, value) in [
            ("input-tokens", self.input),
            ("output-tokens", self.output),
            ("reasoning-tokens", self.reasoning),
            ("cached-read-tokens", self.cached_read),
            ("cached-write-tokens", self.cached_write),
        ] {
            if let Some(value) = value {
                object.insert(key.into(), value.into());
            }
        }
        if object.is_empty() {
            Value::Null
        } else {
            Value::Object(object)
        }
    }

    /// Reads what [`Usage::to_json`] wrote; anything else is unknown.
    pub fn from_json(value: &Value) -> Self {
        let read = |key: &str| value.get(key).and_then(Value::as_u64);
        Self {
            input: read("input-tokens"),
            output: read("output-tokens"),
            reasoning: read("reasoning-tokens"),
            cached_read: read("cached-read-tokens"),
            cached_write: read("cached-write-tokens"),
        }
    }
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It wants tools to run.
    ToolCalls,
    /// It hit the limit of tokens.
    MaxTokens,
    /// It, or a filter, refused.
    Refusal,
    /// A reason of the provider's own.
    Other(String),
}

impl StopReason {
    /// The name used in sample items.
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end-turn",
            Self::ToolCalls => "tool-calls",
            Self::MaxTokens => "max-tokens",
            Self::Refusal => "refusal",
            Self::Other(name) => name,
        }
    }
}

/// A tool call as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    /// The provider's id; may be empty or repeat.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them: meant to be a JSON object, and
    /// not yet checked to be one.
    pub arguments: String,
}

/// One thing a model said, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// A piece of the answer.
    TextDelta(String),
    /// A piece of reasoning.
    ReasoningDelta(String),
    /// The words since the last such event are a message of their own, to which the
    /// provider gave this phase.  A provider that sends one message leaves this out, unless
    /// it gave the message a phase.
    MessageEnd(Option<String>),
    /// A whole tool call.
    ToolCall(ModelCall),
    /// The whole answer in its provider's own form, if something of it has no other; see
    /// [`NativeAnswer`](crate::NativeAnswer).
    Native(Value),
    /// Tokens used; the last one told counts.
    Usage(Usage),
    /// The end.
    Completed(StopReason),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_tokens_stay_unknown() {
        let known = Usage {
            input: Some(3),
            ..Usage::default()
        };
        let sum = Usage::default().plus(known).plus(known);
        assert_eq!(sum.input, Some(6));
        assert_eq!(sum.output, None);
        assert_eq!(Usage::default().to_json(), Value::Null);
        assert_eq!(Usage::from_json(&sum.to_json()), sum);
    }
}

//! Streams of the OpenAI chat dialect, piece by piece.

use serde_json::{Value, json};

/// Builds one stream.
#[derive(Clone, Debug, Default)]
pub struct ChatStream {
    events: Vec<String>,
}

impl ChatStream {
    /// An empty stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event with this data, whatever it is.
    #[must_use]
    pub fn raw(mut self, data: impl Into<String>) -> Self {
        self.events.push(data.into());
        self
    }

    /// Adds a delta.
    #[must_use]
    pub fn delta(self, delta: &Value) -> Self {
        self.raw(json!({"choices": [{"index": 0, "delta": delta}]}).to_string())
    }

    /// Adds a piece of text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.delta(&json!({"content": text}))
    }

    /// Adds a piece of reasoning.
    #[must_use]
    pub fn reasoning(self, text: &str) -> Self {
        self.delta(&json!({"reasoning_content": text}))
    }

    /// Adds a whole call, its arguments in two pieces.
    #[must_use]
    pub fn call(self, index: u64, id: &str, name: &str, arguments: &Value) -> Self {
        let text = arguments.to_string();
        let mut middle = text.len() / 2;
        while !text.is_char_boundary(middle) {
            middle += 1;
        }
        let (head, tail) = text.split_at(middle);
        self.delta(
            &json!({"tool_calls": [{"index": index, "id": id, "type": "function",
            "function": {"name": name, "arguments": head}}]}),
        )
        .delta(&json!({"tool_calls": [{"index": index, "function": {"arguments": tail}}]}))
    }

    /// Adds the finish reason.
    #[must_use]
    pub fn finish(self, reason: &str) -> Self {
        self.raw(
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string(),
        )
    }

    /// Adds the usage, in a last event of its own.
    #[must_use]
    pub fn usage(self, input: u64, output: u64) -> Self {
        self.raw(
            json!({"choices": [], "usage": {"prompt_tokens": input, "completion_tokens": output}})
                .to_string(),
        )
    }

    /// Adds the end marker.
    #[must_use]
    pub fn done(self) -> Self {
        self.raw("[DONE]")
    }

    /// A whole answer of one text.
    pub fn answer(text: &str) -> Self {
        Self::new().text(text).finish("stop").usage(10, 5).done()
    }

    /// A whole answer of one call.
    pub fn calling(id: &str, name: &str, arguments: &Value) -> Self {
        Self::new()
            .call(0, id, name, arguments)
            .finish("tool_calls")
            .usage(10, 5)
            .done()
    }

    /// The events' data.
    pub fn events(&self) -> &[String] {
        &self.events
    }

    /// The stream's bytes with the given line end.
    pub fn bytes(&self, line_end: &str) -> Vec<u8> {
        let mut text = String::new();
        for event in &self.events {
            text.push_str("data: ");
            text.push_str(event);
            text.push_str(line_end);
            text.push_str(line_end);
        }
        text.into_bytes()
    }
}

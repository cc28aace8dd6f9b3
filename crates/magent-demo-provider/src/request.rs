//! A chat request, reduced to what a script can react to.

use std::fmt;

use serde_json::Value;

/// What ends the conversation in a request to sum it up.
const END_OF_QUOTE: &str = "</conversation>";

/// The model that answers if none is named.
pub(crate) const DEFAULT_MODEL: &str = "demo-1";

/// What a client asks.
#[derive(Clone, Debug)]
pub(crate) struct ChatRequest {
    /// The model it names; any name will do.
    pub(crate) model: String,
    /// Whether it wants the answer bit by bit.
    pub(crate) stream: bool,
    /// Whether it wants the usage at the end of a stream.
    pub(crate) include_usage: bool,
    /// The characters of the whole request.
    pub(crate) size: usize,
    /// The characters of it that the request before it had, too.
    pub(crate) known: usize,
    tools: Vec<String>,
    messages: Vec<Message>,
}

/// A message of the conversation.
#[derive(Clone, Debug)]
struct Message {
    role: Role,
    text: String,
    calls: Vec<CallMade>,
    /// The call that a tool's message answers.
    answers: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
    Tool,
    /// The system's, and whatever else there may be.
    Other,
}

#[derive(Clone, Debug)]
struct CallMade {
    id: String,
    name: String,
}

/// A request that is no chat request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadRequest {
    /// It is no JSON.
    NotJson,
    /// It has no messages.
    NoMessages,
}

impl fmt::Display for BadRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotJson => "the body is not JSON",
            Self::NoMessages => "the body needs an array \"messages\" that is not empty",
        })
    }
}

impl ChatRequest {
    /// Reads a request's body.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, BadRequest> {
        let body: Value = serde_json::from_slice(body).map_err(|_| BadRequest::NotJson)?;
        let messages = body
            .get("messages")
            .and_then(Value::as_array)
            .filter(|messages| !messages.is_empty())
            .ok_or(BadRequest::NoMessages)?;
        let size = characters(&body);
        let told = messages.iter().rposition(|m| role(m) == Role::Assistant);
        // The answer before the last was made from everything before it.
        let known = told.map_or(0, |told| {
            let new: usize = messages.iter().skip(told).map(characters).sum();
            size.saturating_sub(new)
        });
        Ok(Self {
            model: text_at(&body, "model").unwrap_or(DEFAULT_MODEL).to_owned(),
            stream: body.get("stream").and_then(Value::as_bool) == Some(true),
            include_usage: body
                .pointer("/stream_options/include_usage")
                .and_then(Value::as_bool)
                == Some(true),
            size,
            known,
            tools: list(&body, "tools").filter_map(tool_name).collect(),
            messages: messages.iter().map(Message::read).collect(),
        })
    }

    /// Whether a tool is offered.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|offered| offered == tool)
    }

    /// The newest prompt.  What it quotes of a conversation is nothing to do.
    pub(crate) fn prompt(&self) -> &str {
        let text = self.newest_text();
        text.rsplit_once(END_OF_QUOTE)
            .map_or(text, |(_, rest)| rest)
    }

    /// Whether a conversation is quoted, to be summed up.
    pub(crate) fn quotes_conversation(&self) -> bool {
        self.newest_text().contains(END_OF_QUOTE)
    }

    fn newest_text(&self) -> &str {
        let prompt = self.last_prompt().and_then(|at| self.messages.get(at));
        prompt.map_or("", |message| &message.text)
    }

    /// The prompts before the newest.
    pub(crate) fn earlier_prompts(&self) -> impl Iterator<Item = &str> {
        let before = self.last_prompt().unwrap_or(0);
        self.messages
            .iter()
            .take(before)
            .filter(|message| message.role == Role::User)
            .map(|message| message.text.as_str())
    }

    /// The steps with calls that the model has made since the newest prompt.
    pub(crate) fn steps_done(&self) -> usize {
        self.turn().filter(|m| !m.calls.is_empty()).count()
    }

    /// The tools called since the newest prompt, in order, each with its result.
    pub(crate) fn calls_done(&self) -> impl Iterator<Item = (&str, &str)> {
        self.turn().flat_map(|message| &message.calls).map(|call| {
            let result = self.turn().find(|m| m.answers == call.id && m.is_result());
            let text = result.map_or("", |message| message.text.as_str());
            (call.name.as_str(), text)
        })
    }

    /// The results of tools since the newest prompt.
    pub(crate) fn turn_results(&self) -> impl Iterator<Item = &str> {
        results(self.turn())
    }

    /// The results of tools in the whole conversation.
    pub(crate) fn all_results(&self) -> impl DoubleEndedIterator<Item = &str> {
        results(self.messages.iter())
    }

    fn last_prompt(&self) -> Option<usize> {
        self.messages.iter().rposition(|m| m.role == Role::User)
    }

    /// The messages since the newest prompt.
    fn turn(&self) -> impl DoubleEndedIterator<Item = &Message> {
        let start = self.last_prompt().map_or(0, |at| at + 1);
        self.messages.iter().skip(start)
    }
}

fn results<'a>(
    messages: impl DoubleEndedIterator<Item = &'a Message>,
) -> impl DoubleEndedIterator<Item = &'a str> {
    messages
        .filter(|message| message.is_result())
        .map(|message| message.text.as_str())
}

impl Message {
    fn read(message: &Value) -> Self {
        let role = role(message);
        let calls = match role {
            Role::Assistant => list(message, "tool_calls").map(CallMade::read).collect(),
            Role::User | Role::Tool | Role::Other => Vec::new(),
        };
        Self {
            role,
            text: content(message),
            calls,
            answers: owned_text(message, "tool_call_id"),
        }
    }

    fn is_result(&self) -> bool {
        self.role == Role::Tool
    }
}

impl CallMade {
    fn read(call: &Value) -> Self {
        let function = call.get("function").unwrap_or(&Value::Null);
        Self {
            id: owned_text(call, "id"),
            name: owned_text(function, "name"),
        }
    }
}

fn role(message: &Value) -> Role {
    match text_at(message, "role") {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Tool,
        _ => Role::Other,
    }
}

/// Content is a text, or a list of parts, some of which are texts.
fn content(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| text_at(part, "text"))
            .collect(),
        _ => String::new(),
    }
}

fn tool_name(tool: &Value) -> Option<String> {
    text_at(tool.get("function")?, "name").map(str::to_owned)
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    let entries = value.get(key).and_then(Value::as_array);
    entries.into_iter().flatten()
}

fn text_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

fn owned_text(value: &Value, key: &str) -> String {
    text_at(value, key).unwrap_or_default().to_owned()
}

fn characters(value: &Value) -> usize {
    value.to_string().chars().count()
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;

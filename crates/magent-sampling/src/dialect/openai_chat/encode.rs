//! The request's body.

use magent_types::{ConversationEntry, Thinking, ToolExchange};
use serde_json::{Map, Value, json};

use crate::{Route, SampleRequest};

pub(super) fn body(route: &Route, request: &SampleRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    body.insert("messages".into(), messages(route, request).into());
    body.insert("stream".into(), request.stream.into());
    if request.stream {
        // Without it most servers tell no usage at all for a stream.
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({"type": "function", "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                }})
            })
            .collect();
        body.insert("tools".into(), tools.into());
    }
    let params = &request.params;
    let mut number = |key: &str, value: Option<f64>| {
        if let Some(value) = value {
            body.insert(key.into(), value.into());
        }
    };
    number("temperature", params.temperature);
    number("top_p", params.top_p);
    if let Some(most) = params.max_tokens {
        body.insert("max_tokens".into(), most.into());
    }
    if let (Some(effort), true) = (params.effort, params.thinking != Thinking::Disabled) {
        body.insert("reasoning_effort".into(), effort.as_str().into());
    }
    for (key, value) in &route.extra {
        body.insert(key.clone(), value.clone());
    }
    Value::Object(body)
}

fn messages(route: &Route, request: &SampleRequest) -> Vec<Value> {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    let mut answer = Answer::default();
    for entry in &request.conversation {
        match entry {
            ConversationEntry::User(text) => {
                answer.flush(&mut messages);
                messages.push(json!({"role": "user", "content": text}));
            }
            ConversationEntry::SampleStart => answer.flush(&mut messages),
            ConversationEntry::Reasoning(text) => {
                if wants_reasoning(route) {
                    answer.reasoning.push_str(text);
                }
            }
            ConversationEntry::Assistant { text, .. } => answer.say(text, &mut messages),
            ConversationEntry::Tool(tool) => answer.tools.push(tool),
        }
    }
    answer.flush(&mut messages);
    messages
}

/// DeepSeek refuses the next request of a tool turn unless its reasoning comes back;
/// others refuse the field itself.
fn wants_reasoning(route: &Route) -> bool {
    route.host().contains("deepseek") || route.model.contains("deepseek")
}

/// What a model said in one sample: at most one message, then the results of its calls.
#[derive(Default)]
struct Answer<'a> {
    text: String,
    reasoning: String,
    tools: Vec<&'a ToolExchange>,
}

impl Answer<'_> {
    fn say(&mut self, text: &str, messages: &mut Vec<Value>) {
        // Words after a call begin a new message: in one message words come first.
        if !self.tools.is_empty() {
            self.flush(messages);
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(text);
    }

    fn flush(&mut self, messages: &mut Vec<Value>) {
        let answer = std::mem::take(self);
        if answer.text.is_empty() && answer.tools.is_empty() {
            return;
        }
        let mut message = Map::new();
        message.insert("role".into(), "assistant".into());
        let content = if answer.text.is_empty() {
            Value::Null
        } else {
            answer.text.into()
        };
        message.insert("content".into(), content);
        if !answer.tools.is_empty() {
            // The reasoning belongs to the call; of a finished answer it is not wanted.
            if !answer.reasoning.is_empty() {
                message.insert("reasoning_content".into(), answer.reasoning.into());
            }
            let calls: Vec<Value> = answer.tools.iter().map(|tool| call(tool)).collect();
            message.insert("tool_calls".into(), calls.into());
        }
        messages.push(Value::Object(message));
        for tool in answer.tools {
            messages.push(json!({
                "role": "tool",
                "tool_call_id": tool.call_id.as_str(),
                "content": tool.output,
            }));
        }
    }
}

fn call(tool: &ToolExchange) -> Value {
    // Arguments that were no JSON are kept as the text they were; a server gets an
    // object in any case, since some refuse the whole request otherwise.
    let arguments = match &tool.input {
        Value::Object(_) => tool.input.to_string(),
        Value::Null => "{}".to_owned(),
        other => json!({"invalid_arguments": other}).to_string(),
    };
    json!({
        "id": tool.call_id.as_str(),
        "type": "function",
        "function": {"name": tool.name, "arguments": arguments},
    })
}

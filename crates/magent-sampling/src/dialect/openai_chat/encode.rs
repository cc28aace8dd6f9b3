//! The request's body.

use magent_types::ToolExchange;
use serde_json::{Map, Value, json};

use super::{CALLS, EXTRA_CONTENT, REASONING_CONTENT, REASONING_DETAILS, thinking};
use crate::dialect::speech::{Answer, Speech, Words, call_input, call_name, data_url, speeches};
use crate::dialect::wire::{insert_extra, insert_functions, insert_sampling};
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
    insert_functions(&mut body, &request.tools);
    let params = &request.params;
    insert_sampling(&mut body, params);
    if let Some(most) = params.max_tokens {
        body.insert("max_tokens".into(), most.into());
    }
    thinking::insert(&mut body, route, params);
    insert_extra(&mut body, route);
    Value::Object(body)
}

fn messages(route: &Route, request: &SampleRequest) -> Vec<Value> {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for speech in speeches(route, &request.conversation) {
        match speech {
            Speech::User(words) => {
                messages.push(json!({"role": "user", "content": content(&words)}));
            }
            Speech::Model(answer) => push_answer(route, &answer, &mut messages),
        }
    }
    messages
}

/// A text where that will do: many servers take nothing else.
fn content(words: &Words<'_>) -> Value {
    let told = words.told();
    let mut parts: Vec<Value> = words
        .pictures()
        .map(|(image, data)| {
            json!({"type": "image_url", "image_url": {"url": data_url(image, data)}})
        })
        .collect();
    if parts.is_empty() {
        return told.as_ref().into();
    }
    if !told.is_empty() {
        parts.insert(0, json!({"type": "text", "text": told}));
    }
    parts.into()
}

/// DeepSeek refuses the next request of a tool turn unless its reasoning comes back;
/// others refuse the field itself.
pub(super) fn wants_reasoning(route: &Route) -> bool {
    route.host().contains("deepseek") || route.model.contains("deepseek")
}

/// One message for the answer, then one for each result.
fn push_answer(route: &Route, answer: &Answer<'_>, messages: &mut Vec<Value>) {
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    let content = if answer.text.is_empty() {
        Value::Null
    } else {
        answer.text.as_str().into()
    };
    message.insert("content".into(), content);
    let native = |key: &str| answer.native.and_then(|native| native.get(key));
    if let Some(details) = native(REASONING_DETAILS) {
        message.insert(REASONING_DETAILS.into(), details.clone());
    }
    if !answer.tools.is_empty() {
        // The reasoning belongs to the call; of a finished answer it is not wanted.
        if let Some(reasoning) = native(REASONING_CONTENT) {
            message.insert(REASONING_CONTENT.into(), reasoning.clone());
        } else if wants_reasoning(route) && !answer.reasoning.is_empty() {
            message.insert(REASONING_CONTENT.into(), answer.reasoning.as_str().into());
        }
        let extras = native(CALLS);
        let calls: Vec<Value> = answer
            .tools
            .iter()
            .enumerate()
            .map(|(index, tool)| call(tool, extras.and_then(|extras| extras.get(index))))
            .collect();
        message.insert("tool_calls".into(), calls.into());
    }
    if answer.text.is_empty() && answer.tools.is_empty() {
        // Nothing but a native form, which says nothing on its own.
        return;
    }
    messages.push(Value::Object(message));
    for tool in &answer.tools {
        messages.push(json!({
            "role": "tool",
            "tool_call_id": tool.call_id.as_str(),
            "content": tool.output,
        }));
    }
}

/// A call, with the fields of the provider's own in `extra`.
fn call(tool: &ToolExchange, extra: Option<&Value>) -> Value {
    let mut call = json!({
        "id": tool.call_id.as_str(),
        "type": "function",
        "function": {"name": call_name(&tool.name), "arguments": call_input(tool).to_string()},
    });
    if let Some(extra) = extra.filter(|extra| !extra.is_null()) {
        call[EXTRA_CONTENT] = extra.clone();
    }
    call
}

//! The request's body.

use serde_json::{Map, Value, json};

use super::thinking;
use crate::dialect::speech::{Answer, Speech, Words, call_input, call_name, mend_name, speeches};
use crate::dialect::wire::{insert_functions, insert_sampling, merge_extra};
use crate::{Route, SampleRequest};

pub(super) fn body(route: &Route, request: &SampleRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    body.insert("messages".into(), messages(route, request).into());
    insert_functions(&mut body, &request.tools);
    // Without it the server streams.
    body.insert("stream".into(), request.stream.into());
    let params = &request.params;
    if let Some(think) = thinking::think(route, params) {
        body.insert("think".into(), think);
    }
    let mut options = Map::new();
    insert_sampling(&mut options, params);
    if let Some(most) = params.max_tokens {
        options.insert("num_predict".into(), most.into());
    }
    if !options.is_empty() {
        body.insert("options".into(), options.into());
    }
    merge_extra(&mut body, route);
    Value::Object(body)
}

fn messages(route: &Route, request: &SampleRequest) -> Vec<Value> {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for speech in speeches(route, &request.conversation) {
        match speech {
            Speech::User(words) => messages.push(user(&words)),
            Speech::Model(answer) => match answer.native {
                Some(message) => push_native(&answer, message, &mut messages),
                None => push_portable(&answer, &mut messages),
            },
        }
    }
    messages
}

fn user(words: &Words<'_>) -> Value {
    let mut message = json!({"role": "user", "content": words.told()});
    let images: Vec<&str> = words.pictures().map(|(_, data)| data).collect();
    if !images.is_empty() {
        message["images"] = images.into();
    }
    message
}

/// The answer as it came, and a result for each of its calls.
fn push_native(answer: &Answer<'_>, message: &Value, messages: &mut Vec<Value>) {
    let mut told = message.clone();
    let calls = told.get_mut("tool_calls").and_then(Value::as_array_mut);
    for call in calls.into_iter().flatten() {
        if let Some(Value::Object(function)) = call.get_mut("function") {
            mend_name(function);
        }
    }
    messages.push(told);
    let calls = message.get("tool_calls").and_then(Value::as_array);
    for (index, call) in calls.into_iter().flatten().enumerate() {
        let name = call.pointer("/function/name").and_then(Value::as_str);
        let mut result = result(name.unwrap_or_default(), answer.output(index));
        // Versions that give ids to calls also pair results by them.
        if let Some(id) = call.get("id") {
            result["tool_call_id"] = id.clone();
        }
        messages.push(result);
    }
}

fn push_portable(answer: &Answer<'_>, messages: &mut Vec<Value>) {
    let mut message = json!({"role": "assistant", "content": answer.text});
    if !answer.tools.is_empty() {
        let calls = answer.tools.iter().map(|tool| {
            let function = json!({"name": call_name(&tool.name), "arguments": call_input(tool)});
            json!({"function": function})
        });
        message["tool_calls"] = calls.collect();
    }
    messages.push(message);
    for tool in &answer.tools {
        messages.push(result(&tool.name, &tool.output));
    }
}

fn result(name: &str, output: &str) -> Value {
    json!({"role": "tool", "tool_name": call_name(name), "content": output})
}

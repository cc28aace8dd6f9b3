//! The request's body.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::fields::real_text;
use super::item::Kind;
use super::thinking;
use crate::dialect::speech::{
    Answer, Speech, Words, call_input, call_name, data_url, mend_name, speeches,
};
use crate::dialect::wire::{insert_extra, insert_sampling};
use crate::{Route, SampleRequest};

pub(super) fn body(route: &Route, request: &SampleRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    if !request.system.is_empty() {
        body.insert("instructions".into(), request.system.as_str().into());
    }
    body.insert("input".into(), input(route, request).into());
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    // Without it the provider rewrites the schema and makes every
                    // argument a required one.
                    "strict": false,
                })
            })
            .collect();
        body.insert("tools".into(), tools.into());
    }
    body.insert("stream".into(), request.stream.into());
    body.insert("store".into(), false.into());
    // What is not stored can be reasoned on only if it is told again.
    body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    let params = &request.params;
    insert_sampling(&mut body, params);
    if let Some(most) = params.max_tokens {
        body.insert("max_output_tokens".into(), most.into());
    }
    if let Some(reasoning) = thinking::reasoning(params) {
        body.insert("reasoning".into(), reasoning);
    }
    insert_extra(&mut body, route);
    Value::Object(body)
}

fn input(route: &Route, request: &SampleRequest) -> Vec<Value> {
    let mut input = Vec::new();
    for speech in speeches(route, &request.conversation) {
        match speech {
            Speech::User(words) => input.extend(user(&words)),
            Speech::Model(answer) => match native_items(&answer) {
                Some(items) => input.extend(items),
                None => push_portable(&answer, &mut input),
            },
        }
    }
    input
}

fn user(words: &Words<'_>) -> Option<Value> {
    let told = words.told();
    let mut content = Vec::new();
    if !told.is_empty() {
        content.push(json!({"type": "input_text", "text": told}));
    }
    content.extend(words.pictures().map(|(image, data)| {
        json!({"type": "input_image", "image_url": data_url(image, data), "detail": "auto"})
    }));
    let is_empty = content.is_empty();
    (!is_empty).then(|| json!({"type": "message", "role": "user", "content": content}))
}

/// A message for the words, the calls, then the results.
fn push_portable(answer: &Answer<'_>, input: &mut Vec<Value>) {
    if !answer.text.is_empty() {
        input.push(json!({
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": answer.text, "annotations": []}],
        }));
    }
    for tool in &answer.tools {
        input.push(json!({
            "type": "function_call",
            "call_id": tool.call_id.as_str(),
            "name": call_name(&tool.name),
            "arguments": call_input(tool).to_string(),
        }));
    }
    for tool in &answer.tools {
        input.push(call_output(tool.call_id.as_str(), &tool.output));
    }
}

fn call_output(call_id: &str, output: &str) -> Value {
    json!({"type": "function_call_output", "call_id": call_id, "output": output})
}

/// The answer as its provider gave it, with the results of its calls.  None if it has no
/// such form or the provider would refuse it: then the portable form says as much.
fn native_items(answer: &Answer<'_>) -> Option<Vec<Value>> {
    let mut items = Vec::new();
    let mut call_ids = Vec::new();
    let mut last_words = 0;
    for item in answer.native?.as_array()? {
        let kind = Kind::of(item);
        let Some(fields) = item.as_object().filter(|_| wanted(kind, item)) else {
            continue;
        };
        if kind == Some(Kind::Call) {
            call_ids.push(real_text(item, "call_id")?);
        }
        let mut kept: Map<String, Value> = fields
            .iter()
            .filter(|(key, _)| match key.as_str() {
                "status" => false,
                // Nothing was stored under the id; only reasoning is known by it.
                "id" => kind == Some(Kind::Reasoning),
                _ => true,
            })
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if kind == Some(Kind::Call) {
            mend_name(&mut kept);
        }
        items.push(Value::Object(kept));
        if kind != Some(Kind::Reasoning) {
            last_words = items.len();
        }
    }
    // Reasoning is refused unless what it led to follows it.
    items.truncate(last_words);
    let distinct: BTreeSet<&str> = call_ids.iter().copied().collect();
    let answers_each = distinct.len() == call_ids.len() && call_ids.len() >= answer.tools.len();
    if items.is_empty() || !answers_each {
        return None;
    }
    let outputs = call_ids.iter().enumerate();
    items.extend(outputs.map(|(index, id)| call_output(id, answer.output(index))));
    Some(items)
}

/// Whether an item can be told again: results are told apart from the answer, and
/// reasoning that is not encrypted was stored nowhere.
fn wanted(kind: Option<Kind>, item: &Value) -> bool {
    if kind == Some(Kind::Reasoning) {
        return real_text(item, "encrypted_content").is_some();
    }
    real_text(item, "type") != Some("function_call_output")
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;

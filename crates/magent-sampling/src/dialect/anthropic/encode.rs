//! The request's body.

use magent_types::ToolExchange;
use serde_json::{Map, Value, json};

use super::thinking;
use crate::dialect::speech::{Answer, Speech, Words, call_input, call_name, mend_name, speeches};
use crate::dialect::wire::{insert_extra, insert_sampling};
use crate::{Route, SampleRequest};

pub(super) fn body(route: &Route, request: &SampleRequest) -> Value {
    let mut body = Map::new();
    let params = &request.params;
    let max_tokens = params
        .max_tokens
        .unwrap_or_else(|| usual_max_tokens(&request.model));
    body.insert("model".into(), request.model.as_str().into());
    body.insert("max_tokens".into(), max_tokens.into());
    if !request.system.is_empty() {
        let text = json!({"type": "text", "text": request.system, "cache_control": cached()});
        body.insert("system".into(), json!([text]));
    }
    body.insert("messages".into(), messages(route, request).into());
    if !request.tools.is_empty() {
        body.insert("tools".into(), tools(request).into());
    }
    body.insert("stream".into(), request.stream.into());
    let thinks = thinking::insert(&mut body, &request.model, params, max_tokens);
    // A thinking model takes no other temperature than its own.
    if !thinks {
        insert_sampling(&mut body, params);
    }
    insert_extra(&mut body, route);
    Value::Object(body)
}

/// The API wants a limit, and refuses one that is beyond the model.
fn usual_max_tokens(model: &str) -> u64 {
    let has = |part: &str| model.contains(part);
    if has("claude-3-5") || has("claude-3-7") {
        8_192
    } else if has("claude-3") || has("claude-2") {
        4_096
    } else {
        32_000
    }
}

/// Marks where the provider may end what it keeps of a request for the next one.
fn cached() -> Value {
    json!({"type": "ephemeral"})
}

fn tools(request: &SampleRequest) -> Vec<Value> {
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.parameters,
            })
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        last["cache_control"] = cached();
    }
    tools
}

fn messages(route: &Route, request: &SampleRequest) -> Vec<Value> {
    let mut messages = Messages::default();
    for speech in speeches(route, &request.conversation) {
        match speech {
            Speech::User(words) => messages.user(&words),
            Speech::Model(answer) => match answer.native.and_then(Value::as_array) {
                Some(blocks) => messages.native(&answer, blocks),
                None => messages.portable(&answer),
            },
        }
    }
    messages.finish()
}

/// Messages with the roles in turn, as the API wants them.
#[derive(Default)]
struct Messages(Vec<(&'static str, Vec<Value>)>);

impl Messages {
    fn push(&mut self, role: &'static str, block: Value) {
        match self.0.last_mut() {
            Some((last, blocks)) if *last == role => blocks.push(block),
            _ => self.0.push((role, vec![block])),
        }
    }

    /// The API refuses texts without a visible character.
    fn text(&mut self, role: &'static str, text: &str) {
        if !text.trim().is_empty() {
            self.push(role, json!({"type": "text", "text": text}));
        }
    }

    /// Pictures before the words about them, as the API recommends.
    fn user(&mut self, words: &Words<'_>) {
        for (image, data) in words.pictures() {
            let source = json!({"type": "base64", "media_type": image.mime_type, "data": data});
            self.push("user", json!({"type": "image", "source": source}));
        }
        self.text("user", &words.told());
    }

    fn portable(&mut self, answer: &Answer<'_>) {
        self.text("assistant", &answer.text);
        for tool in &answer.tools {
            self.push("assistant", tool_use(tool));
        }
        for tool in &answer.tools {
            self.result(&plain_id(tool.call_id.as_str()), &tool.output, tool.failed);
        }
    }

    /// The answer as it came, and a result for each of its calls.
    fn native(&mut self, answer: &Answer<'_>, blocks: &[Value]) {
        let mut ids = Vec::new();
        for block in blocks {
            let mut block = block.clone();
            if let Some(call) = block.as_object_mut().filter(|block| is_call(block)) {
                mend_name(call);
                ids.push(mend_id(call, answer, ids.len()));
            }
            self.push("assistant", block);
        }
        for (index, id) in ids.iter().enumerate() {
            self.result(id, answer.output(index), answer.failed(index));
        }
    }

    fn result(&mut self, id: &str, output: &str, failed: bool) {
        let mut result = json!({"type": "tool_result", "tool_use_id": id});
        if !output.is_empty() {
            result["content"] = output.into();
        }
        if failed {
            result["is_error"] = true.into();
        }
        self.push("user", result);
    }

    /// Marks the last two user messages: the one before ended the last request, so it can
    /// be read back, and the newest is what the next request will read back.
    fn finish(mut self) -> Vec<Value> {
        let users = self.0.iter_mut().rev().filter(|(role, _)| *role == "user");
        for (_, blocks) in users.take(2) {
            if let Some(block) = blocks.last_mut() {
                block["cache_control"] = cached();
            }
        }
        self.0
            .into_iter()
            .map(|(role, content)| json!({"role": role, "content": content}))
            .collect()
    }
}

fn tool_use(tool: &ToolExchange) -> Value {
    json!({
        "type": "tool_use",
        "id": plain_id(tool.call_id.as_str()),
        "name": call_name(&tool.name),
        "input": call_input(tool),
    })
}

fn is_call(block: &Map<String, Value>) -> bool {
    block.get("type").and_then(Value::as_str) == Some("tool_use")
}

/// Gives the call at `index` of an answer an id that the API takes back, and returns it.
fn mend_id(call: &mut Map<String, Value>, answer: &Answer<'_>, index: usize) -> String {
    let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
    let ours = answer.tools.get(index).map(|tool| tool.call_id.as_str());
    let plain = match (id, ours) {
        ("", Some(ours)) => plain_id(ours),
        _ => plain_id(id),
    };
    if plain != id {
        call.insert("id".into(), plain.as_str().into());
    }
    plain
}

/// Ids of other providers may have characters that this one refuses.
fn plain_id(id: &str) -> String {
    id.chars()
        .map(|character| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
            _ => '_',
        })
        .collect()
}

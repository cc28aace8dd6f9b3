//! The conversation as contents: who said what, in parts.

use magent_types::ConversationEntry;
use serde_json::{Map, Value, json};

use crate::Route;
use crate::dialect::speech::{Answer, Speech, Words, call_input, call_name, mend_name, speeches};

pub(super) fn contents(route: &Route, conversation: &[ConversationEntry]) -> Vec<Value> {
    let mut contents = Contents::default();
    for speech in speeches(route, conversation) {
        match speech {
            Speech::User(words) => contents.user(&words),
            Speech::Model(answer) => match answer.native.and_then(Value::as_array) {
                Some(parts) => contents.native(&answer, parts),
                None => contents.portable(&answer),
            },
        }
    }
    contents.finish()
}

/// Contents with the roles in turn.  All results of an answer's calls stand together after
/// it, since the API refuses calls and results that take turns.
#[derive(Default)]
struct Contents(Vec<(&'static str, Vec<Value>)>);

impl Contents {
    fn push(&mut self, role: &'static str, part: Value) {
        match self.0.last_mut() {
            Some((last, parts)) if *last == role => parts.push(part),
            _ => self.0.push((role, vec![part])),
        }
    }

    /// A part without a text says nothing, and is refused by some models.
    fn text(&mut self, role: &'static str, text: &str) {
        if !text.trim().is_empty() {
            self.push(role, json!({"text": text}));
        }
    }

    /// Pictures before the words about them, as the API recommends.
    fn user(&mut self, words: &Words<'_>) {
        for (image, data) in words.pictures() {
            let picture = json!({"mimeType": image.mime_type, "data": data});
            self.push("user", json!({"inlineData": picture}));
        }
        self.text("user", &words.told());
    }

    /// Calls of elsewhere have no ids: those are the API's own, and without them results
    /// belong to calls by their order.
    fn portable(&mut self, answer: &Answer<'_>) {
        self.text("model", &answer.text);
        for tool in &answer.tools {
            let call = json!({"name": call_name(&tool.name), "args": call_input(tool)});
            self.push("model", json!({"functionCall": call}));
        }
        for tool in &answer.tools {
            self.result(None, &tool.name, &tool.output, tool.failed);
        }
    }

    /// The answer as it came, and a result for each of its calls.
    fn native(&mut self, answer: &Answer<'_>, parts: &[Value]) {
        for part in parts {
            let mut part = part.clone();
            if let Some(Value::Object(call)) = part.get_mut("functionCall") {
                mend_name(call);
            }
            self.push("model", part);
        }
        let calls = parts.iter().filter_map(|part| part.get("functionCall"));
        for (index, call) in calls.enumerate() {
            let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
            let output = answer.output(index);
            self.result(call.get("id"), name, output, answer.failed(index));
        }
    }

    fn result(&mut self, id: Option<&Value>, name: &str, output: &str, failed: bool) {
        let mut result = Map::new();
        if let Some(id) = id {
            result.insert("id".into(), id.clone());
        }
        result.insert("name".into(), call_name(name).into_owned().into());
        let key = if failed { "error" } else { "result" };
        result.insert("response".into(), json!({key: output}));
        self.push("user", json!({"functionResponse": result}));
    }

    fn finish(self) -> Vec<Value> {
        self.0
            .into_iter()
            .map(|(role, parts)| json!({"role": role, "parts": parts}))
            .collect()
    }
}

//! The message of an answer while it grows.

use magent_types::{ModelCall, ModelEvent};
use serde_json::{Map, Value};

use crate::dialect::speech::arguments_object;
use crate::dialect::wire::arguments_text;

/// What was said so far.
#[derive(Default)]
pub(super) struct Message {
    content: String,
    thinking: String,
    native_calls: Vec<Value>,
    calls: Vec<ModelCall>,
}

impl Message {
    /// Takes a piece, and tells what it says.  The error is what is wrong with it.
    pub(super) fn take(&mut self, piece: &Value, out: &mut Vec<ModelEvent>) -> Result<(), String> {
        let text = |key: &str| piece.get(key).and_then(Value::as_str).unwrap_or_default();
        let list = |key: &str| piece.get(key).and_then(Value::as_array);
        if !text("thinking").is_empty() {
            self.thinking.push_str(text("thinking"));
            out.push(ModelEvent::ReasoningDelta(text("thinking").to_owned()));
        }
        if !text("content").is_empty() {
            self.content.push_str(text("content"));
            out.push(ModelEvent::TextDelta(text("content").to_owned()));
        }
        for call in list("tool_calls").into_iter().flatten() {
            let read = read_call(call)?;
            self.native_calls.push(native_call(call, &read));
            self.calls.push(read);
        }
        if list("images").is_some_and(|images| !images.is_empty()) {
            return Err("a picture, which nobody asked for".to_owned());
        }
        Ok(())
    }

    /// How many calls there are so far.
    pub(super) fn size(&self) -> usize {
        self.calls.len()
    }

    /// All calls, and the message as the server takes it back.  Words alone are the same
    /// for everybody.
    pub(super) fn finish(&mut self) -> (Vec<ModelCall>, Option<Value>) {
        let this = std::mem::take(self);
        if this.thinking.is_empty() && this.calls.is_empty() {
            return (this.calls, None);
        }
        let mut message = Map::new();
        message.insert("role".into(), "assistant".into());
        message.insert("content".into(), this.content.into());
        if !this.thinking.is_empty() {
            message.insert("thinking".into(), this.thinking.into());
        }
        if !this.native_calls.is_empty() {
            message.insert("tool_calls".into(), this.native_calls.into());
        }
        (this.calls, Some(message.into()))
    }
}

/// Calls come whole.  Older versions give no ids; the runtime does then.
fn read_call(call: &Value) -> Result<ModelCall, String> {
    let function = call.get("function").unwrap_or(&Value::Null);
    let text = |holder: &Value, key: &str| {
        let text = holder.get(key).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let name = text(function, "name");
    if name.is_empty() {
        return Err("a call without a name".to_owned());
    }
    Ok(ModelCall {
        id: text(call, "id"),
        name,
        arguments: arguments_text(function.get("arguments")),
    })
}

/// The call with arguments that the server takes back.
fn native_call(call: &Value, read: &ModelCall) -> Value {
    let mut call = call.clone();
    if let Some(Value::Object(function)) = call.get_mut("function") {
        let arguments = function.entry("arguments").or_insert(Value::Null);
        if !arguments.is_object() {
            *arguments = arguments_object(&read.arguments);
        }
    }
    call
}

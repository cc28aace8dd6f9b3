//! The parts of an answer.

use magent_types::{ModelCall, ModelEvent};
use serde_json::Value;

use crate::dialect::speech::arguments_object;
use crate::dialect::wire::arguments_text;

/// The parts so far, as the API takes them back, and the calls among them.
#[derive(Default)]
pub(super) struct Parts {
    native: Vec<Value>,
    calls: Vec<ModelCall>,
}

impl Parts {
    /// Takes a part, and tells what it says.  The error is what is wrong with it.
    pub(super) fn take(&mut self, part: &Value, out: &mut Vec<ModelEvent>) -> Result<(), String> {
        let field = |key: &str| part.get(key).filter(|value| !value.is_null());
        if let Some(call) = field("functionCall") {
            let call = read_call(call)?;
            self.native.push(native_call(part, &call));
            self.calls.push(call);
            return Ok(());
        }
        if let Some(text) = field("text").and_then(Value::as_str) {
            let is_thought = field("thought").and_then(Value::as_bool) == Some(true);
            if !text.is_empty() {
                out.push(if is_thought {
                    ModelEvent::ReasoningDelta(text.to_owned())
                } else {
                    ModelEvent::TextDelta(text.to_owned())
                });
            }
        } else if let Some(text) = told(part) {
            out.push(ModelEvent::TextDelta(text));
        } else if let Some(kind) = unknown_kind(part) {
            return Err(format!("a part of the kind {kind}, which nobody asked for"));
        }
        self.keep(part);
        Ok(())
    }

    /// Keeps a part that is no call.  Signatures stand where they stood, even on a part
    /// without a text; pieces of a text that bear none are joined.
    fn keep(&mut self, part: &Value) {
        let text = part.get("text").and_then(Value::as_str);
        if !is_signed(part) && told(part).is_none() && text.is_none_or(str::is_empty) {
            return;
        }
        if let (Some(last), Some(text), true) = (self.native.last_mut(), text, is_plain(part))
            && is_plain(last)
            && last.get("thought") == part.get("thought")
            && let Some(Value::String(known)) = last.get_mut("text")
        {
            known.push_str(text);
        } else {
            self.native.push(part.clone());
        }
    }

    /// How many parts there are so far.
    pub(super) fn size(&self) -> usize {
        self.native.len()
    }

    /// All calls, and all parts if there are any.
    pub(super) fn finish(&mut self) -> (Vec<ModelCall>, Option<Value>) {
        let native = std::mem::take(&mut self.native);
        let calls = std::mem::take(&mut self.calls);
        (calls, (!native.is_empty()).then(|| native.into()))
    }
}

fn is_signed(part: &Value) -> bool {
    let signature = part.get("thoughtSignature").and_then(Value::as_str);
    signature.is_some_and(|signature| !signature.is_empty())
}

/// Whether a part is a text, or a thought, and nothing else.
fn is_plain(part: &Value) -> bool {
    part.as_object().is_some_and(|fields| {
        fields
            .keys()
            .all(|key| ["text", "thought"].contains(&key.as_str()))
    })
}

/// Calls come whole, in one part.  The id may be missing; the runtime gives one then.
fn read_call(call: &Value) -> Result<ModelCall, String> {
    let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("name").is_empty() {
        return Err("a call without a name".to_owned());
    }
    // Half a call must never run.
    let goes_on = call.get("willContinue").and_then(Value::as_bool) == Some(true);
    if goes_on || call.get("partialArgs").is_some_and(|args| !args.is_null()) {
        return Err("a call in pieces, which nobody asked for".to_owned());
    }
    Ok(ModelCall {
        id: text("id").to_owned(),
        name: text("name").to_owned(),
        arguments: arguments_text(call.get("args")),
    })
}

/// The part with arguments that the API takes back.
fn native_call(part: &Value, call: &ModelCall) -> Value {
    let mut part = part.clone();
    let arguments = part.pointer_mut("/functionCall/args");
    if let Some(arguments) = arguments.filter(|arguments| !arguments.is_object()) {
        *arguments = arguments_object(&call.arguments);
    }
    part
}

/// What the provider ran itself, if the user switched that on, as words.
fn told(part: &Value) -> Option<String> {
    let text = |kind: &str, key: &str| Some(part.get(kind)?.get(key)?.as_str()?.to_owned());
    if let Some(code) = text("executableCode", "code") {
        let language = text("executableCode", "language").unwrap_or_default();
        return Some(block(&language.to_lowercase(), &code));
    }
    part.get("codeExecutionResult")?.as_object()?;
    let output = text("codeExecutionResult", "output").unwrap_or_default();
    let outcome = text("codeExecutionResult", "outcome").unwrap_or_default();
    Some(match outcome.as_str() {
        "" | "OUTCOME_OK" => block("", &output),
        outcome => block("", &format!("{outcome}\n{output}")),
    })
}

fn block(language: &str, text: &str) -> String {
    format!("\n```{language}\n{}\n```\n", text.trim_end_matches('\n'))
}

/// The kind of a part that has neither a text nor a call, nor only notes about it.
fn unknown_kind(part: &Value) -> Option<&str> {
    const NOTES: [&str; 5] = [
        "text",
        "thought",
        "thoughtSignature",
        "partMetadata",
        "mediaResolution",
    ];
    let fields = part.as_object()?.iter();
    fields
        .filter(|(key, value)| !value.is_null() && !NOTES.contains(&key.as_str()))
        .map(|(key, _)| key.as_str())
        .next()
}

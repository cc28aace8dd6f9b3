//! What an answer carries that only its own provider understands, and wants back.

use serde_json::{Map, Value};

use super::{CALLS, REASONING_CONTENT, REASONING_DETAILS};

/// Collects it while the answer comes.
#[derive(Default)]
pub(super) struct Native {
    keeps_reasoning: bool,
    reasoning: String,
    details: Vec<Value>,
}

impl Native {
    /// `keeps_reasoning` is whether the provider wants its reasoning back as text.
    pub(super) fn new(keeps_reasoning: bool) -> Self {
        Self {
            keeps_reasoning,
            ..Self::default()
        }
    }

    /// Takes a message or a piece of one.
    pub(super) fn message(&mut self, message: &Value) {
        if self.keeps_reasoning
            && let Some(text) = message.get(REASONING_CONTENT).and_then(Value::as_str)
        {
            self.reasoning.push_str(text);
        }
        let details = message.get(REASONING_DETAILS).and_then(Value::as_array);
        for detail in details.into_iter().flatten() {
            self.detail(detail);
        }
    }

    /// Pieces of one detail have its type and index; texts grow, anything else is told once
    /// or again.
    fn detail(&mut self, piece: &Value) {
        let same = |known: &Value| {
            ["type", "index"]
                .into_iter()
                .all(|key| known.get(key) == piece.get(key))
        };
        let known = self.details.last_mut().filter(|known| same(known));
        match (known.and_then(Value::as_object_mut), piece.as_object()) {
            (Some(known), Some(piece)) => {
                for (key, value) in piece {
                    grow(known, key, value);
                }
            }
            _ => self.details.push(piece.clone()),
        }
    }

    /// All of it, if there is something; `calls` is what the provider adds to each call.
    pub(super) fn take(&mut self, calls: Option<Value>) -> Option<Value> {
        let this = std::mem::take(self);
        let mut native = Map::new();
        if !this.reasoning.is_empty() {
            native.insert(REASONING_CONTENT.into(), this.reasoning.into());
        }
        if !this.details.is_empty() {
            native.insert(REASONING_DETAILS.into(), this.details.into());
        }
        if let Some(calls) = calls {
            native.insert(CALLS.into(), calls);
        }
        (!native.is_empty()).then_some(Value::Object(native))
    }
}

fn grow(known: &mut Map<String, Value>, key: &str, value: &Value) {
    match (key, known.get_mut(key), value) {
        ("text" | "summary" | "data", Some(Value::String(text)), Value::String(more)) => {
            text.push_str(more);
        }
        (_, Some(_), Value::Null) => {}
        _ => {
            known.insert(key.to_owned(), value.clone());
        }
    }
}

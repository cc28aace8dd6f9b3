//! Taking a request's own secrets out of a text.

use std::mem;

use magent_types::{ModelEvent, StopReason};
use serde_json::Value;

use crate::Route;
use crate::escapes::Unescaped;
use crate::secrets;

/// Knows the secrets of one request and removes them from texts that come back, since
/// servers and proxies like to echo what they were sent.
#[derive(Clone)]
pub struct Redactor {
    secrets: Vec<String>,
}

impl Redactor {
    /// Collects the secrets of a route: keys in its headers, in its URL and among the
    /// user's own fields, however a server may spell them.
    pub fn for_route(route: &Route) -> Self {
        Self {
            secrets: secrets::of_route(route),
        }
    }

    /// The text without the secrets, also where JSON or a URL spells their characters with
    /// escapes.
    pub fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), REDACTED);
            }
        }
        if text.contains(['\\', '%']) {
            let mut unescaped = Unescaped::read(text);
            for secret in &self.secrets {
                unescaped.remove(secret);
            }
            text = unescaped.into_text();
        }
        text
    }
}

/// What stands for a secret.
pub(crate) const REDACTED: &str = "<redacted>";

/// Removes a request's secrets from an answer that comes in pieces, which may cut a
/// secret in two.
pub(crate) struct StreamRedactor {
    /// For texts that are whole.
    pub(crate) redactor: Redactor,
    /// The kind of text that the held piece belongs to.
    held_is_reasoning: bool,
    /// The end of the text so far, if it may be the beginning of a secret.
    held: String,
}

impl StreamRedactor {
    pub(crate) fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            held_is_reasoning: false,
            held: String::new(),
        }
    }

    /// Passes an event on, as none or several.
    pub(crate) fn pass(&mut self, event: ModelEvent, out: &mut Vec<ModelEvent>) {
        match event {
            ModelEvent::TextDelta(text) => self.text(&text, false, out),
            ModelEvent::ReasoningDelta(text) => self.text(&text, true, out),
            ModelEvent::ToolCall(mut call) => {
                self.flush(out);
                for text in [&mut call.id, &mut call.name, &mut call.arguments] {
                    *text = self.redactor.clean(text);
                }
                out.push(ModelEvent::ToolCall(call));
            }
            ModelEvent::Native(mut answer) => {
                self.flush(out);
                self.redactor.clean_json(&mut answer);
                out.push(ModelEvent::Native(answer));
            }
            ModelEvent::MessageEnd(phase) => {
                self.flush(out);
                let phase = phase.map(|phase| self.redactor.clean(&phase));
                out.push(ModelEvent::MessageEnd(phase));
            }
            ModelEvent::Completed(StopReason::Other(reason)) => {
                self.flush(out);
                let reason = StopReason::Other(self.redactor.clean(&reason));
                out.push(ModelEvent::Completed(reason));
            }
            event @ (ModelEvent::Usage(_) | ModelEvent::Completed(_)) => {
                self.flush(out);
                out.push(event);
            }
        }
    }

    /// Gives what was held back: nothing more follows that could make a secret of it.
    pub(crate) fn flush(&mut self, out: &mut Vec<ModelEvent>) {
        let held = mem::take(&mut self.held);
        self.push(held, out);
    }

    fn text(&mut self, text: &str, is_reasoning: bool, out: &mut Vec<ModelEvent>) {
        if self.held_is_reasoning != is_reasoning {
            self.flush(out);
            self.held_is_reasoning = is_reasoning;
        }
        let mut text = self.redactor.clean(&(mem::take(&mut self.held) + text));
        self.held = text.split_off(self.redactor.open_end(&text));
        self.push(text, out);
    }

    fn push(&self, text: String, out: &mut Vec<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        out.push(if self.held_is_reasoning {
            ModelEvent::ReasoningDelta(text)
        } else {
            ModelEvent::TextDelta(text)
        });
    }
}

impl Redactor {
    /// Removes the secrets from every text in a value.
    fn clean_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.clean(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.clean_json(value)),
            Value::Object(fields) => {
                let cleaned = mem::take(fields).into_iter().map(|(name, mut value)| {
                    self.clean_json(&mut value);
                    (self.clean(&name), value)
                });
                *fields = cleaned.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Where the longest end of the text begins that a secret begins with.
    fn open_end(&self, text: &str) -> usize {
        let starts = self.secrets.iter().filter_map(|secret| {
            let ends = secret.char_indices().skip(1).map(|(end, _)| end);
            ends.filter(|end| text.ends_with(&secret[..*end]))
                .last()
                .map(|length| text.len() - length)
        });
        starts.min().unwrap_or(text.len())
    }
}

#[cfg(test)]
mod tests {
    use magent_types::ModelCall;
    use serde_json::json;

    use super::*;

    fn redactor(secrets: &[&str]) -> StreamRedactor {
        StreamRedactor::new(Redactor {
            secrets: secrets.iter().map(|secret| (*secret).to_owned()).collect(),
        })
    }

    fn told(mut redactor: StreamRedactor, events: Vec<ModelEvent>) -> String {
        let mut out = Vec::new();
        for event in events {
            redactor.pass(event, &mut out);
        }
        let texts = out.into_iter().map(|event| match event {
            ModelEvent::TextDelta(text) => text,
            ModelEvent::ReasoningDelta(text) => format!("({text})"),
            ModelEvent::ToolCall(call) => format!("{} {} {}", call.id, call.name, call.arguments),
            ModelEvent::Native(answer) => answer.to_string(),
            ModelEvent::MessageEnd(phase) => phase.unwrap_or_default(),
            ModelEvent::Usage(_) => String::new(),
            ModelEvent::Completed(StopReason::Other(reason)) => reason,
            ModelEvent::Completed(_) => ".".to_owned(),
        });
        texts.collect()
    }

    #[test]
    fn a_secret_is_removed_wherever_the_stream_cuts_it() {
        let answer = "the key is sk-tést123, sk-té";
        for first in answer.char_indices().map(|(place, _)| place) {
            for second in answer.char_indices().map(|(place, _)| place) {
                let (first, second) = (first.min(second), first.max(second));
                let pieces = [&answer[..first], &answer[first..second], &answer[second..]];
                let mut events: Vec<ModelEvent> = pieces
                    .iter()
                    .map(|piece| ModelEvent::TextDelta((*piece).to_owned()))
                    .collect();
                events.push(ModelEvent::Completed(StopReason::EndTurn));
                let told = told(redactor(&["Bearer sk-tést123", "sk-tést123"]), events);
                assert_eq!(told, "the key is <redacted>, sk-té.");
            }
        }
    }

    #[test]
    fn text_and_reasoning_are_not_joined() {
        let events = vec![
            ModelEvent::ReasoningDelta("secret".into()),
            ModelEvent::TextDelta("-1".into()),
        ];
        assert_eq!(told(redactor(&["secret-1"]), events), "(secret)-1");
    }

    #[test]
    fn everything_that_a_provider_can_write_is_cleaned() {
        let call = ModelCall {
            id: "id-secret-1".into(),
            name: "secret-1".into(),
            arguments: r#"{"command":"echo secret\u002d1"}"#.into(),
        };
        let events = vec![
            ModelEvent::ToolCall(call),
            ModelEvent::Native(json!([{"a": "secret-1", "secret-1": r#"{"b":"secret\u002d1"}"#}])),
            ModelEvent::MessageEnd(Some("secret-1".into())),
            ModelEvent::Completed(StopReason::Other("secret-1".into())),
        ];
        let told = told(redactor(&["secret-1"]), events);
        assert_eq!(told.matches("<redacted>").count(), 8, "{told}");
        assert!(!told.contains("secret"), "{told}");
    }
}

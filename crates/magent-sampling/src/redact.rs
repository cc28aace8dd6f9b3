//! Taking a request's own secrets out of a text.

use std::mem;

use magent_types::ModelEvent;
use serde_json::Value;

use crate::Route;

/// Knows the secrets of one request and removes them from texts that come back, since
/// servers and proxies like to echo what they were sent.
#[derive(Clone)]
pub struct Redactor {
    secrets: Vec<String>,
}

/// Shorter texts are no secrets, and removing them would garble the message.
const SHORTEST: usize = 6;

impl Redactor {
    /// Collects the secrets of a route: header values, their last words (`Bearer X`)
    /// and the values of the URL's query.
    pub fn for_route(route: &Route) -> Self {
        const HARMLESS: [&str; 3] = ["content-type", "accept", "user-agent"];
        let mut secrets = Vec::new();
        for (name, value) in &route.headers {
            if HARMLESS.contains(&name.to_ascii_lowercase().as_str()) {
                continue;
            }
            let value = value.reveal();
            secrets.push(value.to_owned());
            secrets.extend(value.split_whitespace().last().map(str::to_owned));
        }
        let url = route.url.reveal();
        if let Some((_, query)) = url.split_once('?') {
            for pair in query.split('&') {
                secrets.extend(pair.split_once('=').map(|(_, value)| value.to_owned()));
            }
        }
        if let Some(credentials) = url
            .split_once("://")
            .and_then(|(_, rest)| rest.split(['/', '?']).next())
            .and_then(|authority| authority.rsplit_once('@'))
            .map(|(credentials, _)| credentials)
        {
            secrets.push(credentials.to_owned());
            secrets.extend(credentials.split_once(':').map(|(_, p)| p.to_owned()));
        }
        secrets.retain(|secret| secret.len() >= SHORTEST);
        // Longer ones first, so that a part never spoils the whole.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self { secrets }
    }

    /// The text without the secrets.
    pub fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "<redacted>");
            }
        }
        text
    }
}

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
                call.arguments = self.redactor.clean(&call.arguments);
                out.push(ModelEvent::ToolCall(call));
            }
            ModelEvent::Native(mut answer) => {
                self.flush(out);
                self.redactor.clean_json(&mut answer);
                out.push(ModelEvent::Native(answer));
            }
            event @ (ModelEvent::MessageEnd(_)
            | ModelEvent::Usage(_)
            | ModelEvent::Completed(_)) => {
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
            Value::Object(fields) => fields.values_mut().for_each(|value| self.clean_json(value)),
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
    use magent_types::{ModelCall, StopReason};
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
            ModelEvent::ToolCall(call) => call.arguments,
            ModelEvent::Native(answer) => answer.to_string(),
            ModelEvent::MessageEnd(_) | ModelEvent::Usage(_) => String::new(),
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
    fn text_and_reasoning_are_not_joined_and_calls_are_cleaned() {
        let call = ModelCall {
            id: "a".into(),
            name: "bash".into(),
            arguments: "echo secret-1".into(),
        };
        let events = vec![
            ModelEvent::ReasoningDelta("secret".into()),
            ModelEvent::TextDelta("-1".into()),
            ModelEvent::ToolCall(call),
            ModelEvent::Native(json!([{"a": "secret-1"}])),
        ];
        assert_eq!(
            told(redactor(&["secret-1"]), events),
            r#"(secret)-1echo <redacted>[{"a":"<redacted>"}]"#
        );
    }
}

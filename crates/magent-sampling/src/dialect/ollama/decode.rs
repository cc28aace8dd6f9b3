//! The answer's events.
//!
//! Every line has the next piece of the message; the last one is marked as done and has the
//! numbers.  Calls are given only when the answer is whole: half an answer must never run.

use magent_types::{ModelEvent, StopReason, Usage};
use serde_json::Value;

use super::message::Message;
use crate::dialect::Decoder;
use crate::dialect::wire::{event_json, reported_error, unexpected};
use crate::{ProviderError, SseEvent};

/// Decodes one answer.
pub(super) struct OllamaDecoder {
    host: String,
    message: Message,
    stop: Option<StopReason>,
}

impl OllamaDecoder {
    pub(super) fn new(host: String) -> Self {
        Self {
            host,
            message: Message::default(),
            stop: None,
        }
    }

    fn line(&mut self, line: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        if let Some(error) = reported_error(line, "", &["code", "type"]) {
            return Err(error);
        }
        if let Some(message) = line.get("message") {
            self.message
                .take(message, out)
                .map_err(|problem| unexpected(&self.host, problem))?;
        }
        out.extend(read_usage(line).map(ModelEvent::Usage));
        if line.get("done").and_then(Value::as_bool) == Some(true) {
            self.stop = Some(stop_reason(line));
        }
        Ok(())
    }
}

impl Decoder for OllamaDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        if self.stop.is_some() {
            return Ok(());
        }
        let line = event_json(&self.host, event)?;
        self.line(&line, out)
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        self.line(body, out)?;
        if self.stop.is_none() {
            if !body.get("message").is_some_and(Value::is_object) {
                return Err(unexpected(&self.host, "the answer has no message"));
            }
            self.stop = Some(stop_reason(body));
        }
        Ok(())
    }

    fn held(&self) -> usize {
        self.message.size()
    }

    fn is_complete(&self) -> bool {
        // The line that ends the answer has its numbers too.
        self.stop.is_some()
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        let Some(stop) = self.stop.take() else {
            return Err(ProviderError::Truncated {
                host: self.host.clone(),
            });
        };
        let (calls, native) = self.message.finish();
        let stop = if calls.is_empty() {
            stop
        } else {
            StopReason::ToolCalls
        };
        out.extend(calls.into_iter().map(ModelEvent::ToolCall));
        out.extend(native.map(ModelEvent::Native));
        out.push(ModelEvent::Completed(stop));
        Ok(())
    }
}

/// Old versions give no reason.  Others than these two, such as `load` and `unload`, mean
/// that nothing was said.
fn stop_reason(line: &Value) -> StopReason {
    match line.get("done_reason").and_then(Value::as_str) {
        None | Some("" | "stop") => StopReason::EndTurn,
        Some("length") => StopReason::MaxTokens,
        Some(other) => StopReason::Other(other.to_owned()),
    }
}

/// Thoughts are among the tokens of the answer and not told apart.
fn read_usage(line: &Value) -> Option<Usage> {
    let number = |key: &str| line.get(key).and_then(Value::as_u64);
    let usage = Usage {
        input: number("prompt_eval_count"),
        output: number("eval_count"),
        ..Usage::default()
    };
    (!usage.is_unknown()).then_some(usage)
}

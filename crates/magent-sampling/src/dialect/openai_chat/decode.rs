//! The answer's events.
//!
//! Servers differ in every detail that the API reference leaves open, so nothing here
//! relies on more than it must.  Calls are given only when the answer is whole: half a
//! call must never run.

use magent_types::{ModelEvent, StopReason};
use serde_json::{Value, json};

use super::calls::Calls;
use super::content::{check_media, say, usage_of};
use super::encode::wants_reasoning;
use super::native::Native;
use crate::dialect::Decoder;
use crate::dialect::wire::{event_json, lost_calls, reported_error, unexpected};
use crate::{ProviderError, Route, SseEvent};

/// Where the provider's own code of an error stands.
const CODES: [&str; 2] = ["code", "type"];

/// Decodes one answer.
pub(super) struct ChatDecoder {
    host: String,
    calls: Calls,
    finish: Option<String>,
    refused: bool,
    done: bool,
    native: Native,
}

impl ChatDecoder {
    pub(super) fn new(route: &Route) -> Self {
        Self {
            host: route.host(),
            native: Native::new(wants_reasoning(route)),
            calls: Calls::default(),
            finish: None,
            refused: false,
            done: false,
        }
    }

    fn chunk(
        &mut self,
        chunk: &Value,
        name: &str,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
        let own = chunk.get("x_groq").unwrap_or(&Value::Null);
        let error = reported_error(chunk, name, &CODES).or_else(|| reported_error(own, "", &CODES));
        if let Some(error) = error {
            return Err(error);
        }
        out.extend(usage_of(chunk).map(ModelEvent::Usage));
        match first_choice(chunk) {
            Some(choice) => self.choice(choice, out),
            None => Ok(()),
        }
    }

    fn choice(&mut self, choice: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        let message = choice
            .get("delta")
            .filter(|delta| delta.is_object())
            .or_else(|| choice.get("message"));
        if let Some(message) = message {
            self.message(message, out)
                .map_err(|problem| unexpected(&self.host, problem))?;
        }
        if let Some(error) = reported_error(choice, "", &CODES) {
            return Err(error);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str)
            && !reason.is_empty()
        {
            check_reason(reason)?;
            self.finish = Some(reason.to_owned());
        }
        Ok(())
    }

    fn message(&mut self, message: &Value, out: &mut Vec<ModelEvent>) -> Result<(), String> {
        let reasoning = ["reasoning_content", "reasoning"]
            .into_iter()
            .filter_map(|key| message.get(key).and_then(Value::as_str))
            .find(|text| !text.is_empty());
        self.native.message(message);
        if let Some(text) = reasoning {
            out.push(ModelEvent::ReasoningDelta(text.to_owned()));
        }
        say(message.get("content").unwrap_or(&Value::Null), out)?;
        if let Some(refusal) = message.get("refusal").and_then(Value::as_str)
            && !refusal.is_empty()
        {
            self.refused = true;
            out.push(ModelEvent::TextDelta(refusal.to_owned()));
        }
        let calls = message.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            self.calls.take(call);
        }
        // The one call of the protocol's first version.
        if let Some(function) = message.get("function_call").filter(|it| it.is_object()) {
            self.calls.take(&json!({"index": 0, "function": function}));
        }
        if self.calls.are_too_many() {
            return Err("the answer has too many calls".to_owned());
        }
        check_media(message)
    }

    fn stop_reason(&self, has_calls: bool) -> Result<StopReason, ProviderError> {
        if has_calls {
            return Ok(StopReason::ToolCalls);
        }
        if self.refused {
            return Ok(StopReason::Refusal);
        }
        Ok(match self.finish.as_deref() {
            None | Some("stop" | "end_turn" | "eos" | "STOP") => StopReason::EndTurn,
            Some("tool_calls" | "function_call") => return Err(lost_calls(&self.host)),
            Some(reason) if is_length(reason) => StopReason::MaxTokens,
            Some(reason) if is_refusal(reason) => StopReason::Refusal,
            Some(other) => StopReason::Other(other.to_owned()),
        })
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        let data = event.data.trim();
        if self.done || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk = event_json(&self.host, event)?;
        self.chunk(&chunk, &event.name, out)
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        self.chunk(body, "", out)?;
        if first_choice(body).is_none() {
            return Err(unexpected(&self.host, "the answer has no choices"));
        }
        self.done = true;
        Ok(())
    }

    fn held(&self) -> usize {
        self.calls.size()
    }

    fn is_complete(&self) -> bool {
        // The usage comes after the finish reason, so only the end marker, or both,
        // mean that nothing more will come.
        self.done
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        if !self.done && self.finish.is_none() {
            return Err(ProviderError::Truncated {
                host: self.host.clone(),
            });
        }
        let reason = self.finish.as_deref().unwrap_or_default();
        let (calls, extras) = self.calls.finish(is_length(reason) || is_refusal(reason));
        let stop = self.stop_reason(!calls.is_empty())?;
        out.extend(calls.into_iter().map(ModelEvent::ToolCall));
        out.extend(self.native.take(extras).map(ModelEvent::Native));
        out.push(ModelEvent::Completed(stop));
        Ok(())
    }
}

/// Several choices are never asked for; the first is the answer.
fn first_choice(chunk: &Value) -> Option<&Value> {
    let mut choices = chunk.get("choices")?.as_array()?.iter();
    choices.find(|choice| {
        let index = choice.get("index").and_then(Value::as_u64);
        choice.is_object() && index.unwrap_or(0) == 0
    })
}

/// The model came to its limit.
fn is_length(reason: &str) -> bool {
    const REASONS: [&str; 5] = [
        "length",
        "max_tokens",
        "MAX_TOKENS",
        "model_length",
        "model_context_window_exceeded",
    ];
    REASONS.contains(&reason)
}

/// Gateways put what a filter says after its name.
fn is_refusal(reason: &str) -> bool {
    reason.starts_with("content_filter") || ["refusal", "SAFETY", "sensitive"].contains(&reason)
}

/// Reasons that are failures: what is there of the answer would pass for all of it.
fn check_reason(reason: &str) -> Result<(), ProviderError> {
    let message = match reason {
        "error" | "network_error" => "the provider broke the answer off",
        "MALFORMED_FUNCTION_CALL" => "the model wrote a call that cannot be read",
        _ if reason.starts_with("function_call_filter") => {
            "the model wrote a call that cannot be read"
        }
        _ => return Ok(()),
    };
    Err(ProviderError::Reported {
        message: message.to_owned(),
        code: Some(reason.to_owned()),
    })
}

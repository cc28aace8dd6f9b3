//! The answer's events.
//!
//! Every event is a whole response with the next parts of the answer.  Some models, and
//! gateways, tell a reason to stop before the last of them, so all events are read.  Calls
//! are given only when the answer is whole: half an answer must never run.

use magent_types::{ModelEvent, StopReason};
use serde_json::Value;

use super::parts::Parts;
use super::usage::Tokens;
use crate::dialect::Decoder;
use crate::dialect::wire::{event_json, reported_error, unexpected};
use crate::{ProviderError, SseEvent};

/// Decodes one answer.
pub(super) struct GeminiDecoder {
    host: String,
    parts: Parts,
    tokens: Tokens,
    stop: Option<StopReason>,
    done: bool,
}

impl GeminiDecoder {
    pub(super) fn new(host: String) -> Self {
        Self {
            host,
            parts: Parts::default(),
            tokens: Tokens::default(),
            stop: None,
            done: false,
        }
    }

    /// What the API streams comes as arrays if the URL does not ask for events.
    fn responses(
        &mut self,
        value: &Value,
        name: &str,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
        match value {
            Value::Array(responses) => responses
                .iter()
                .try_for_each(|response| self.response(response, name, out)),
            response => self.response(response, name, out),
        }
    }

    fn response(
        &mut self,
        response: &Value,
        name: &str,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
        // The status says more than the code, which is that of HTTP.
        if let Some(error) = reported_error(response, name, &["status", "code", "type"]) {
            return Err(error);
        }
        let candidate = first_candidate(response).unwrap_or(&Value::Null);
        let parts = candidate
            .pointer("/content/parts")
            .and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            self.parts
                .take(part, out)
                .map_err(|problem| unexpected(&self.host, problem))?;
        }
        let usage = response.get("usageMetadata");
        out.extend(
            usage
                .and_then(|usage| self.tokens.take(usage))
                .map(ModelEvent::Usage),
        );
        if real_text(response.pointer("/promptFeedback/blockReason")).is_some() {
            self.stop = Some(StopReason::Refusal);
        }
        if let Some(reason) = real_text(candidate.get("finishReason")) {
            self.stop = Some(stop_reason(reason, candidate.get("finishMessage"))?);
        }
        Ok(())
    }
}

impl Decoder for GeminiDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        let data = event.data.trim();
        if self.done || data.is_empty() {
            return Ok(());
        }
        // The API has no such end, but gateways do.
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let response = event_json(&self.host, event)?;
        self.responses(&response, &event.name, out)
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        self.responses(body, "", out)?;
        if self.stop.is_none() && !body.is_array() {
            if first_candidate(body).is_none() {
                return Err(unexpected(&self.host, "the answer has no candidates"));
            }
            self.stop = Some(StopReason::EndTurn);
        }
        Ok(())
    }

    fn held(&self) -> usize {
        self.parts.size()
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        let Some(stop) = self.stop.take() else {
            return Err(ProviderError::Truncated {
                host: self.host.clone(),
            });
        };
        let (calls, native) = self.parts.finish();
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

/// Several candidates are never asked for; the first is the answer.  The index 0 is left
/// out.
fn first_candidate(response: &Value) -> Option<&Value> {
    let mut candidates = response.get("candidates")?.as_array()?.iter();
    candidates.find(|candidate| {
        let index = candidate.get("index").and_then(Value::as_u64);
        candidate.is_object() && index.unwrap_or(0) == 0
    })
}

fn real_text(value: Option<&Value>) -> Option<&str> {
    value?.as_str().filter(|text| !text.is_empty())
}

/// Calls that the provider could not read are in no part of the answer: what is left of it
/// would pass for an answer, so these reasons are errors.
fn stop_reason(reason: &str, message: Option<&Value>) -> Result<StopReason, ProviderError> {
    Ok(match reason {
        "STOP" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY"
        | "RECITATION"
        | "PROHIBITED_CONTENT"
        | "BLOCKLIST"
        | "SPII"
        | "LANGUAGE"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => StopReason::Refusal,
        "MALFORMED_FUNCTION_CALL"
        | "MALFORMED_RESPONSE"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MISSING_THOUGHT_SIGNATURE" => {
            let usual = "the model's answer or one of its calls cannot be read";
            return Err(ProviderError::Reported {
                message: real_text(message).unwrap_or(usual).to_owned(),
                code: Some(reason.to_owned()),
            });
        }
        other => StopReason::Other(other.to_owned()),
    })
}

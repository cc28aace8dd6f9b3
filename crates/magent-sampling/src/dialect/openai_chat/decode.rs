//! The answer's events.
//!
//! Servers differ in every detail that the API reference leaves open, so nothing here
//! relies on more than it must: calls are told apart by index, else by id; names and
//! ids count once; arguments may be null, text or an object.  Calls are given only
//! when the answer is whole: half a call must never run.

use std::collections::BTreeMap;

use magent_types::{ModelCall, ModelEvent, StopReason, Usage};
use serde_json::Value;

use super::encode::wants_reasoning;
use super::native::Native;
use crate::dialect::Decoder;
use crate::dialect::wire::{error_code, error_text, event_json, unexpected};
use crate::{ProviderError, Route, SseEvent};

/// Decodes one answer.
pub(super) struct ChatDecoder {
    host: String,
    calls: BTreeMap<u64, ModelCall>,
    last_index: Option<u64>,
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
            calls: BTreeMap::new(),
            last_index: None,
            finish: None,
            refused: false,
            done: false,
        }
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        if let Some(error) = reported_error(chunk) {
            return Err(error);
        }
        if let Some(usage) = chunk.get("usage").and_then(read_usage) {
            out.push(ModelEvent::Usage(usage));
        }
        let choices = chunk.get("choices").and_then(Value::as_array);
        // Several choices are never asked for; the first is the answer.
        if let Some(choice) = choices.and_then(|choices| choices.first()) {
            self.choice(choice, out);
        }
        Ok(())
    }

    fn choice(&mut self, choice: &Value, out: &mut Vec<ModelEvent>) {
        let message = choice
            .get("delta")
            .filter(|delta| delta.is_object())
            .or_else(|| choice.get("message"));
        if let Some(message) = message {
            self.message(message, out);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str)
            && !reason.is_empty()
        {
            self.finish = Some(reason.to_owned());
        }
    }

    fn message(&mut self, message: &Value, out: &mut Vec<ModelEvent>) {
        let reasoning = ["reasoning_content", "reasoning"]
            .into_iter()
            .filter_map(|key| message.get(key).and_then(Value::as_str))
            .find(|text| !text.is_empty());
        self.native.message(message);
        if let Some(text) = reasoning {
            out.push(ModelEvent::ReasoningDelta(text.to_owned()));
        }
        let text = message.get("content").map(text_of).unwrap_or_default();
        if !text.is_empty() {
            out.push(ModelEvent::TextDelta(text));
        }
        if let Some(refusal) = message.get("refusal").and_then(Value::as_str)
            && !refusal.is_empty()
        {
            self.refused = true;
            out.push(ModelEvent::TextDelta(refusal.to_owned()));
        }
        for call in message
            .get("tool_calls")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            self.call(call);
        }
    }

    fn call(&mut self, piece: &Value) {
        let function = piece.get("function").unwrap_or(&Value::Null);
        let id = real_text(piece.get("id"));
        let name = real_text(function.get("name"));
        let index = self.index_of(piece, id, name);
        self.last_index = Some(index);
        self.native.call(index, piece);
        let call = self.calls.entry(index).or_insert_with(|| ModelCall {
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
        });
        if let Some(id) = id
            && call.id.is_empty()
        {
            id.clone_into(&mut call.id);
        }
        if let Some(name) = name
            && call.name.is_empty()
        {
            name.clone_into(&mut call.name);
        }
        match function.get("arguments") {
            Some(Value::String(text)) => call.arguments.push_str(text),
            Some(object @ Value::Object(_)) => call.arguments.push_str(&object.to_string()),
            _ => {}
        }
    }

    /// Which call a piece belongs to: the one at its index.  Some servers give every call
    /// the index 0 but an id of its own.  Others leave the index out and send whole calls;
    /// there a new id, or a name without an id, begins a new call.
    fn index_of(&self, piece: &Value, id: Option<&str>, name: Option<&str>) -> u64 {
        let next = self.calls.keys().next_back().map_or(0, |last| last + 1);
        let with_id = || {
            let mut calls = self.calls.iter();
            calls
                .find(|(_, call)| Some(call.id.as_str()) == id)
                .map(|(index, _)| *index)
        };
        match piece.get("index").and_then(Value::as_u64) {
            Some(index) => match self.calls.get(&index) {
                Some(call) if id.is_some_and(|id| !call.id.is_empty() && id != call.id) => {
                    with_id().unwrap_or(if name.is_some() { next } else { index })
                }
                _ => index,
            },
            None if id.is_some() => with_id().unwrap_or(next),
            None if name.is_some() => next,
            None => self.last_index.unwrap_or(next),
        }
    }

    fn stop_reason(&self, has_calls: bool) -> StopReason {
        if has_calls {
            return StopReason::ToolCalls;
        }
        if self.refused {
            return StopReason::Refusal;
        }
        match self.finish.as_deref() {
            Some("length" | "max_tokens" | "MAX_TOKENS") => StopReason::MaxTokens,
            Some("content_filter" | "refusal" | "SAFETY") => StopReason::Refusal,
            None | Some("stop" | "end_turn" | "eos" | "STOP" | "tool_calls" | "function_call") => {
                StopReason::EndTurn
            }
            Some(other) => StopReason::Other(other.to_owned()),
        }
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
        if event.name == "error" && reported_error(&chunk).is_none() {
            return Err(ProviderError::Reported {
                message: error_text(&chunk),
                code: None,
            });
        }
        self.chunk(&chunk, out)
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        self.chunk(body, out)?;
        let answered = body
            .get("choices")
            .and_then(Value::as_array)
            .is_some_and(|choices| !choices.is_empty());
        if !answered {
            return Err(unexpected(&self.host, "the answer has no choices"));
        }
        self.done = true;
        Ok(())
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
        let calls = std::mem::take(&mut self.calls);
        let calls: Vec<(u64, ModelCall)> = calls
            .into_iter()
            // A piece that never got a name is no call, unless it says something.
            .filter(|(_, call)| !call.name.is_empty() || !call.arguments.trim().is_empty())
            .collect();
        let stop = self.stop_reason(!calls.is_empty());
        let indexes: Vec<u64> = calls.iter().map(|(index, _)| *index).collect();
        out.extend(
            calls
                .into_iter()
                .map(|(_, call)| ModelEvent::ToolCall(call)),
        );
        out.extend(self.native.take(&indexes).map(ModelEvent::Native));
        out.push(ModelEvent::Completed(stop));
        Ok(())
    }
}

/// A text that says something: not null, not empty, not the word "null" that some
/// gateways make of it.
fn real_text(value: Option<&Value>) -> Option<&str> {
    value
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty() && *text != "null")
}

/// Content is a text, or a list of parts with texts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect(),
        _ => String::new(),
    }
}

/// Errors come as `{"error": {...}}`, `{"error": "..."}`, `{"object": "error", ...}` or
/// `{"type": "error", ...}`.
fn reported_error(chunk: &Value) -> Option<ProviderError> {
    let error = match chunk.get("error") {
        Some(Value::Null) | None => {
            let is_error = ["object", "type"]
                .into_iter()
                .any(|key| chunk.get(key).and_then(Value::as_str) == Some("error"));
            if !is_error {
                return None;
            }
            chunk
        }
        Some(error) => error,
    };
    Some(ProviderError::Reported {
        message: error_text(error),
        code: error_code(error, &["code", "type"]),
    })
}

fn read_usage(usage: &Value) -> Option<Usage> {
    let object = usage.as_object()?;
    let number = |key: &str| object.get(key).and_then(Value::as_u64);
    let detail = |group: &str, key: &str| {
        object
            .get(group)
            .and_then(|group| group.get(key))
            .and_then(Value::as_u64)
    };
    let usage = Usage {
        input: number("prompt_tokens"),
        output: number("completion_tokens"),
        reasoning: detail("completion_tokens_details", "reasoning_tokens"),
        cached_read: detail("prompt_tokens_details", "cached_tokens")
            .or_else(|| number("prompt_cache_hit_tokens")),
        cached_write: None,
    };
    (!usage.is_unknown()).then_some(usage)
}

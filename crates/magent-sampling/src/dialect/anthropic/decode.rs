//! The answer's events.
//!
//! Calls are given only when the answer is whole: half a call must never run.

use magent_types::{ModelEvent, StopReason, Usage};
use serde_json::Value;

use super::blocks::{Block, Blocks};
use crate::dialect::Decoder;
use crate::dialect::wire::{event_json, lost_calls, reported_error, unexpected};
use crate::{ProviderError, SseEvent};

/// Where the provider's own code of an error stands.
const CODES: [&str; 2] = ["type", "code"];

/// Decodes one answer.
pub(super) struct MessagesDecoder {
    host: String,
    blocks: Blocks,
    stop: Option<String>,
    usage: Usage,
    done: bool,
}

impl MessagesDecoder {
    pub(super) fn new(host: String) -> Self {
        Self {
            host,
            blocks: Blocks::default(),
            stop: None,
            usage: Usage::default(),
            done: false,
        }
    }

    fn message(&mut self, event: &Value, out: &mut Vec<ModelEvent>) {
        let index = event.get("index").and_then(Value::as_u64);
        match event.get("type").and_then(Value::as_str) {
            Some("message_start") => {
                let message = event.get("message").unwrap_or(&Value::Null);
                self.take_usage(message.get("usage"), out);
            }
            Some("content_block_start") => {
                let block = event.get("content_block").unwrap_or(&Value::Null);
                let block = Block::start(block, out);
                self.blocks.add(index, block);
            }
            Some("content_block_delta") => {
                let delta = event.get("delta").unwrap_or(&Value::Null);
                self.blocks.delta(index, delta, out);
            }
            Some("message_delta") => {
                self.take_stop(event.get("delta").unwrap_or(&Value::Null));
                self.take_usage(event.get("usage"), out);
            }
            Some("message_stop") => self.done = true,
            _ => {}
        }
    }

    fn take_stop(&mut self, holder: &Value) {
        if let Some(reason) = holder.get("stop_reason").and_then(Value::as_str)
            && !reason.is_empty()
        {
            self.stop = Some(reason.to_owned());
        }
    }

    /// Numbers come at the start and at the end; the later ones count, and those that are
    /// not told again stay.
    fn take_usage(&mut self, usage: Option<&Value>, out: &mut Vec<ModelEvent>) {
        let number = |key: &str| usage.and_then(|usage| usage.get(key)?.as_u64());
        let read = number("cache_read_input_tokens").or(self.usage.cached_read);
        let written = number("cache_creation_input_tokens").or(self.usage.cached_write);
        let fresh = number("input_tokens").or_else(|| {
            let Usage {
                input,
                cached_read,
                cached_write,
                ..
            } = self.usage;
            let cached = cached_read
                .unwrap_or(0)
                .saturating_add(cached_write.unwrap_or(0));
            input.map(|input| input.saturating_sub(cached))
        });
        let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
        let usage = Usage {
            // The API does not count cached tokens as input.
            input: fresh.map(|fresh| fresh.saturating_add(cached)),
            output: number("output_tokens").or(self.usage.output),
            reasoning: None,
            cached_read: read,
            cached_write: written,
        };
        if !usage.is_unknown() && usage != self.usage {
            self.usage = usage;
            out.push(ModelEvent::Usage(usage));
        }
    }

    fn stop_reason(&self, has_calls: bool) -> Result<StopReason, ProviderError> {
        Ok(match self.stop.as_deref() {
            _ if has_calls => StopReason::ToolCalls,
            Some(reason) if is_limit(reason) => StopReason::MaxTokens,
            Some("refusal") => StopReason::Refusal,
            None | Some("end_turn" | "stop_sequence") => StopReason::EndTurn,
            Some("tool_use") => return Err(lost_calls(&self.host)),
            Some(other) => StopReason::Other(other.to_owned()),
        })
    }
}

/// The model came to its limit.
fn is_limit(reason: &str) -> bool {
    ["max_tokens", "model_context_window_exceeded"].contains(&reason)
}

impl Decoder for MessagesDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        let data = event.data.trim();
        if self.done || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let message = event_json(&self.host, event)?;
        if let Some(error) = reported_error(&message, &event.name, &CODES) {
            return Err(error);
        }
        if message.get("type").and_then(Value::as_str) == Some("message") {
            return self.whole(&message, out);
        }
        self.message(&message, out);
        if self.blocks.are_too_many() {
            return Err(unexpected(&self.host, "the answer has too many blocks"));
        }
        Ok(())
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        if let Some(error) = reported_error(body, "", &CODES) {
            return Err(error);
        }
        let Some(blocks) = body.get("content").and_then(Value::as_array) else {
            return Err(unexpected(&self.host, "the answer has no content"));
        };
        for (index, block) in (0..).zip(blocks) {
            self.blocks.add(Some(index), Block::start(block, out));
        }
        self.take_usage(body.get("usage"), out);
        self.take_stop(body);
        self.done = true;
        Ok(())
    }

    fn held(&self) -> usize {
        self.blocks.size()
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        // The reason comes last but one; some gateways leave the end itself out.
        if !self.done && self.stop.is_none() {
            return Err(ProviderError::Truncated {
                host: self.host.clone(),
            });
        }
        let cut = self
            .stop
            .as_deref()
            .is_some_and(|reason| is_limit(reason) || reason == "refusal");
        let (calls, native) = self.blocks.finish(cut);
        let stop = self.stop_reason(!calls.is_empty())?;
        out.extend(calls.into_iter().map(ModelEvent::ToolCall));
        out.extend(native.map(ModelEvent::Native));
        out.push(ModelEvent::Completed(stop));
        Ok(())
    }
}

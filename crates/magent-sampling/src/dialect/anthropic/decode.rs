//! The answer's events.
//!
//! Calls are given only when the answer is whole: half a call must never run.

use std::collections::BTreeMap;

use magent_types::{ModelEvent, StopReason, Usage};
use serde_json::Value;

use super::blocks::Block;
use crate::dialect::Decoder;
use crate::dialect::wire::{error_text, event_json, unexpected};
use crate::{ProviderError, SseEvent};

/// Decodes one answer.
pub(super) struct MessagesDecoder {
    host: String,
    blocks: BTreeMap<u64, Block>,
    stop: Option<String>,
    usage: Usage,
    done: bool,
}

impl MessagesDecoder {
    pub(super) fn new(host: String) -> Self {
        Self {
            host,
            blocks: BTreeMap::new(),
            stop: None,
            usage: Usage::default(),
            done: false,
        }
    }

    fn message(&mut self, event: &Value, out: &mut Vec<ModelEvent>) {
        match event.get("type").and_then(Value::as_str) {
            Some("message_start") => {
                let message = event.get("message").unwrap_or(&Value::Null);
                self.take_usage(message.get("usage"), out);
            }
            Some("content_block_start") => {
                let block = event.get("content_block").unwrap_or(&Value::Null);
                let block = Block::start(block, out);
                self.blocks.insert(self.index_of(event), block);
            }
            Some("content_block_delta") => {
                if let (Some(block), Some(delta)) = (
                    self.blocks.get_mut(&self.index_or_last(event)),
                    event.get("delta"),
                ) {
                    block.delta(delta, out);
                }
            }
            Some("message_delta") => {
                self.take_stop(event.get("delta").unwrap_or(&Value::Null));
                self.take_usage(event.get("usage"), out);
            }
            Some("message_stop") => self.done = true,
            _ => {}
        }
    }

    /// Where a new block stands: at its index, or after the last one.
    fn index_of(&self, event: &Value) -> u64 {
        let next = self.blocks.keys().next_back().map_or(0, |last| last + 1);
        event.get("index").and_then(Value::as_u64).unwrap_or(next)
    }

    fn index_or_last(&self, event: &Value) -> u64 {
        let last = self.blocks.keys().next_back().copied().unwrap_or(0);
        event.get("index").and_then(Value::as_u64).unwrap_or(last)
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
            let cached = self.usage.cached_read.unwrap_or(0) + self.usage.cached_write.unwrap_or(0);
            self.usage.input.map(|input| input.saturating_sub(cached))
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

    fn stop_reason(&self, has_calls: bool) -> StopReason {
        match self.stop.as_deref() {
            _ if has_calls => StopReason::ToolCalls,
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::MaxTokens,
            Some("refusal") => StopReason::Refusal,
            None | Some("end_turn" | "stop_sequence" | "tool_use") => StopReason::EndTurn,
            Some(other) => StopReason::Other(other.to_owned()),
        }
    }
}

impl Decoder for MessagesDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        let data = event.data.trim();
        if self.done || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let message = event_json(&self.host, event)?;
        if let Some(error) = reported_error(&message) {
            return Err(error);
        }
        self.message(&message, out);
        Ok(())
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        if let Some(error) = reported_error(body) {
            return Err(error);
        }
        let Some(blocks) = body.get("content").and_then(Value::as_array) else {
            return Err(unexpected(&self.host, "the answer has no content"));
        };
        for (index, block) in (0..).zip(blocks) {
            self.blocks.insert(index, Block::start(block, out));
        }
        self.take_usage(body.get("usage"), out);
        self.take_stop(body);
        self.done = true;
        Ok(())
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
        let blocks = std::mem::take(&mut self.blocks);
        let calls: Vec<_> = blocks.values().filter_map(Block::call).collect();
        let stop = self.stop_reason(!calls.is_empty());
        out.extend(calls.into_iter().map(ModelEvent::ToolCall));
        let native: Vec<Value> = blocks.values().filter_map(Block::native).collect();
        if !native.is_empty() {
            out.push(ModelEvent::Native(native.into()));
        }
        out.push(ModelEvent::Completed(stop));
        Ok(())
    }
}

/// Errors come as `{"type": "error", "error": {"type", "message"}}`, from gateways also
/// without the outer type, or with a text as the error.
fn reported_error(event: &Value) -> Option<ProviderError> {
    let error = match event.get("error") {
        Some(error) if !error.is_null() => error,
        _ if event.get("type").and_then(Value::as_str) == Some("error") => event,
        _ => return None,
    };
    let code = error.get("type").and_then(Value::as_str);
    Some(ProviderError::Reported {
        message: error_text(error),
        code: code.filter(|code| *code != "error").map(str::to_owned),
    })
}

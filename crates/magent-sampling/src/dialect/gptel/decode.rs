//! The answer's events from Lisp.

use magent_types::{ModelCall, ModelEvent, StopReason, Usage};
use serde_json::Value;

use crate::dialect::Decoder;
use crate::dialect::wire::{event_json, unexpected};
use crate::{HttpFailure, ProviderError, SseEvent};

/// Decodes one answer.
pub(super) struct GptelDecoder {
    /// What messages name, for only gptel knows the host.
    backend: String,
    calls: Vec<ModelCall>,
    stop: Option<StopReason>,
}

impl GptelDecoder {
    pub(super) fn new(backend: String) -> Self {
        Self {
            backend,
            calls: Vec::new(),
            stop: None,
        }
    }

    fn take(&mut self, event: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        let text = |key: &str| {
            let text = event.get(key).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let number = |key: &str| event.get(key).and_then(Value::as_u64);
        match text("type").as_str() {
            "text" => out.push(ModelEvent::TextDelta(text("text"))),
            "reasoning" => out.push(ModelEvent::ReasoningDelta(text("text"))),
            "call" => self.calls.push(ModelCall {
                id: text("id"),
                name: text("name"),
                arguments: text("arguments"),
            }),
            "usage" => out.push(ModelEvent::Usage(Usage {
                input: number("input"),
                output: number("output"),
                cached_read: number("cached"),
                ..Usage::default()
            })),
            "end" => self.stop = Some(stop_reason(&text("stop"))),
            "error" => return Err(self.failure(event)),
            other => {
                return Err(unexpected(
                    &self.backend,
                    format!("an event of the type {other}"),
                ));
            }
        }
        Ok(())
    }

    fn failure(&self, event: &Value) -> ProviderError {
        let text = |key: &str| event.get(key).and_then(Value::as_str);
        let message = text("message").unwrap_or("it says not why").to_owned();
        let host = self.backend.clone();
        let status = event.get("status").and_then(Value::as_u64);
        match (
            text("kind"),
            status.and_then(|code| u16::try_from(code).ok()),
        ) {
            (Some("truncated"), _) => ProviderError::Truncated { host },
            (Some("protocol"), _) => unexpected(&host, message),
            (Some("unreachable"), _) => ProviderError::Unreachable {
                host,
                problem: message,
                lasting: false,
            },
            (_, Some(status)) if status >= 300 => ProviderError::Http(HttpFailure {
                status,
                message,
                code: text("code").map(str::to_owned),
                retry_after: None,
                had_key: true,
            }),
            _ => ProviderError::Reported {
                message,
                code: text("code").map(str::to_owned),
            },
        }
    }
}

impl Decoder for GptelDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        if self.stop.is_some() {
            return Ok(());
        }
        let event = event_json(&self.backend, event)?;
        self.take(&event, out)
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        self.take(body, out)
    }

    fn held(&self) -> usize {
        self.calls.len()
    }

    fn is_complete(&self) -> bool {
        self.stop.is_some()
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        let Some(stop) = self.stop.take() else {
            return Err(ProviderError::Truncated {
                host: self.backend.clone(),
            });
        };
        let calls = std::mem::take(&mut self.calls);
        let stop = if calls.is_empty() {
            stop
        } else {
            StopReason::ToolCalls
        };
        out.extend(calls.into_iter().map(ModelEvent::ToolCall));
        out.push(ModelEvent::Completed(stop));
        Ok(())
    }
}

/// The words of all providers for why an answer ended, since gptel passes them on.
fn stop_reason(reason: &str) -> StopReason {
    match reason.to_ascii_lowercase().as_str() {
        "" | "stop" | "end_turn" | "completed" | "stop_sequence" | "tool_calls" | "tool_use"
        | "function_call" => StopReason::EndTurn,
        "length"
        | "max_tokens"
        | "max_output_tokens"
        | "incomplete"
        | "model_context_window_exceeded" => StopReason::MaxTokens,
        "content_filter"
        | "refusal"
        | "safety"
        | "recitation"
        | "blocklist"
        | "prohibited_content"
        | "spii"
        | "guardrail_intervened"
        | "content_filtered" => StopReason::Refusal,
        _ => StopReason::Other(reason.to_owned()),
    }
}

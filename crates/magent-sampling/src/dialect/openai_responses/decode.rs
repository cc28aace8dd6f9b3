//! The answer's events.
//!
//! Servers that imitate the protocol leave out events and fields, so everything is taken
//! from wherever it is told first and never twice.  Calls are given only when the answer
//! is whole: half a call must never run.

use magent_types::{ModelEvent, StopReason};
use serde_json::Value;

use super::fields::{part_text, read_usage, real_text, report, reported_error, unwanted_kind};
use super::item::{Kind, Place, Thought};
use super::output::Output;
use crate::dialect::Decoder;
use crate::dialect::wire::{event_json, unexpected};
use crate::{ProviderError, Route, SseEvent};

/// How an answer ended.
enum End {
    /// The model was done.
    Completed,
    /// It was cut off, for this reason.
    Cut(String),
}

/// Decodes one answer.
pub(super) struct ResponsesDecoder {
    host: String,
    output: Output,
    end: Option<End>,
}

impl ResponsesDecoder {
    pub(super) fn new(route: &Route) -> Self {
        Self {
            host: route.host(),
            output: Output::default(),
            end: None,
        }
    }

    fn check_length(&self) -> Result<(), ProviderError> {
        if self.output.is_too_long() {
            return Err(unexpected(&self.host, "the answer has too many items"));
        }
        Ok(())
    }

    fn typed(
        &mut self,
        kind: &str,
        event: &Value,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
        let index = event.get("output_index").and_then(Value::as_u64);
        let item = event.get("item").unwrap_or(&Value::Null);
        let response = event.get("response").unwrap_or(&Value::Null);
        self.check_item(item)?;
        match kind {
            "response.output_item.added" if item.is_object() => self.output.begin(index, item),
            "response.output_item.done" if item.is_object() => {
                self.output.done(index, item, out);
            }
            "response.completed" | "response.incomplete" => {
                check(response, false)?;
                self.response(response, kind == "response.incomplete", out)?;
            }
            "response.failed" => check(response, true)?,
            _ => self.part(kind, event, out),
        }
        self.check_length()
    }

    /// An event about a part of an item.  Whatever is unknown means nothing.
    fn part(&mut self, kind: &str, event: &Value, out: &mut Vec<ModelEvent>) {
        let number = |key: &str| event.get(key).and_then(Value::as_u64).unwrap_or(0);
        let delta = event
            .get("delta")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let summary = Thought::Summary(number("summary_index"));
        let content = Thought::Content(number("content_index"));
        let output = &mut self.output;
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                let at = output.at(&Place::of_event(event, Kind::Message));
                if kind == "response.refusal.delta" {
                    output.refuse(at);
                }
                output.say(at, number("content_index"), delta, out);
            }
            "response.output_text.done" | "response.refusal.done" => {
                let at = output.at(&Place::of_event(event, Kind::Message));
                if kind == "response.refusal.done" {
                    output.refuse(at);
                }
                output.say_rest(at, number("content_index"), part_text(event), out);
            }
            "response.reasoning_summary_part.added" => output.new_thought(),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let is_summary = kind == "response.reasoning_summary_text.delta";
                let part = if is_summary { summary } else { content };
                let at = output.at(&Place::of_event(event, Kind::Reasoning));
                output.think(at, part, delta, out);
            }
            "response.reasoning_summary_text.done" | "response.reasoning_text.done" => {
                let is_summary = kind == "response.reasoning_summary_text.done";
                let part = if is_summary { summary } else { content };
                let at = output.at(&Place::of_event(event, Kind::Reasoning));
                output.think_rest(at, part, part_text(event), out);
            }
            "response.function_call_arguments.delta" => {
                let at = output.at(&Place::of_event(event, Kind::Call));
                output.piece(at, delta);
            }
            "response.function_call_arguments.done" => {
                let at = output.at(&Place::of_event(event, Kind::Call));
                output.call(at, event);
            }
            _ => {}
        }
    }

    /// Nobody would answer such an item, and without an answer the conversation ends there.
    fn check_item(&self, item: &Value) -> Result<(), ProviderError> {
        match unwanted_kind(item) {
            Some(kind) => Err(unexpected(
                &self.host,
                format!("an item of the kind {kind}, which nobody asked for"),
            )),
            None => Ok(()),
        }
    }

    /// The whole answer, with everything in it again.
    fn response(
        &mut self,
        response: &Value,
        incomplete: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
        if let Some(items) = response.get("output").and_then(Value::as_array) {
            items.iter().try_for_each(|item| self.check_item(item))?;
            self.output.complete(items, out);
        }
        if let Some(usage) = response.get("usage").and_then(read_usage) {
            out.push(ModelEvent::Usage(usage));
        }
        let reason = response
            .get("incomplete_details")
            .and_then(|details| real_text(details, "reason"));
        let incomplete = incomplete || real_text(response, "status") == Some("incomplete");
        self.end = Some(match reason {
            Some(reason) => End::Cut(reason.to_owned()),
            None if incomplete => End::Cut("incomplete".to_owned()),
            None => End::Completed,
        });
        Ok(())
    }

    fn stop_reason(&self, end: End, has_calls: bool) -> StopReason {
        if has_calls {
            return StopReason::ToolCalls;
        }
        if self.output.refused() {
            return StopReason::Refusal;
        }
        match end {
            End::Completed => StopReason::EndTurn,
            End::Cut(reason) => match reason.as_str() {
                "max_output_tokens" | "max_tokens" => StopReason::MaxTokens,
                "content_filter" => StopReason::Refusal,
                _ => StopReason::Other(reason),
            },
        }
    }
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        let data = event.data.trim();
        // Some gateways end the stream as chat completions do; it says nothing of the
        // answer.
        if self.end.is_some() || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let value = event_json(&self.host, event)?;
        if let Some(error) = reported_error(&value, &event.name) {
            return Err(error);
        }
        let is_untyped = real_text(&value, "type").is_none() && event.name.is_empty();
        if is_untyped && real_text(&value, "object") == Some("response") {
            return self.whole(&value, out);
        }
        let kind = real_text(&value, "type").unwrap_or(&event.name);
        self.typed(kind, &value, out)
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        if let Some(error) = reported_error(body, "") {
            return Err(error);
        }
        check(body, false)?;
        if let Some(status @ ("queued" | "in_progress")) = real_text(body, "status") {
            return Err(unexpected(
                &self.host,
                format!("the answer is not whole but {status}"),
            ));
        }
        if body.get("output").is_none_or(|output| !output.is_array()) {
            return Err(unexpected(&self.host, "the answer has no output"));
        }
        self.response(body, false, out)?;
        self.check_length()
    }

    fn held(&self) -> usize {
        self.output.size()
    }

    fn is_complete(&self) -> bool {
        // The event that ends the answer has its usage too.
        self.end.is_some()
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        let Some(end) = self.end.take() else {
            return Err(ProviderError::Truncated {
                host: self.host.clone(),
            });
        };
        self.output.end(out);
        let (calls, native) = self.output.take(matches!(end, End::Cut(_)));
        let stop = self.stop_reason(end, !calls.is_empty());
        out.extend(calls.into_iter().map(ModelEvent::ToolCall));
        out.extend(native.map(ModelEvent::Native));
        out.push(ModelEvent::Completed(stop));
        Ok(())
    }
}

/// Whether a response is no failure.
fn check(response: &Value, failed: bool) -> Result<(), ProviderError> {
    if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
        return Err(report(error));
    }
    let status = real_text(response, "status").unwrap_or_default();
    let message = match status {
        "cancelled" => "the response was cancelled",
        "failed" => "the response failed",
        _ if failed => "the response failed",
        _ => return Ok(()),
    };
    Err(ProviderError::Reported {
        message: message.to_owned(),
        code: None,
    })
}

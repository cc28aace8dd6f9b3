//! Fields of events, errors and numbers.

use magent_types::Usage;
use serde_json::Value;

use crate::ProviderError;
use crate::dialect::wire::{self, arguments_said, error_code, first_of};

/// The text of a field, if it says something.
pub(super) fn real_text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    wire::real_text(value.get(key))
}

/// Arguments that say something, as text.
pub(super) fn arguments_of(value: &Value) -> Option<String> {
    Some(arguments_said(value.get("arguments"))).filter(|text| !text.trim().is_empty())
}

/// The kind of an item that waits for something of us which we never give: a call of a
/// tool that nobody offered, or a question.
pub(super) fn unwanted_kind(item: &Value) -> Option<&str> {
    const KINDS: [&str; 6] = [
        "custom_tool_call",
        "computer_call",
        "local_shell_call",
        "shell_call",
        "apply_patch_call",
        "mcp_approval_request",
    ];
    real_text(item, "type").filter(|kind| KINDS.contains(kind))
}

/// A text or refusal of a part of a message, or a text of a part of reasoning.
pub(super) fn part_text(part: &Value) -> &str {
    ["text", "refusal"]
        .into_iter()
        .filter_map(|key| part.get(key).and_then(Value::as_str))
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}

/// Whether a part of a message is a refusal.
pub(super) fn is_refusal(part: &Value) -> bool {
    real_text(part, "type") == Some("refusal") && !part_text(part).is_empty()
}

/// Errors come as `{"type": "error", "message": ...}`, as `{"type": "error", "error":
/// {...}}`, as either without the type, and as whatever an event named `error` holds.
pub(super) fn reported_error(event: &Value, event_name: &str) -> Option<ProviderError> {
    let event = first_of(event);
    let kind = real_text(event, "type").unwrap_or_default();
    match event.get("error").filter(|error| !error.is_null()) {
        // Other events may tell of errors that the answer survives.
        Some(error) if !kind.starts_with("response.") => Some(report(error)),
        None if kind == "error"
            || event_name == "error"
            || real_text(event, "object") == Some("error") =>
        {
            Some(report(event))
        }
        _ => None,
    }
}

/// What an error object says.
pub(super) fn report(error: &Value) -> ProviderError {
    let code = error_code(error, &["code", "type"]);
    let message = match error {
        Value::String(text) => text.clone(),
        _ => real_text(error, "message").map_or_else(|| error.to_string(), str::to_owned),
    };
    ProviderError::Reported { message, code }
}

/// The tokens used, if they are told.
pub(super) fn read_usage(usage: &Value) -> Option<Usage> {
    let number = |key: &str| usage.get(key).and_then(Value::as_u64);
    let detail = |group: &str, key: &str| {
        usage
            .get(group)
            .and_then(|group| group.get(key))
            .and_then(Value::as_u64)
    };
    let usage = Usage {
        input: number("input_tokens"),
        output: number("output_tokens"),
        reasoning: detail("output_tokens_details", "reasoning_tokens"),
        cached_read: detail("input_tokens_details", "cached_tokens"),
        cached_write: None,
    };
    (!usage.is_unknown()).then_some(usage)
}

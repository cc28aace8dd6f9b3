//! What all protocols over JSON have in common.

use magent_types::{SamplingParams, parse_json, strip_controls};
use serde_json::{Map, Value, json};

use crate::{ProviderError, Route, SseEvent, WireTool};

/// More items than this are no answer, and finding each among them would take for ever.
pub(super) const MOST_ITEMS: usize = 2000;

/// How many characters of what cannot be read are told.
const TOLD: usize = 100;

/// The JSON of an event.  An event named `error` may be plain words.
pub(super) fn event_json(host: &str, event: &SseEvent) -> Result<Value, ProviderError> {
    let data = event.data.trim();
    parse_json(data).map_err(|error| {
        if event.name == "error" {
            ProviderError::Reported {
                message: data.to_owned(),
                code: None,
            }
        } else if data.starts_with('<') {
            unexpected(host, "a web page instead of an answer")
        } else {
            let plain = strip_controls(data);
            let line = plain.lines().next().unwrap_or_default();
            let told: String = line.chars().take(TOLD).collect();
            unexpected(host, format!("an event is not JSON ({error}): {told}"))
        }
    })
}

/// The error that an event reports.  Errors come as `{"error": {...}}`, `{"error": "..."}`,
/// `{"object": "error", ...}`, `{"type": "error", ...}`, and as whatever an event named
/// `error` holds; some servers put them into an array.  `codes` are the fields that may
/// have the provider's own code.
pub(super) fn reported_error(event: &Value, name: &str, codes: &[&str]) -> Option<ProviderError> {
    let event = first_of(event);
    let says_error = |key: &str| event.get(key).and_then(Value::as_str) == Some("error");
    let error = match event.get("error") {
        Some(error) if says_something(error) => error,
        _ if name == "error" || says_error("object") || says_error("type") => event,
        _ => return None,
    };
    Some(ProviderError::Reported {
        message: error_text(error),
        code: error_code(error, codes),
    })
}

/// The only thing in an array, or the value itself.
pub(super) fn first_of(value: &Value) -> &Value {
    match value {
        Value::Array(values) => values.first().unwrap_or(&Value::Null),
        value => value,
    }
}

/// Some servers send every field they have, empty or not.
fn says_something(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}

/// The error of an answer that is not what the protocol says.
pub(super) fn unexpected(host: &str, problem: impl Into<String>) -> ProviderError {
    ProviderError::Protocol {
        host: host.to_owned(),
        problem: problem.into(),
    }
}

/// The error of an answer that ends in calls but has none: what the model wanted got lost
/// on the way, and the rest would pass for an answer.
pub(super) fn lost_calls(host: &str) -> ProviderError {
    unexpected(host, "the answer ends in calls but has none")
}

/// What an error says: its message, or all of it.
pub(super) fn error_text(error: &Value) -> String {
    match error {
        Value::String(text) => text.clone(),
        _ => match error.get("message") {
            Some(Value::String(text)) => text.clone(),
            _ => error.to_string(),
        },
    }
}

/// The provider's own code of an error: the first of these fields that says something.
pub(super) fn error_code(error: &Value, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| match error.get(key)? {
        Value::String(text) if !text.is_empty() && text != "error" => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// A text that says something: not null, not empty, not the word "null" that some
/// gateways make of it.
pub(super) fn real_text(value: Option<&Value>) -> Option<&str> {
    value
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty() && *text != "null")
}

/// What a piece of a call says of its arguments, as text; some servers give an object.
/// What is neither is left for the check to refuse.
pub(super) fn arguments_said(arguments: Option<&Value>) -> String {
    match arguments {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        // Some servers cannot tell an empty object from an empty list.
        Some(Value::Array(list)) if list.is_empty() => String::new(),
        Some(other) => other.to_string(),
    }
}

/// The arguments of a call that came whole, as text.  None are an empty object; what is no
/// object is left for the check to refuse.
pub(super) fn arguments_text(arguments: Option<&Value>) -> String {
    match arguments {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) if text.trim().is_empty() => "{}".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(arguments) => arguments.to_string(),
    }
}

/// Puts the numbers into a body that every provider calls by the same names.
pub(super) fn insert_sampling(body: &mut Map<String, Value>, params: &SamplingParams) {
    for (key, value) in [("temperature", params.temperature), ("top_p", params.top_p)] {
        if let Some(value) = value {
            body.insert(key.into(), value.into());
        }
    }
}

/// Puts the tools into a body as functions, in the words of OpenAI that others have taken
/// over.
pub(super) fn insert_functions(body: &mut Map<String, Value>, tools: &[WireTool]) {
    if tools.is_empty() {
        return;
    }
    let tools: Vec<Value> = tools
        .iter()
        .map(|tool| json!({"type": "function", "function": tool.to_json()}))
        .collect();
    body.insert("tools".into(), tools.into());
}

/// Puts the user's own fields into a body; they count more than ours.
pub(super) fn insert_extra(body: &mut Map<String, Value>, route: &Route) {
    for (key, value) in &route.extra {
        body.insert(key.clone(), value.clone());
    }
}

/// Puts the user's own fields into a body whose fields are in groups: a group grows by what
/// the user gives of it instead of being replaced.
pub(super) fn merge_extra(body: &mut Map<String, Value>, route: &Route) {
    merge(body, &route.extra);
}

fn merge(known: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        match (known.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(more)) => merge(known, more),
            _ => drop(known.insert(key.clone(), value.clone())),
        }
    }
}

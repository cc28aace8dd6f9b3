//! What a message says, in every shape that servers give it.

use magent_types::{ModelEvent, Usage};
use serde_json::Value;

/// Passes on what the content of a message says: a text, or a list of parts.  The error is
/// what is wrong with it.
pub(super) fn say(content: &Value, out: &mut Vec<ModelEvent>) -> Result<(), String> {
    match content {
        Value::Null | Value::Bool(false) => {}
        Value::String(text) => push_text(text, out),
        Value::Array(parts) => {
            for part in parts {
                say_part(part, out)?;
            }
        }
        Value::Object(_) => say_part(content, out)?,
        Value::Bool(true) | Value::Number(_) => return Err("content that is no text".to_owned()),
    }
    Ok(())
}

fn say_part(part: &Value, out: &mut Vec<ModelEvent>) -> Result<(), String> {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    match kind {
        "thinking" => think(part.get("thinking").unwrap_or(&Value::Null), out),
        // These say where something stands in what was said.
        "reference" | "tool_reference" => {}
        _ => match part {
            Value::Null => {}
            Value::String(text) => push_text(text, out),
            _ => match part.get("text") {
                Some(Value::String(text)) => push_text(text, out),
                Some(Value::Null) => {}
                None if kind.is_empty() || kind == "text" => {}
                _ => {
                    return Err(format!(
                        "content of the kind {kind}, which nobody asked for"
                    ));
                }
            },
        },
    }
    Ok(())
}

/// Thoughts inside the content are a text, or a list of parts with texts.
fn think(thinking: &Value, out: &mut Vec<ModelEvent>) {
    let text = match thinking {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect(),
        _ => String::new(),
    };
    if !text.is_empty() {
        out.push(ModelEvent::ReasoningDelta(text));
    }
}

fn push_text(text: &str, out: &mut Vec<ModelEvent>) {
    if !text.is_empty() {
        out.push(ModelEvent::TextDelta(text.to_owned()));
    }
}

/// What came with a message that has no words for it.  Nobody asked for it, and without
/// it the answer is not whole.
pub(super) fn check_media(message: &Value) -> Result<(), String> {
    for (key, name) in [("images", "a picture"), ("audio", "a sound")] {
        let is_there = match message.get(key) {
            Some(Value::Array(list)) => !list.is_empty(),
            Some(Value::Object(fields)) => !fields.is_empty(),
            _ => false,
        };
        if is_there {
            return Err(format!("{name}, which nobody asked for"));
        }
    }
    Ok(())
}

/// The usage of a chunk, which some servers put into the choice, or into a field of their
/// own.
pub(super) fn usage_of(chunk: &Value) -> Option<Usage> {
    ["/usage", "/choices/0/usage", "/x_groq/usage"]
        .into_iter()
        .find_map(|place| chunk.pointer(place).and_then(read_usage))
}

fn read_usage(usage: &Value) -> Option<Usage> {
    let number = |key: &str| usage.get(key).and_then(Value::as_u64);
    let detail = |group: &str, key: &str| usage.get(group)?.get(key)?.as_u64();
    let usage = Usage {
        input: number("prompt_tokens"),
        output: number("completion_tokens"),
        reasoning: detail("completion_tokens_details", "reasoning_tokens"),
        cached_read: detail("prompt_tokens_details", "cached_tokens")
            .or_else(|| number("prompt_cache_hit_tokens"))
            .or_else(|| number("cached_tokens")),
        cached_write: detail("prompt_tokens_details", "cache_write_tokens"),
    };
    (!usage.is_unknown()).then_some(usage)
}

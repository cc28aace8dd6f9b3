//! How much a model is to think: yes or no, or a level where the model has some.

use magent_types::{Effort, SamplingParams, Thinking};
use serde_json::Value;

use crate::Route;

/// The field, which users may give themselves.
const THINK: &str = "think";

/// Whether what was chosen can be told to the model.
pub(super) fn check(route: &Route, params: &SamplingParams) -> Result<(), String> {
    let wants_level = params.effort.is_some() && params.thinking != Thinking::Disabled;
    let advice = match has_levels(&route.model) {
        _ if route.extra.contains_key(THINK) => return Ok(()),
        true if params.thinking == Thinking::Disabled => {
            "cannot be told not to think. Set the thinking mode to auto, or the thought level \
             to minimal."
        }
        // Newer servers ignore a level that a model does not have, older ones refuse it.
        false if wants_level => {
            "is not known to have thought levels. Choose none, set the thinking mode to \
             enabled, or give Ollama's own field think as a request parameter of the backend."
        }
        _ => return Ok(()),
    };
    Err(format!(
        "The model {}:{} {advice}",
        route.backend, route.model
    ))
}

/// The value of the field; nothing is the model's default.
pub(super) fn think(route: &Route, params: &SamplingParams) -> Option<Value> {
    match (params.thinking, params.effort) {
        (Thinking::Disabled, _) => Some(false.into()),
        (_, Some(effort)) if has_levels(&route.model) => Some(level(effort).into()),
        (Thinking::Enabled, _) => Some(true.into()),
        (Thinking::Auto, _) => None,
    }
}

/// The models of the family gpt-oss have levels, and are never off.
fn has_levels(model: &str) -> bool {
    model.contains("gpt-oss")
}

/// There are three in all versions.
fn level(effort: Effort) -> &'static str {
    match effort {
        Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::XHigh => "high",
    }
}

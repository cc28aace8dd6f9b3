//! How much a model is to think, in the words of this protocol.

use magent_types::{SamplingParams, Thinking};
use serde_json::{Value, json};

use crate::Route;

/// Whether the chosen mode can be told.  Models from GPT-5.1 on can leave thinking out;
/// older ones always think, or never.
pub(super) fn check(route: &Route, params: &SamplingParams) -> Result<(), String> {
    if params.thinking != Thinking::Disabled || can_be_off(&route.model) {
        return Ok(());
    }
    Err(format!(
        "The model {}:{} cannot be told not to think. Set the thinking mode to auto, or the \
         thought level to minimal.",
        route.backend, route.model
    ))
}

fn can_be_off(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    name.strip_prefix("gpt-5.")
        .is_some_and(|minor| minor.starts_with(|digit: char| digit.is_ascii_digit()))
}

/// The field that says so; nothing is the provider's default.
pub(super) fn reasoning(params: &SamplingParams) -> Option<Value> {
    match (params.thinking, params.effort) {
        (Thinking::Disabled, _) => Some(json!({"effort": "none"})),
        (Thinking::Auto, None) => None,
        (Thinking::Enabled, None) => Some(json!({"summary": "auto"})),
        (_, Some(effort)) => Some(json!({"effort": effort.as_str(), "summary": "auto"})),
    }
}

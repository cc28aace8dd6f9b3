//! How much a model is to think: a field that everybody takes, and a switch that everybody
//! spells in another way.

use magent_types::{Effort, SamplingParams, Thinking};
use serde_json::{Map, Value, json};

use crate::Route;

/// How a server wants thinking switched.
#[derive(Clone, Copy)]
enum Switch {
    /// `"thinking": {"type": "enabled"}`.
    Type,
    /// `"reasoning": {"enabled": true}`.
    Reasoning,
    /// `"enable_thinking": true`.
    Flag,
}

/// Whether the chosen mode can be told to the server of `route`.
pub(super) fn check(route: &Route, thinking: Thinking) -> Result<(), String> {
    if thinking == Thinking::Auto || switch_of(route).is_some() {
        return Ok(());
    }
    Err(format!(
        "It is not known how to switch thinking to {} for {}:{}. Set the thinking mode to auto, \
         or give the provider's own field as a request parameter of the backend.",
        thinking.as_str(),
        route.backend,
        route.model
    ))
}

/// Puts effort and mode into a body.
pub(super) fn insert(body: &mut Map<String, Value>, route: &Route, params: &SamplingParams) {
    if let (Some(effort), true) = (params.effort, params.thinking != Thinking::Disabled) {
        // Nearly no server knows the highest one.
        let effort = match effort {
            Effort::XHigh => Effort::High,
            effort => effort,
        };
        body.insert("reasoning_effort".into(), effort.as_str().into());
    }
    let enabled = match params.thinking {
        Thinking::Auto => return,
        Thinking::Enabled => true,
        Thinking::Disabled => false,
    };
    let (key, value) = match switch_of(route) {
        Some(Switch::Type) => ("thinking", json!({"type": params.thinking.as_str()})),
        Some(Switch::Reasoning) => ("reasoning", json!({"enabled": enabled})),
        Some(Switch::Flag) => ("enable_thinking", enabled.into()),
        None => return,
    };
    body.insert(key.into(), value);
}

/// A gateway's way counts before that of the model behind it.
fn switch_of(route: &Route) -> Option<Switch> {
    let host = route.host();
    let on = |part: &str| host.contains(part);
    let model = route.model.to_ascii_lowercase();
    let is = |part: &str| model.contains(part);
    if on("openrouter.ai") {
        Some(Switch::Reasoning)
    } else if on("dashscope") || on("siliconflow") {
        Some(Switch::Flag)
    } else if on("deepseek") || is("deepseek") || is("glm-") || is("kimi-") {
        Some(Switch::Type)
    } else {
        None
    }
}

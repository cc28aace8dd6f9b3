//! How much a model is to think, in the words of each generation.

use magent_types::{Effort, SamplingParams, Thinking};
use serde_json::{Map, Value, json};

use crate::Route;

/// The least budget that every model with budgets takes.
const LEAST_BUDGET: u64 = 512;

/// How a model is told.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// It never thinks, and takes no word about it.
    Never,
    /// A number of tokens.
    Budget {
        /// Whether that may be none.
        can_be_none: bool,
    },
    /// A level.  There is none for not thinking.
    Level,
}

/// Gemini 2.5 is given budgets, and everything since then levels; what has a name of
/// another kind counts as new.
fn way_of(model: &str) -> Way {
    let name = model.rsplit('/').next().unwrap_or(model);
    let is = |start: &str| name.starts_with(start);
    if is("gemini-1.") || is("gemini-2.0") || is("gemma-3") {
        Way::Never
    } else if is("gemini-2.5") || is("gemini-robotics-er-1.5") {
        Way::Budget {
            can_be_none: !is("gemini-2.5-pro"),
        }
    } else {
        Way::Level
    }
}

/// Whether what was chosen can be told to the model.
pub(super) fn check(route: &Route, params: &SamplingParams) -> Result<(), String> {
    let way = way_of(&route.model);
    let wants_none = params.thinking == Thinking::Disabled;
    let wants_some = params.thinking == Thinking::Enabled || params.effort.is_some();
    let advice = match way {
        _ if users_own(route) => return Ok(()),
        Way::Level | Way::Budget { can_be_none: false } if wants_none => {
            "cannot be told not to think. Set the thinking mode to auto, or the thought level \
             to minimal."
        }
        Way::Never if wants_some && !wants_none => {
            "does not think. Set the thinking mode to auto, and no thought level."
        }
        _ => return Ok(()),
    };
    Err(format!(
        "The model {}:{} {advice}",
        route.backend, route.model
    ))
}

/// The field that says it; nothing is the provider's default.
pub(super) fn config(route: &Route, params: &SamplingParams) -> Option<Value> {
    let way = way_of(&route.model);
    let mut config = Map::new();
    match (params.thinking, params.effort) {
        _ if way == Way::Never => return None,
        (Thinking::Auto, None) => return None,
        (Thinking::Disabled, _) => drop(config.insert("thinkingBudget".into(), 0.into())),
        (_, effort) => {
            config.insert("includeThoughts".into(), true.into());
            match (way, effort) {
                (Way::Level, Some(effort)) => {
                    config.insert("thinkingLevel".into(), level(effort).into());
                }
                (Way::Budget { .. }, Some(effort)) => {
                    let budget = budget(effort, params.max_tokens);
                    config.insert("thinkingBudget".into(), budget.into());
                }
                // As much as it likes; the smallest models do not think by default.
                (Way::Budget { .. }, None) => {
                    drop(config.insert("thinkingBudget".into(), json!(-1)))
                }
                (Way::Level | Way::Never, _) => {}
            }
        }
    }
    if users_own(route) {
        // The two exclude each other, so ours must not stand beside the user's.
        config.remove("thinkingBudget");
        config.remove("thinkingLevel");
    }
    Some(config.into())
}

/// Whether the user says it in a field of their own.
fn users_own(route: &Route) -> bool {
    let config = route.extra.get("generationConfig");
    let config = config.and_then(|config| config.get("thinkingConfig"));
    config.is_some_and(|config| {
        ["thinkingBudget", "thinkingLevel"]
            .into_iter()
            .any(|key| config.get(key).is_some())
    })
}

/// `low` is the lowest level that every model takes, and `high` the highest of all.
fn level(effort: Effort) -> &'static str {
    match effort {
        Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::XHigh => "high",
    }
}

/// Tokens to think with, as the provider itself counts the levels of others.  They are
/// taken from those of the answer, of which some must be left.
fn budget(effort: Effort, max_tokens: Option<u64>) -> u64 {
    let wanted = match effort {
        Effort::Minimal | Effort::Low => 1_024,
        Effort::Medium => 8_192,
        Effort::High | Effort::XHigh => 24_576,
    };
    match max_tokens {
        Some(most) => wanted.min(most / 4 * 3).max(LEAST_BUDGET),
        None => wanted,
    }
}

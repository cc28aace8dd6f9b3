//! How much a model is to think, in the words of this protocol.

use magent_types::{Effort, SamplingParams, Thinking};
use serde_json::{Map, Value, json};

/// The least budget that the API takes.
const LEAST_BUDGET: u64 = 1_024;

/// Puts the wish for thinking into a body that has `max_tokens` already; returns whether
/// the model will think.
pub(super) fn insert(
    body: &mut Map<String, Value>,
    model: &str,
    params: &SamplingParams,
    max_tokens: u64,
) -> bool {
    match (params.thinking, params.effort) {
        (Thinking::Disabled, _) => {
            body.insert("thinking".into(), json!({"type": "disabled"}));
            false
        }
        (Thinking::Auto, None) => false,
        (_, effort) if is_adaptive(model) => {
            body.insert(
                "thinking".into(),
                json!({"type": "adaptive", "display": "summarized"}),
            );
            if let Some(effort) = effort {
                body.insert("output_config".into(), json!({"effort": level(effort)}));
            }
            true
        }
        (_, effort) => {
            let budget = budget(effort.unwrap_or(Effort::Medium), max_tokens);
            body.insert(
                "thinking".into(),
                json!({"type": "enabled", "budget_tokens": budget}),
            );
            true
        }
    }
}

/// Claude models from version 4.6 on decide themselves how much they think; older ones,
/// and other makers' models behind this protocol, are given a budget.
fn is_adaptive(model: &str) -> bool {
    const OLDER: [&str; 6] = ["claude-3", "-4-0", "-4-1", "-4-5", "-4-2025", "claude-2"];
    let name = model.rsplit('/').next().unwrap_or(model);
    name.starts_with("claude-") && !OLDER.iter().any(|part| name.contains(part))
}

fn level(effort: Effort) -> &'static str {
    match effort {
        Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::XHigh => "max",
    }
}

/// Tokens to think with: always fewer than the answer may have altogether.
fn budget(effort: Effort, max_tokens: u64) -> u64 {
    let wanted = match effort {
        Effort::Minimal => 1_024,
        Effort::Low => 4_096,
        Effort::Medium => 8_192,
        Effort::High => 16_384,
        Effort::XHigh => 24_576,
    };
    wanted.min(max_tokens / 4 * 3).max(LEAST_BUDGET)
}

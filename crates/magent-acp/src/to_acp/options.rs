//! Modes and options of a session.

use agent_client_protocol_schema::v1::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};
use magent_runtime::{ModelCatalog, ModelChoice, Runtime, SessionOptions};
use magent_types::{Effort, ModelInfo, Thinking};

/// The value that leaves a choice to agent and defaults.
pub(crate) const AUTO: &str = "auto";

/// The agents as modes.
pub(crate) fn modes(runtime: &Runtime, options: &SessionOptions) -> SessionModeState {
    let modes = runtime
        .agents()
        .primary()
        .map(|agent| {
            SessionMode::new(agent.name.clone(), agent.name.as_str())
                .description(agent.description.clone())
        })
        .collect();
    SessionModeState::new(options.agent.clone(), modes)
}

/// All options with their current values and the models of `catalog`.
pub(crate) fn config_options(
    runtime: &Runtime,
    catalog: &ModelCatalog,
    options: &SessionOptions,
) -> Vec<SessionConfigOption> {
    vec![
        agent_option(runtime, options),
        model_option(catalog, options),
        effort_option(options),
        thinking_option(options),
    ]
}

fn agent_option(runtime: &Runtime, options: &SessionOptions) -> SessionConfigOption {
    let choices: Vec<SessionConfigSelectOption> = runtime
        .agents()
        .primary()
        .map(|agent| {
            SessionConfigSelectOption::new(agent.name.clone(), agent.name.as_str())
                .description(agent.description.clone())
        })
        .collect();
    SessionConfigOption::select("mode", "Agent", options.agent.clone(), choices)
        .category(SessionConfigOptionCategory::Mode)
}

fn model_option(catalog: &ModelCatalog, options: &SessionOptions) -> SessionConfigOption {
    let auto = match &catalog.default {
        Some(choice) => format!("Auto → {}", choice.full_name()),
        None => "Unconfigured".to_owned(),
    };
    let mut choices = vec![SessionConfigSelectOption::new(AUTO, auto)];
    for model in &catalog.models {
        choices.push(
            SessionConfigSelectOption::new(
                model_id(&model.backend, &model.model),
                model.full_name(),
            )
            .description(describe(model)),
        );
    }
    let current = match &options.model {
        None => AUTO.to_owned(),
        Some(choice) => {
            let id = model_id(&choice.backend, &choice.model);
            if catalog.get(choice).is_none() {
                let name = format!("{} (not registered)", choice.full_name());
                choices.push(SessionConfigSelectOption::new(id.clone(), name));
            }
            id
        }
    };
    SessionConfigOption::select("model", "Model", current, choices)
        .category(SessionConfigOptionCategory::Model)
}

fn describe(model: &ModelInfo) -> Option<String> {
    let mut facts: Vec<String> = model.description.iter().cloned().collect();
    if !model.capabilities.is_empty() {
        facts.push(model.capabilities.join(", "));
    }
    facts.extend(
        model
            .context_window
            .map(|window| format!("{window} tokens of context")),
    );
    (!facts.is_empty()).then(|| facts.join("; "))
}

fn effort_option(options: &SessionOptions) -> SessionConfigOption {
    let mut choices = vec![SessionConfigSelectOption::new(AUTO, "Auto")];
    for effort in Effort::ALL {
        let name = match effort {
            Effort::Minimal => "Minimal",
            Effort::Low => "Low",
            Effort::Medium => "Medium",
            Effort::High => "High",
            Effort::XHigh => "Extra high",
        };
        choices.push(SessionConfigSelectOption::new(effort.as_str(), name));
    }
    let current = options.effort.map_or(AUTO, Effort::as_str);
    SessionConfigOption::select("effort", "Thought level", current, choices)
        .category(SessionConfigOptionCategory::ThoughtLevel)
}

fn thinking_option(options: &SessionOptions) -> SessionConfigOption {
    let choices = vec![
        SessionConfigSelectOption::new(AUTO, "Auto"),
        SessionConfigSelectOption::new(Thinking::Enabled.as_str(), "Enabled"),
        SessionConfigSelectOption::new(Thinking::Disabled.as_str(), "Disabled"),
    ];
    let current = options.thinking.map_or(AUTO, Thinking::as_str);
    SessionConfigOption::select("thinking", "Thinking mode", current, choices)
        .category(SessionConfigOptionCategory::ThoughtLevel)
}

/// An id that tells models of the same name apart.
fn model_id(backend: &str, model: &str) -> String {
    format!("gptel/{}/{}", encode(backend), encode(model))
}

/// The registered model of an id.
pub(crate) fn model_of_id(catalog: &ModelCatalog, id: &str) -> Option<ModelChoice> {
    catalog
        .models
        .iter()
        .find(|model| model_id(&model.backend, &model.model) == id)
        .map(|model| ModelChoice {
            backend: model.backend.clone(),
            model: model.model.clone(),
        })
}

/// URL encoding, so that a slash in a name is no separator.
fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(byte as char);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_of_one_name_have_different_ids() {
        assert_eq!(model_id("A", "x/y:z"), "gptel/A/x%2Fy%3Az");
        assert_ne!(model_id("A/x", "y"), model_id("A", "x/y"));
    }
}

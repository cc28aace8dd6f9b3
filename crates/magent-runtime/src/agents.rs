//! The agents that sessions can run as.

use magent_permission::{build_rules, plan_rules};
use magent_prompt::prompt_resource;
use magent_types::{AgentDefinition, AgentMode, PermissionRules, Thinking};

use crate::compaction;

/// The agents in the order in which pickers show them.
#[derive(Clone, Debug)]
pub struct AgentRegistry {
    agents: Vec<AgentDefinition>,
}

impl AgentRegistry {
    /// Makes a registry out of agents with different names.
    pub fn new(agents: Vec<AgentDefinition>) -> Self {
        Self { agents }
    }

    /// Finds an agent.
    pub fn get(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.iter().find(|agent| agent.name == name)
    }

    /// The agents that a session can be switched to.
    pub fn primary(&self) -> impl Iterator<Item = &AgentDefinition> {
        self.agents
            .iter()
            .filter(|agent| agent.mode.is_primary() && !agent.hidden)
    }
}

/// The agents that come with Magent.
pub fn builtin_agents() -> AgentRegistry {
    AgentRegistry::new(vec![
        agent(
            "build",
            "Carries tasks out: reads, changes and runs things.",
            build_rules(),
        ),
        agent(
            "plan",
            "Explores and plans; edits nothing but files in .magent/plan.",
            plan_rules(),
        ),
        AgentDefinition {
            hidden: true,
            ..agent(
                compaction::AGENT,
                "Sums a conversation up.",
                PermissionRules::default(),
            )
        },
    ])
}

fn agent(name: &str, description: &str, permission: PermissionRules) -> AgentDefinition {
    AgentDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        mode: AgentMode::Primary,
        hidden: false,
        temperature: None,
        top_p: None,
        effort: None,
        thinking: Thinking::Auto,
        model: None,
        // A test makes sure that the bundled agents have their prompts.
        prompt: prompt_resource(&format!("agents/{name}.org"), &[]).ok(),
        permission,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bundled_agent_has_its_role_prompt() {
        let registry = builtin_agents();
        let names: Vec<&str> = registry.primary().map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["build", "plan"]);
        assert!(registry.agents.iter().all(|agent| agent.prompt.is_some()));
    }
}

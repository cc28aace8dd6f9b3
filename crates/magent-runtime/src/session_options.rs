//! Changes of a session's options, which count for later prompts.

use magent_types::{Effort, EventKind, SessionId, Thinking};

use crate::runtime::Runtime;
use crate::{ModelChoice, RuntimeError};

impl Runtime {
    /// Switches a session's agent, for later prompts.
    pub fn set_agent(&self, id: &SessionId, agent: &str) -> Result<(), RuntimeError> {
        let known = self.agents().get(agent);
        if !known.is_some_and(|agent| agent.mode.is_primary() && !agent.hidden) {
            return Err(self.unknown_agent(agent));
        }
        let session = self.session(id)?;
        session.update(|state| state.options.agent = agent.to_owned());
        let kind = EventKind::AgentChanged(agent.to_owned());
        session.emit(&self.services.bus, None, None, kind);
        Ok(())
    }

    /// Switches a session's model, for later prompts; `None` is the default.
    pub fn set_model(
        &self,
        id: &SessionId,
        model: Option<ModelChoice>,
    ) -> Result<(), RuntimeError> {
        self.session(id)?
            .update(|state| state.options.model = model);
        Ok(())
    }

    /// Switches a session's reasoning effort, for later prompts; `None` is the default.
    pub fn set_effort(&self, id: &SessionId, effort: Option<Effort>) -> Result<(), RuntimeError> {
        self.session(id)?
            .update(|state| state.options.effort = effort);
        Ok(())
    }

    /// Switches whether a session's models think, for later prompts; `None` is the default.
    pub fn set_thinking(
        &self,
        id: &SessionId,
        thinking: Option<Thinking>,
    ) -> Result<(), RuntimeError> {
        self.session(id)?
            .update(|state| state.options.thinking = thinking);
        Ok(())
    }
}

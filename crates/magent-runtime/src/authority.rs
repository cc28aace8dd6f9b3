//! What an agent may do, told tool by tool.

use magent_permission::{Exposure, Policy, Request, decide, exposure};
use magent_types::{ApprovalPolicy, Decision, SessionId};

use crate::admission::rule_tables;
use crate::runtime::Runtime;
use crate::{RuntimeConfig, RuntimeError};

/// A row of the report on what an agent may do.
#[derive(Clone, Debug, PartialEq)]
pub struct AuthorityRow {
    /// The tool.
    pub tool: &'static str,
    /// Its permission key.
    pub permission_key: &'static str,
    /// The decision without a particular resource; `None` if the tool is switched off.
    pub decision: Option<Decision>,
    /// Whether the model is told about the tool.
    pub exposed: bool,
    /// How long an approval may last.
    pub approval: ApprovalPolicy,
    /// Why.
    pub explanation: String,
    /// Patterns with decisions of their own.
    pub patterns: Vec<(String, Decision)>,
}

impl Runtime {
    /// What the session's agent may do, tool by tool.
    pub fn authority(
        &self,
        id: &SessionId,
        config: &RuntimeConfig,
    ) -> Result<Vec<AuthorityRow>, RuntimeError> {
        let session = self.session(id)?;
        let (agent, overrides) =
            session.read(|state| (state.options.agent.clone(), state.overrides.clone()));
        let agent = self.agent_of(&agent)?;
        let policy = Policy {
            tables: rule_tables(config, &agent)?,
            overrides,
            bypass: config.bypass_permission,
            enabled_keys: config.enabled_keys.clone(),
        };
        let rows = self.catalog().iter().map(|tool| {
            let spec = tool.spec();
            let request = Request {
                key: spec.permission_key,
                policy: spec.approval,
                resource: None,
            };
            let authorization = decide(&policy, &request);
            let shown = exposure(&policy, spec.permission_key);
            AuthorityRow {
                tool: spec.name,
                permission_key: spec.permission_key,
                decision: (shown != Exposure::Disabled).then_some(authorization.decision),
                exposed: shown == Exposure::Shown,
                approval: spec.approval,
                explanation: authorization.explain(&request),
                patterns: policy
                    .tables
                    .iter()
                    .flat_map(|table| table.patterns(spec.permission_key))
                    .collect(),
            }
        });
        Ok(rows.collect())
    }
}

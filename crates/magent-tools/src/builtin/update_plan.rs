//! The tool `update_plan`: sets the plan that people see of the work.

use async_trait::async_trait;
use magent_types::{
    ApprovalPolicy, Locality, PlanEntry, PlanStatus, ToolError, ToolKind, ToolOutput, ToolSpec,
    shorten,
};
use serde_json::{Map, Value, json};

use super::audit;
use super::display;
use super::schema;
use crate::{Call, Tool, ToolContext};

const DESCRIPTION: &str = "\
Show the user your plan for work of several steps, and how far it is. Every call replaces the \
whole plan; an empty list clears it. At most one step may be in_progress. Update it when a step \
is done. It only shows the plan: it does no work and does not end your turn.";

/// Most steps of a plan; nobody follows a longer one.
const MOST_STEPS: usize = 200;
/// Most characters of a step and of an explanation that are kept.
const LONGEST_TEXT: usize = 500;

/// See the module's documentation.
pub(crate) struct UpdatePlan {
    spec: ToolSpec,
}

impl UpdatePlan {
    /// Makes the tool.
    pub(crate) fn new() -> Self {
        let statuses: Vec<&str> = PlanStatus::ALL.iter().map(|s| s.as_str()).collect();
        let steps = json!({
            "type": "array",
            "description": "All steps in order.",
            "items": {
                "type": "object",
                "properties": {
                    "step": {
                        "type": "string",
                        "minLength": 1,
                        "description": "What is to be done, in a few words.",
                    },
                    "status": { "type": "string", "enum": statuses },
                },
                "required": ["step", "status"],
                "additionalProperties": false,
            },
        });
        let parameters = schema::parameters(
            json!({
                "plan": steps,
                "explanation": {
                    "type": "string",
                    "description": "Why the plan changed, in one sentence.",
                },
            }),
            &["plan"],
        );
        Self {
            spec: ToolSpec {
                name: "update_plan",
                description: DESCRIPTION,
                parameters,
                output: schema::output(json!({ "plan": steps })),
                permission_key: "plan",
                resource_argument: None,
                kind: ToolKind::Think,
                approval: ApprovalPolicy::Normal,
                locality: Locality::Local,
                audited: false,
            },
        }
    }
}

#[async_trait]
impl Tool for UpdatePlan {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, call: &Call, _context: &ToolContext) -> String {
        match read_plan(call) {
            Ok(plan) if !plan.is_empty() => {
                let done = completed(&plan);
                display::title(&format!("Update plan ({done}/{} done)", plan.len()))
            }
            _ => "Update plan".to_owned(),
        }
    }

    fn audit_preview(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        audit::field_count(arguments)
    }

    async fn run(&self, call: &Call, _context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let plan = read_plan(call)?;
        let running = plan
            .iter()
            .filter(|entry| entry.status == PlanStatus::InProgress)
            .count();
        if running > 1 {
            return Err(invalid(format!(
                "{running} steps are in_progress, at most one may be; the plan is unchanged"
            )));
        }
        let content = match plan.len() {
            0 => "Plan cleared.".to_owned(),
            steps => format!(
                "Plan updated: {steps} step{}, {} completed.",
                if steps == 1 { "" } else { "s" },
                completed(&plan)
            ),
        };
        let entries: Vec<Value> = plan
            .iter()
            .map(|entry| json!({ "step": entry.step, "status": entry.status.as_str() }))
            .collect();
        let explanation = call.arguments.get("explanation").and_then(Value::as_str);
        Ok(ToolOutput {
            value: json!({ "plan": entries }),
            content,
            metadata: explanation
                .map(|text| ("explanation".to_owned(), shorten(text, LONGEST_TEXT).into()))
                .into_iter()
                .collect(),
            plan: Some(plan),
            ..ToolOutput::default()
        })
    }
}

/// The plan of a call.
fn read_plan(call: &Call) -> Result<Vec<PlanEntry>, ToolError> {
    let entries = call.arguments.get("plan").and_then(Value::as_array);
    if entries.is_some_and(|entries| entries.len() > MOST_STEPS) {
        return Err(invalid(format!("a plan has at most {MOST_STEPS} steps")));
    }
    entries
        .into_iter()
        .flatten()
        .map(|entry| {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
            let step = text("step").trim();
            let status = PlanStatus::parse(text("status"));
            match status {
                Some(status) if !step.is_empty() => Ok(PlanEntry {
                    step: shorten(step, LONGEST_TEXT),
                    status,
                }),
                _ => Err(invalid("every step needs a text and a status".to_owned())),
            }
        })
        .collect()
}

fn completed(plan: &[PlanEntry]) -> usize {
    plan.iter()
        .filter(|entry| entry.status == PlanStatus::Completed)
        .count()
}

fn invalid(message: String) -> ToolError {
    ToolError::failed("invalid_plan", message)
}

#[cfg(test)]
#[path = "update_plan_tests.rs"]
mod tests;

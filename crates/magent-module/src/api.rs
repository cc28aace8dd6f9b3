//! Requests of Lisp callers: JSON in, a reply or reports out.
//!
//! A request is carried out on the runtime's threads and answered by an event, except
//! where the answer is a look at memory.

use std::sync::Arc;

use magent_permission::RuleTable;
use magent_runtime::{ApprovalMode, AuthorityRow, RuntimeConfig, SubmitRequest, ToolSelection};
use magent_types::{
    Decision, Failure, PermissionRules, PromptBlock, PromptInput, Rule, SessionId, SubmissionId,
};
use serde_json::{Map, Value, json};

use crate::core::{Core, parse};
use crate::errors::{bad_argument, failed};
use crate::outbox::Event;
use crate::reports::Reports;

/// Runs a request on the runtime's threads; its answer is an event with the number that
/// is returned.
pub(crate) fn spawn<F>(core: &'static Core, work: F) -> u64
where
    F: Future<Output = Result<Value, Failure>> + Send + 'static,
{
    let id = core.fresh();
    core.handle.spawn(async move {
        let result = match work.await {
            Ok(value) => Ok(value.to_string()),
            Err(failure) => Err(failure_json(&failure).to_string()),
        };
        core.outbox.push(Event::Reply { id, result });
    });
    id
}

/// A failure as Lisp gets it in a reply.
fn failure_json(failure: &Failure) -> Value {
    json!({
        "kind": failure.kind.as_str(),
        "code": failure.code,
        "message": failure.message,
        "hint": failure.hint,
    })
}

/// Queues a prompt.  The request is an object with `session-id`, `prompt` and, if wanted,
/// `blocks`, `agent`, `model`, `tools`, `approval` and `metadata`.
pub(crate) fn queue_submit(
    core: &'static Core,
    request: &str,
    config: Arc<RuntimeConfig>,
) -> Result<u64, Failure> {
    let request = parse(request)?;
    let text = |key: &str| request.get(key).and_then(Value::as_str);
    let session_id = text("session-id").ok_or_else(|| bad_argument("session-id is missing"))?;
    let model = text("model").map(str::to_owned);
    let mut submission = SubmitRequest {
        id: SubmissionId::fresh(),
        session_id: SessionId::new(session_id),
        input: prompt_input(&request)?,
        tools: tool_selection(request.get("tools"))?,
        agent: text("agent").map(str::to_owned),
        model: None,
        approval: approval_mode(request.get("approval"))?,
        config,
        metadata: match request.get("metadata") {
            Some(Value::Object(metadata)) => metadata.clone(),
            _ => Map::new(),
        },
    };
    Ok(spawn(core, async move {
        if let Some(name) = model {
            let catalog = core.runtime.models().await.map_err(failed)?;
            let choice = catalog
                .find(&name)
                .ok_or_else(|| failed(catalog.unknown(name)))?;
            submission.model = Some(choice);
        }
        let submitted = core.runtime.submit(submission).await.map_err(failed)?;
        // The outcome is told by the reports of the session.
        Ok(json!({
            "submission-id": submitted.id.as_str(),
            "turn-id": submitted.turn_id.as_str(),
        }))
    }))
}

fn prompt_input(request: &Value) -> Result<PromptInput, Failure> {
    let mut blocks = Vec::new();
    if let Some(prompt) = request.get("prompt").and_then(Value::as_str) {
        blocks.push(PromptBlock::Text(prompt.to_owned()));
    }
    for block in request
        .get("blocks")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let text = |key: &str| block.get(key).and_then(Value::as_str).map(str::to_owned);
        let uri = text("uri").ok_or_else(|| bad_argument("a block has no uri"))?;
        blocks.push(match text("text") {
            Some(content) => PromptBlock::Resource {
                uri,
                mime_type: text("mime-type"),
                text: content,
            },
            None => PromptBlock::ResourceLink {
                name: text("name").unwrap_or_else(|| uri.clone()),
                uri,
                mime_type: text("mime-type"),
                size: None,
            },
        });
    }
    Ok(PromptInput { blocks })
}

fn tool_selection(tools: Option<&Value>) -> Result<ToolSelection, Failure> {
    match tools {
        None | Some(Value::Null) => Ok(ToolSelection::All),
        Some(Value::Array(names)) => names
            .iter()
            .map(|name| {
                name.as_str()
                    .map(str::to_owned)
                    .ok_or_else(|| bad_argument("tools are not all names"))
            })
            .collect::<Result<_, _>>()
            .map(ToolSelection::Exact),
        Some(_) => Err(bad_argument("tools is no list")),
    }
}

/// `ask`, `never`, `always`, or rules as `KEY=DECISION` and `KEY:PATTERN=DECISION`,
/// separated by commas.
fn approval_mode(mode: Option<&Value>) -> Result<ApprovalMode, Failure> {
    let text = match mode {
        None | Some(Value::Null) => return Ok(ApprovalMode::Ask),
        Some(Value::String(text)) => text.as_str(),
        Some(_) => return Err(bad_argument("approval is no text")),
    };
    match text {
        "ask" => Ok(ApprovalMode::Ask),
        "never" => Ok(ApprovalMode::Never),
        "always" => Ok(ApprovalMode::Always),
        rules => {
            let rules = approval_rules(rules)?;
            let table = RuleTable::compile("--approve", &rules)
                .map_err(|error| bad_argument(error.to_string()))?;
            Ok(ApprovalMode::Rules(Arc::new(table)))
        }
    }
}

fn approval_rules(text: &str) -> Result<PermissionRules, Failure> {
    let rules = text
        .split(',')
        .map(|entry| {
            let wrong = || {
                bad_argument(format!(
                    "the approval {entry:?} is none of ask, never, always, KEY=allow|deny, \
                     KEY:PATTERN=allow|deny"
                ))
            };
            let (what, decision) = entry.trim().split_once('=').ok_or_else(wrong)?;
            let decision = Decision::parse(decision).ok_or_else(wrong)?;
            let (key, pattern) = match what.split_once(':') {
                None => (what, None),
                Some((key, pattern)) => (key, Some(pattern)),
            };
            if key != "*" && !magent_permission::PERMISSION_KEYS.contains(&key) {
                return Err(bad_argument(format!("there is no permission key {key:?}")));
            }
            let rule = match pattern {
                None => Rule::Always(decision),
                Some(pattern) => Rule::ByPattern(vec![(pattern.to_owned(), decision)]),
            };
            Ok((key.to_owned(), rule))
        })
        .collect::<Result<_, _>>()?;
    Ok(PermissionRules { rules })
}

/// Sends the reports of a session to Lisp.
pub(crate) fn observe(core: &'static Core, session: &str) {
    let mut observers = core.observers.lock();
    if observers.contains_key(session) {
        return;
    }
    let reports = Reports::new(session, Arc::clone(&core.outbox), core.handle.clone());
    let observer = core.runtime.subscribe(
        Some(SessionId::new(session)),
        Arc::new(move |event| reports.take(event)),
    );
    observers.insert(session.to_owned(), observer);
}

/// Ends that.
pub(crate) fn unobserve(core: &'static Core, session: &str) {
    if let Some(observer) = core.observers.lock().remove(session) {
        core.runtime.unsubscribe(observer);
    }
}

/// What a session's agent may do, as an array of objects.
pub(crate) fn authority_json(rows: &[AuthorityRow]) -> Value {
    rows.iter()
        .map(|row| {
            let patterns: Vec<Value> = row
                .patterns
                .iter()
                .map(|(pattern, decision)| json!([pattern, decision.as_str()]))
                .collect();
            json!({
                "tool": row.tool,
                "permission-key": row.permission_key,
                "decision": row.decision.map(Decision::as_str),
                "exposed": row.exposed,
                "approval": row.approval.as_str(),
                "explanation": row.explanation,
                "patterns": patterns,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approvals_without_a_user() {
        let mode = |text: &str| approval_mode(Some(&json!(text)));
        assert!(matches!(mode("never"), Ok(ApprovalMode::Never)));
        assert!(matches!(mode("always"), Ok(ApprovalMode::Always)));
        assert!(matches!(approval_mode(None), Ok(ApprovalMode::Ask)));
        let Ok(ApprovalMode::Rules(table)) = mode("bash=allow, edit:src/*=allow,*=deny") else {
            panic!("no rules");
        };
        assert_eq!(table.evaluate("bash", None).decision, Decision::Allow);
        assert_eq!(table.evaluate("write", None).decision, Decision::Deny);
        for bad in ["sometimes", "bash", "bash=perhaps", "nope=allow"] {
            assert!(mode(bad).is_err(), "{bad}");
        }
    }
}

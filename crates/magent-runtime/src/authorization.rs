//! Whether a call may run: steps 4 and 5 of the orchestrator, by rule and by question.
//!
//! Nothing here runs a tool; a call that may not run is settled.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use magent_permission::{Authorization, Policy, Request, ResourceName, Source, decide};
use magent_tools::ReadFilter;
use magent_types::{ApprovalPolicy, ApprovalView, Decision, EventKind, ToolError, short};

use crate::approval::{ApprovalDecision, ApprovalMode};
use crate::call_audit::audit;
use crate::calls::{PendingCall, ReadyCall};
use crate::execution::tool_context;
use crate::settlement::settle;
use crate::turn_context::TurnContext;

/// How long a preview may take; the question is put without it then.
const PREVIEW_LIMIT: Duration = Duration::from_secs(5);

/// Step 4.
pub(crate) fn authorize(turn: &TurnContext, ready: &ReadyCall) -> Authorization {
    let policy = policy_of(turn);
    let spec = ready.tool.spec();
    let request = Request {
        key: spec.permission_key,
        policy: spec.approval,
        resource: resource_of(turn, ready),
    };
    let authorization = decide(&policy, &request);
    let source = authorization.source.name(authorization.decision);
    audit(turn, ready, "permission-decision", |record| {
        record.decision = Some(authorization.decision.as_str().to_owned());
        record.decision_source = Some(source);
    });
    authorization
}

/// The policy of a turn now: frozen rules, and the session's decisions as they stand.
pub(crate) fn policy_of(turn: &TurnContext) -> Policy {
    let request = turn.request();
    Policy {
        tables: request.tables.clone(),
        overrides: turn.session().read(|state| state.overrides.clone()),
        bypass: request.config.bypass_permission,
        enabled_keys: request.config.enabled_keys.clone(),
    }
}

/// How rules see what a call is about.
fn resource_of<'a>(turn: &TurnContext, ready: &'a ReadyCall) -> Option<ResourceName<'a>> {
    let root = turn.session().scope.root();
    ready.call.resource.as_ref().map(|resource| ResourceName {
        path: resource.path(),
        in_project: root.and_then(|root| below(root, resource.path())),
    })
}

/// The part of a path below the root; the root itself is inside.
fn below<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    if rest.is_empty() {
        return Some("");
    }
    rest.strip_prefix('/')
}

/// Whether the rules let `read_file` show a file; a search must not show the others.
pub(crate) fn read_filter(turn: &TurnContext) -> ReadFilter {
    let policy = policy_of(turn);
    let root = turn.session().scope.root().map(str::to_owned);
    Arc::new(move |path| {
        let request = Request {
            key: "read",
            policy: ApprovalPolicy::Normal,
            resource: Some(ResourceName {
                path,
                in_project: root.as_deref().and_then(|root| below(root, path)),
            }),
        };
        decide(&policy, &request).decision != Decision::Deny
    })
}

/// Refuses a call by rule and settles it.
pub(crate) async fn refuse(turn: &TurnContext, ready: ReadyCall, authorization: &Authorization) {
    let what = match &ready.call.resource {
        Some(resource) => format!(" to {}", short(resource.given())),
        None => String::new(),
    };
    let key = ready.tool.spec().permission_key;
    let message = match authorization.source {
        Source::SessionOverride => {
            format!("Denied: the user refused {key} for the rest of this session.")
        }
        _ => format!("Access{what} denied by the permission rules for {key}."),
    };
    deny(
        turn,
        ready,
        "permission-denied",
        message,
        &authorization_source(authorization),
    )
    .await;
}

fn authorization_source(authorization: &Authorization) -> String {
    authorization.source.name(authorization.decision)
}

async fn deny(turn: &TurnContext, ready: ReadyCall, code: &str, message: String, source: &str) {
    let ReadyCall {
        mut pending,
        tool,
        call,
    } = ready;
    note_decision(&mut pending, "deny", source);
    let error = ToolError::failed(code, message);
    settle(turn, pending, Some((&tool, &call)), Err(error)).await;
}

fn note_decision(pending: &mut PendingCall, decision: &str, source: &str) {
    let metadata = &mut pending.item.metadata;
    metadata.insert("approval-decision".into(), decision.into());
    metadata.insert("approval-source".into(), source.into());
}

/// Notes that a call may run by rule.
pub(crate) fn note_allowed(ready: &mut ReadyCall, authorization: &Authorization) {
    note_decision(
        &mut ready.pending,
        "allow",
        &authorization_source(authorization),
    );
}

/// Step 5.  Returns the call if it may run; a refused one is settled.  `None` is also
/// returned when the turn is cancelled meanwhile, which settles the call elsewhere.
pub(crate) async fn approve(
    turn: &TurnContext,
    mut ready: ReadyCall,
    authorization: &Authorization,
) -> Option<ReadyCall> {
    let policy = authorization.approval_policy(ready.tool.spec().approval);
    let decision = match &turn.request().approval {
        ApprovalMode::Always => ApprovalDecision::AllowOnce,
        ApprovalMode::Never => ApprovalDecision::DenyOnce,
        ApprovalMode::Rules(table) => {
            let key = ready.tool.spec().permission_key;
            let hit = table.evaluate(key, resource_of(turn, &ready));
            // Rules for an absent user must allow by name; silence is a no.
            let is_allowed = hit.decision == Decision::Allow && hit.number > 0;
            let is_outside = authorization.source == Source::OutsideProject;
            if is_allowed && (!is_outside || hit.names_place()) {
                ApprovalDecision::AllowOnce
            } else {
                ApprovalDecision::DenyOnce
            }
        }
        ApprovalMode::Ask => ask(turn, &mut ready, policy).await?,
    };
    let key = ready.tool.spec().permission_key;
    let for_session = match decision {
        ApprovalDecision::AllowSession => Some(Decision::Allow),
        ApprovalDecision::DenySession => Some(Decision::Deny),
        ApprovalDecision::AllowOnce | ApprovalDecision::DenyOnce => None,
    };
    if let Some(for_session) = for_session {
        turn.session()
            .update(|state| state.overrides.set(key, for_session));
    }
    let source = format!("user-{}", decision.as_str());
    audit(turn, &ready, "permission-decision", |record| {
        let verdict = if decision.allows() { "allow" } else { "deny" };
        record.decision = Some(verdict.to_owned());
        record.decision_source = Some(source.clone());
    });
    if decision.allows() {
        note_decision(&mut ready.pending, "allow", &source);
        return Some(ready);
    }
    let message = match &turn.request().approval {
        ApprovalMode::Ask => {
            "The user refused this call. Do not try to reach the same by other means.".to_owned()
        }
        ApprovalMode::Rules(table) => format!(
            "This call needs approval, and the rules of {} do not give it to {key}. Do not try \
             to reach the same by other means.",
            table.origin()
        ),
        ApprovalMode::Never | ApprovalMode::Always => {
            "This call needs the user's approval, and nobody is there to give it.".to_owned()
        }
    };
    deny(turn, ready, "permission-denied", message, &source).await;
    None
}

/// Puts the question and waits for the answer.
async fn ask(
    turn: &TurnContext,
    ready: &mut ReadyCall,
    policy: ApprovalPolicy,
) -> Option<ApprovalDecision> {
    let context = tool_context(turn, None);
    let preview = AssertUnwindSafe(ready.tool.preview(&ready.call, &context)).catch_unwind();
    // A preview that fails or takes too long must not stand in the way of the call.
    if let Ok(Ok(diffs)) = tokio::time::timeout(PREVIEW_LIMIT, preview).await {
        ready.pending.show_diffs(diffs);
    }
    let question = turn.services.approvals.ask();
    let id = question.id().clone();
    audit(turn, ready, "approval-requested", |record| {
        record.decision = Some("ask".to_owned());
        record.decision_source = Some("approval-requested".to_owned());
        record.status = Some("pending".to_owned());
        record.request_id = Some(id.as_str().to_owned());
    });
    let spec = ready.tool.spec();
    turn.emit(EventKind::ApprovalRequested(ApprovalView {
        approval_id: id.clone(),
        tool: ready.pending.view.clone(),
        permission_key: spec.permission_key.to_owned(),
        policy,
    }));
    let answer = tokio::select! {
        biased;
        () = turn.cancel().cancelled() => None,
        decision = question.answer() => Some(decision.under(policy)),
    };
    let (event, name) = match answer {
        Some(decision) => ("approval-resolved", decision.as_str()),
        None => ("approval-dropped", "dropped"),
    };
    audit(turn, ready, event, |record| {
        record.decision = Some(name.to_owned());
        record.request_id = Some(id.as_str().to_owned());
    });
    turn.emit(EventKind::ApprovalResolved {
        approval_id: id,
        call_id: ready.pending.view.call_id.clone(),
        decision: name.to_owned(),
    });
    answer
}

//! From a model's call to its recorded result, in this order and no other:
//!
//!  1. resolve the tool among those this epoch offers
//!  2. check the arguments against the tool's schema
//!  3. give the path its identity and freeze it
//!  4. decide by rules, session decisions and policies
//!  5. ask, if the decision is to ask
//!  6. check that the path still has the same identity
//!  7. run
//!  8. bound the result and spill the rest
//!  9. audit
//! 10. record the result on the call's own item
//!
//! Every path through it ends in step 10, so that each call gets exactly one result.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use magent_permission::{Authorization, Policy, Request, ResourceName, Source, decide};
use magent_tools::{Call, ReadFilter, Resource, Tool, ToolContext, check_arguments, resolve_path};
use magent_types::{
    ApprovalPolicy, ApprovalView, Decision, EventKind, Failure, ItemStatus, ToolError, ToolOutput,
};
use serde_json::Value;

use crate::approval::{ApprovalDecision, ApprovalMode};
use crate::call_audit::{audit, audit_call};
use crate::calls::{PendingCall, ReadyCall};
use crate::live::LiveRelay;
use crate::settlement::settle;
use crate::turn_context::TurnContext;

/// No call runs longer than this, whatever its own limits say; `bash` has one of its own.
const CALL_LIMIT: Duration = Duration::from_secs(300);
/// How long a cancelled call may take to end by itself before it is dropped.
const CANCEL_GRACE: Duration = Duration::from_millis(50);
/// How long a preview may take; the question is put without it then.
const PREVIEW_LIMIT: Duration = Duration::from_secs(5);

/// Steps 1 to 3.  A call that fails them is settled and `None` returned.
pub(crate) async fn check(
    turn: &TurnContext,
    tools: &[Arc<dyn Tool>],
    mut pending: PendingCall,
) -> Option<ReadyCall> {
    let prepared = prepare(turn, tools, &mut pending).await;
    turn.announce(&pending.view);
    match prepared {
        Ok((tool, call)) => Some(ReadyCall {
            pending,
            tool,
            call,
        }),
        Err(error) => {
            settle(turn, pending, None, Err(error)).await;
            None
        }
    }
}

async fn prepare(
    turn: &TurnContext,
    tools: &[Arc<dyn Tool>],
    pending: &mut PendingCall,
) -> Result<(Arc<dyn Tool>, Call), ToolError> {
    let name = pending.view.name.clone();
    let tool = tools.iter().find(|tool| tool.spec().name == name);
    let Some(tool) = tool else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name).collect();
        return Err(ToolError::failed(
            "unknown_tool",
            format!(
                "There is no tool named {name:?} here. Available: {}.",
                names.join(", ")
            ),
        ));
    };
    let (arguments, reason) = check_arguments(tool.spec(), &pending.raw_arguments)
        .map_err(|error| ToolError::failed("bad_arguments", format!("{name}: {error}.")))?;
    if let Some(reason) = reason {
        pending.item.metadata.insert("reason".into(), reason.into());
    }
    let resource = match tool.spec().resource_argument {
        None => None,
        Some(argument) => {
            let given = arguments.get(argument).and_then(Value::as_str);
            Some(resolve(turn, given.unwrap_or_default()).await?)
        }
    };
    let call = Call {
        arguments,
        resource,
    };
    let context = tool_context(turn, None);
    pending.describe(tool.title(&call, &context), tool.locations(&call));
    // A call that is cancelled while it waits is shown from what the ledger has.
    turn.record(|ledger, now| ledger.start_item(pending.item.clone(), now));
    Ok((Arc::clone(tool), call))
}

/// Step 3: reading links may touch a slow disk, so it runs on a thread for that.
async fn resolve(turn: &TurnContext, given: &str) -> Result<Resource, ToolError> {
    let context = tool_context(turn, None);
    let text = given.to_owned();
    let resolved = tokio::task::spawn_blocking(move || {
        resolve_path(
            &text,
            &context.base_directory(),
            context.home.as_deref(),
            &context.scope,
        )
    });
    match resolved.await {
        Ok(Ok(resource)) => Ok(resource),
        Ok(Err(error)) => Err(ToolError::Failed {
            code: "canonicalization-deny".to_owned(),
            message: format!("Access denied: {error} ({given:?})."),
            content: String::new(),
            exit_code: None,
            metadata: [("approval-source".to_owned(), "canonicalization-deny".into())]
                .into_iter()
                .collect(),
        }),
        Err(_) => Err(internal("the path check ended early")),
    }
}

fn internal(problem: &str) -> ToolError {
    ToolError::failed("internal", format!("A bug in Magent: {problem}."))
}

/// Step 4.
pub(crate) fn authorize(turn: &TurnContext, ready: &ReadyCall) -> Authorization {
    let policy = policy_of(turn);
    let root = turn.session().scope.root();
    let spec = ready.tool.spec();
    let request = Request {
        key: spec.permission_key,
        policy: spec.approval,
        resource: ready.call.resource.as_ref().map(|resource| ResourceName {
            path: resource.path(),
            in_project: root.and_then(|root| below(root, resource.path())),
        }),
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

/// The part of a path below the root; the root itself is inside.
fn below<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    if rest.is_empty() {
        return Some("");
    }
    rest.strip_prefix('/')
}

/// Refuses a call by rule and settles it.
pub(crate) async fn refuse(turn: &TurnContext, ready: ReadyCall, authorization: &Authorization) {
    let what = match &ready.call.resource {
        Some(resource) => format!(" to {}", resource.given()),
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
pub(crate) async fn approve(turn: &TurnContext, mut ready: ReadyCall) -> Option<ReadyCall> {
    let decision = match &turn.request().approval {
        ApprovalMode::Always => ApprovalDecision::AllowOnce,
        ApprovalMode::Never => ApprovalDecision::DenyOnce,
        ApprovalMode::Rules(table) => {
            let root = turn.session().scope.root();
            let resource = ready.call.resource.as_ref().map(|resource| ResourceName {
                path: resource.path(),
                in_project: root.and_then(|root| below(root, resource.path())),
            });
            let hit = table.evaluate(ready.tool.spec().permission_key, resource);
            match (hit.decision, hit.number) {
                // Rules for an absent user must allow by name; silence is a no.
                (Decision::Allow, 1..) => ApprovalDecision::AllowOnce,
                _ => ApprovalDecision::DenyOnce,
            }
        }
        ApprovalMode::Ask => ask(turn, &mut ready).await?,
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
    let message = if matches!(turn.request().approval, ApprovalMode::Ask) {
        "The user refused this call. Do not try to reach the same by other means."
    } else {
        "This call needs the user's approval, and nobody is there to give it."
    };
    deny(
        turn,
        ready,
        "permission-denied",
        message.to_owned(),
        &source,
    )
    .await;
    None
}

/// Puts the question and waits for the answer.
async fn ask(turn: &TurnContext, ready: &mut ReadyCall) -> Option<ApprovalDecision> {
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
        policy: spec.approval,
    }));
    let answer = tokio::select! {
        biased;
        () = turn.cancel().cancelled() => None,
        decision = question.answer() => Some(decision.under(spec.approval)),
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

/// Steps 6 to 10.  Returns a failure only if the turn cannot go on.
pub(crate) async fn execute(turn: &TurnContext, ready: ReadyCall) -> Result<(), Failure> {
    let ReadyCall {
        mut pending,
        tool,
        call,
    } = ready;
    if let Err(error) = recheck(turn, &call).await {
        settle(turn, pending, Some((&tool, &call)), Err(error)).await;
        return Ok(());
    }
    pending.item.status = ItemStatus::InProgress;
    pending.view.status = ItemStatus::InProgress;
    turn.record(|ledger, now| ledger.start_item(pending.item.clone(), now));
    turn.emit(EventKind::ToolStart(pending.view.clone()));
    if tool.spec().audited {
        audit_call(turn, &tool, &call, &pending, "tool-call-start", |_| {});
    }
    let result = run(turn, &tool, &call, &pending).await;
    match result {
        Err(ToolError::Fatal(failure)) => {
            let error = ToolError::failed(failure.code.clone(), failure.message.clone());
            settle(turn, pending, Some((&tool, &call)), Err(error)).await;
            Err(failure)
        }
        result => {
            settle(turn, pending, Some((&tool, &call)), result).await;
            Ok(())
        }
    }
}

/// Step 6: a link may have been swapped while the question was open.
async fn recheck(turn: &TurnContext, call: &Call) -> Result<(), ToolError> {
    let Some(frozen) = &call.resource else {
        return Ok(());
    };
    if frozen.is_remote() {
        return Ok(());
    }
    let again = resolve(turn, frozen.given()).await?;
    if again == *frozen {
        return Ok(());
    }
    Err(ToolError::Failed {
        code: "resource-identity-changed".to_owned(),
        message: format!(
            "{} no longer leads to the file that was checked; look at it again first.",
            frozen.given()
        ),
        content: String::new(),
        exit_code: None,
        metadata: [("resource-identity-changed".to_owned(), true.into())]
            .into_iter()
            .collect(),
    })
}

/// Step 7.
async fn run(
    turn: &TurnContext,
    tool: &Arc<dyn Tool>,
    call: &Call,
    pending: &PendingCall,
) -> Result<ToolOutput, ToolError> {
    let relay = tool.has_live_output().then(|| live_relay(turn, pending));
    let context = tool_context(turn, relay.clone());
    let limit = CALL_LIMIT.max(context.limits.bash_timeout + Duration::from_secs(30));
    let work = AssertUnwindSafe(tool.run(call, &context)).catch_unwind();
    let result = tokio::select! {
        result = work => match result {
            Ok(result) => result,
            Err(_) => Err(internal("the tool panicked")),
        },
        // Dropping the call ends what it started.
        () = tokio::time::sleep(limit) => Err(ToolError::failed(
            "timeout",
            format!("The call did not end within {} s and was stopped.", limit.as_secs()),
        )),
        () = cancelled_for(turn, CANCEL_GRACE) => Err(ToolError::Cancelled),
    };
    if let Some(relay) = relay {
        let rest = relay.finish();
        if !rest.is_empty() {
            turn.emit(EventKind::ToolOutput {
                call_id: pending.view.call_id.clone(),
                text: rest,
            });
        }
    }
    result
}

async fn cancelled_for(turn: &TurnContext, grace: Duration) {
    turn.cancel().cancelled().await;
    tokio::time::sleep(grace).await;
}

fn live_relay(turn: &TurnContext, pending: &PendingCall) -> LiveRelay {
    let session = Arc::clone(&turn.submission.session);
    let services = Arc::clone(&turn.services);
    let submission = turn.submission.id.clone();
    let turn_id = turn.submission.turn_id.clone();
    let call_id = pending.view.call_id.clone();
    LiveRelay::start(move |text| {
        let call_id = call_id.clone();
        session.emit(
            &services.bus,
            Some(&submission),
            Some(&turn_id),
            EventKind::ToolOutput { call_id, text },
        );
    })
}

fn tool_context(turn: &TurnContext, relay: Option<LiveRelay>) -> ToolContext {
    turn.services.tool_context(
        turn.session(),
        &turn.request().config,
        turn.cancel().clone(),
        read_filter(turn),
        relay,
    )
}

/// Whether the rules let `read_file` show a file; a search must not show the others.
fn read_filter(turn: &TurnContext) -> ReadFilter {
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

//! The run of a call that may run: steps 6 and 7 of the orchestrator.
//!
//! Nothing here decides whether it may.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use magent_tools::{Call, Tool, ToolContext};
use magent_types::{EventKind, Failure, ItemStatus, ToolError, ToolOutput, short};

use crate::authorization::read_filter;
use crate::call_audit::audit_call;
use crate::calls::{PendingCall, ReadyCall};
use crate::live::LiveRelay;
use crate::orchestrator::{internal, resolve};
use crate::settlement::settle;
use crate::turn_context::TurnContext;

/// No call runs longer than this, whatever its own limits say; `bash` has one of its own.
const CALL_LIMIT: Duration = Duration::from_secs(300);
/// How long a cancelled call may take to end by itself before it is dropped.
const CANCEL_GRACE: Duration = Duration::from_millis(50);

/// Steps 6 and 7, and the rest by `settle`.  Returns a failure only if the turn cannot go on.
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
            short(frozen.given())
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

/// What tools get of a turn.
pub(crate) fn tool_context(turn: &TurnContext, relay: Option<LiveRelay>) -> ToolContext {
    turn.services.tool_context(
        turn.session(),
        &turn.request().config,
        turn.cancel().clone(),
        read_filter(turn),
        relay,
    )
}

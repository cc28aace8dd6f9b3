//! The calls of one answer: decided and asked for in order, run one after the other.

use std::sync::Arc;

use magent_permission::Authorization;
use magent_tools::Tool;
use magent_types::{Decision, Failure, ModelCall};
use tokio::sync::mpsc;

use crate::authorization::{approve, authorize, note_allowed, refuse};
use crate::calls::{PendingCall, ReadyCall, used_call_ids};
use crate::execution::execute;
use crate::orchestrator::check;
use crate::turn_context::TurnContext;

/// How a batch ended.
pub(crate) enum BatchEnd {
    /// Every call has its result.
    Settled,
    /// The turn was cancelled; calls without a result are cancelled with it.
    Cancelled,
    /// A call ended in a way that ends the turn.
    Fatal(Failure),
}

/// Runs the calls of one answer.
///
/// Refused calls are answered at once and allowed ones start at once; the others are
/// asked for one by one, the next question without waiting for the call before it to
/// end.  Calls never run side by side.
pub(crate) async fn run_batch(
    turn: &TurnContext,
    tools: &[Arc<dyn Tool>],
    calls: &[ModelCall],
) -> BatchEnd {
    let pending = begin(turn, tools, calls);
    let (sender, mut ready) = mpsc::unbounded_channel::<ReadyCall>();
    let admit = async move {
        let mut questions: Vec<ReadyCall> = Vec::new();
        for call in pending {
            let Some(mut call) = check(turn, tools, call).await else {
                continue;
            };
            let authorization: Authorization = authorize(turn, &call);
            match authorization.decision {
                Decision::Deny => refuse(turn, call, &authorization).await,
                Decision::Allow => {
                    note_allowed(&mut call, &authorization);
                    // The receiver lives until this ends.
                    let _ = sender.send(call);
                }
                Decision::Ask => questions.push(call),
            }
        }
        for mut call in questions {
            if turn.cancel().is_cancelled() {
                return;
            }
            // An answer given meanwhile may have settled this one too.
            let authorization = authorize(turn, &call);
            match authorization.decision {
                Decision::Deny => refuse(turn, call, &authorization).await,
                Decision::Allow => {
                    note_allowed(&mut call, &authorization);
                    let _ = sender.send(call);
                }
                Decision::Ask => {
                    if let Some(call) = approve(turn, call, &authorization).await {
                        let _ = sender.send(call);
                    }
                }
            }
        }
    };
    let work = async {
        while let Some(call) = ready.recv().await {
            if turn.cancel().is_cancelled() {
                return Ok(());
            }
            execute(turn, call).await?;
        }
        Ok(())
    };
    tokio::pin!(admit, work);
    let mut admitting = true;
    // A fatal end must not wait for an answer that may never come.
    let result = loop {
        tokio::select! {
            result = &mut work => break result,
            () = &mut admit, if admitting => admitting = false,
        }
    };
    match result {
        Err(failure) => BatchEnd::Fatal(failure),
        Ok(()) if turn.cancel().is_cancelled() => BatchEnd::Cancelled,
        Ok(()) => BatchEnd::Settled,
    }
}

/// Records every call as pending before anything is decided about it.
fn begin(turn: &TurnContext, tools: &[Arc<dyn Tool>], calls: &[ModelCall]) -> Vec<PendingCall> {
    let mut used = turn
        .session()
        .read(|state| used_call_ids(state.ledger.thread()));
    let mut pending = Vec::with_capacity(calls.len());
    for call in calls {
        let tool = tools.iter().find(|tool| tool.spec().name == call.name);
        let call = turn.record(|ledger, now| {
            let turn_id = &turn.submission.turn_id;
            let call = PendingCall::new(call, turn_id, &mut used, tool, now);
            ledger.start_item(call.item.clone(), now);
            call
        });
        pending.push(call);
    }
    pending
}

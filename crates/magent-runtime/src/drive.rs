//! A submission from its start to its one outcome, whatever happens in between.

use std::sync::Arc;
use std::time::Duration;

use magent_ledger::{NewTurn, UserWords};
use magent_types::{
    EventKind, Failure, FailureKind, ItemId, ItemStatus, ItemType, PromptInput, StopReason,
    SubmissionId, TurnId, TurnOutcome, TurnStatus, TurnStatusKind, Usage, UserImage,
};
use serde_json::json;

use crate::SubmitRequest;
use crate::compaction::tell_if_full;
use crate::replay::tool_view;
use crate::runtime::Runtime;
use crate::session::Session;
use crate::steering::close_words;
use crate::submission::Submission;
use crate::turn::{TurnEnd, run_turn};
use crate::turn_context::TurnContext;

/// How long a cancelled turn may take to end by itself before it is dropped.
const CANCEL_LIMIT: Duration = Duration::from_millis(80);

/// How long a finished turn waits for the disk before it is reported anyway.
const FLUSH_LIMIT: Duration = Duration::from_secs(3);

/// Records a prompt as a queued turn.
pub(crate) fn record_prompt(
    session: &Session,
    submission: &SubmissionId,
    request: &SubmitRequest,
    images: Vec<UserImage>,
) -> (TurnId, ItemId) {
    let mut metadata = request.metadata.clone();
    metadata
        .entry("source")
        .or_insert_with(|| "runtime-queue".into());
    let turn = NewTurn {
        op_id: submission.as_str().to_owned(),
        words: words_of(&request.input, images),
        metadata,
    };
    session.record(|ledger, now| ledger.queue_turn(turn, now))
}

/// What the user says, as the ledger keeps it.
pub(crate) fn words_of(input: &PromptInput, images: Vec<UserImage>) -> UserWords {
    let display = input.display_text();
    let model_text = input.model_text();
    UserWords {
        model_text: (model_text != display).then_some(model_text),
        display,
        images,
    }
}

/// Runs a submission whose slot is free.
pub(crate) async fn drive(runtime: Arc<Runtime>, submission: Arc<Submission>) {
    let turn = Arc::new(TurnContext::new(
        Arc::clone(runtime.services()),
        Arc::clone(&submission),
    ));
    if !submission.cancel.is_cancelled() {
        turn.record(|ledger, now| ledger.start_turn(&submission.turn_id, now));
        turn.emit(EventKind::TurnStart);
    }
    let end = supervise(&turn).await;
    settle(&turn, end).await;
    runtime.release(&submission);
}

/// Runs the loop on a task of its own: a panic there is an error of that turn, and a
/// loop that does not heed a cancel is dropped.
async fn supervise(turn: &Arc<TurnContext>) -> TurnEnd {
    let work = Arc::clone(turn);
    let mut task = tokio::spawn(async move { run_turn(&work).await });
    let overdue = async {
        turn.cancel().cancelled().await;
        tokio::time::sleep(CANCEL_LIMIT).await;
    };
    tokio::select! {
        joined = &mut task => match joined {
            Ok(end) => end,
            Err(error) if error.is_cancelled() => TurnEnd::Cancelled,
            Err(_) => TurnEnd::Failed(
                Failure::new(FailureKind::Internal, "panic", "A bug in Magent ended the turn.")
                    .with_hint("The log has the details; the session itself is intact."),
                None,
            ),
        },
        () = overdue => {
            task.abort();
            TurnEnd::Cancelled
        }
    }
}

/// Ends the turn in the ledger, waits for the disk, and tells everybody once.
async fn settle(turn: &TurnContext, end: TurnEnd) {
    close_words(turn);
    let usage = *turn.usage.lock();
    let (status, detail, mut outcome) = match end {
        TurnEnd::Answered(text, stop) => (
            TurnStatus::Completed,
            usage.to_json(),
            outcome(TurnStatusKind::Completed, text, Some(stop), None, usage),
        ),
        TurnEnd::Failed(failure, stop) => (
            TurnStatus::Failed,
            json!({"code": failure.code, "message": failure.full_text()}),
            outcome(
                TurnStatusKind::Failed,
                String::new(),
                stop,
                Some(failure),
                usage,
            ),
        ),
        TurnEnd::Cancelled => (
            TurnStatus::Interrupted,
            json!({"code": "cancelled", "message": "The turn was cancelled."}),
            cancelled(usage),
        ),
    };
    close_open_calls(turn);
    let turn_id = &turn.submission.turn_id;
    turn.record(|ledger, now| ledger.end_turn(turn_id, status, detail, now));
    if outcome.status == TurnStatusKind::Cancelled {
        // The user waits for the screen, and nothing of a cancelled turn is promised.
        turn.session().flush_later();
    } else if let Some(problem) = turn.session().flush(FLUSH_LIMIT).await {
        outcome.saved = false;
        let text = format!("The turn is not on the disk yet: {problem}.");
        turn.emit(EventKind::Notice { item: None, text });
    }
    turn.session().note_progress();
    tell_if_full(turn);
    if let Some(problem) = turn.services.audit.problem().await {
        let text = format!(
            "The audit cannot be written ({problem}). Its newest records are kept in memory only."
        );
        turn.emit(EventKind::Notice { item: None, text });
    }
    turn.session()
        .checkpoint_if_due(turn.request().config.writer);
    finish(turn, outcome);
}

/// Rows of calls that never ran must not look as if they still could.
fn close_open_calls(turn: &TurnContext) {
    let open: Vec<_> = turn.session().read(|state| {
        let thread = state.ledger.thread();
        let items = thread
            .turn(&turn.submission.turn_id)
            .map(|turn| turn.items.clone())
            .unwrap_or_default();
        items
            .into_iter()
            .filter(|item| item.kind == ItemType::Tool && !item.status.is_terminal())
            .collect()
    });
    let reason = json!({"code": "cancelled", "message": "The turn ended before the call did."});
    for item in open {
        let mut view = tool_view(&item, &turn.services.catalog);
        turn.announce(&view);
        view.status = ItemStatus::Cancelled;
        view.content = "The turn ended before the call did.".to_owned();
        let cancelled = magent_types::Item::clone(&item);
        turn.record(|ledger, now| ledger.cancel_item(cancelled, reason.clone(), now));
        turn.emit(EventKind::ToolComplete(view));
    }
}

fn finish(turn: &TurnContext, outcome: TurnOutcome) {
    turn.emit(EventKind::TurnEnd(Box::new(outcome.clone())));
    let sender = turn.submission.outcome.lock().take();
    if let Some(sender) = sender {
        // Whoever asked may have gone away; the ledger has the outcome.
        let _ = sender.send(outcome);
    }
}

/// Ends a submission that was cancelled before it ran.
pub(crate) fn drop_waiting(runtime: &Arc<Runtime>, submission: &Arc<Submission>) {
    let turn = TurnContext::new(Arc::clone(runtime.services()), Arc::clone(submission));
    let detail = json!({"code": "cancelled", "message": "The prompt was cancelled in the queue."});
    turn.record(|ledger, now| {
        ledger.end_turn(&submission.turn_id, TurnStatus::Dropped, detail, now)
    });
    turn.session().flush_later();
    finish(&turn, cancelled(Usage::default()));
}

fn cancelled(usage: Usage) -> TurnOutcome {
    outcome(TurnStatusKind::Cancelled, String::new(), None, None, usage)
}

fn outcome(
    status: TurnStatusKind,
    text: String,
    stop: Option<StopReason>,
    failure: Option<Failure>,
    usage: Usage,
) -> TurnOutcome {
    TurnOutcome {
        status,
        text,
        stop,
        failure,
        usage,
        saved: true,
    }
}

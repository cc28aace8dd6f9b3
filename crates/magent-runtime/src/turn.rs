//! The turn loop: epochs of asking and acting until there is an answer.

use std::sync::atomic::Ordering;

use magent_types::{Failure, FailureKind, StopReason};

use crate::batch::{BatchEnd, run_batch};
use crate::builder::{EpochContext, EpochReason, build};
use crate::sample::{SampleEnd, empty_completion, run_sample};
use crate::steering::join_words;
use crate::turn_context::TurnContext;

/// How a turn ended.
pub(crate) enum TurnEnd {
    /// With this answer.
    Answered(String, StopReason),
    /// With this failure, after a sample that stopped for this reason, if one did.
    Failed(Failure, Option<StopReason>),
    /// By a cancel.
    Cancelled,
}

/// Runs a turn to its end.
pub(crate) async fn run_turn(turn: &TurnContext) -> TurnEnd {
    let mut context = EpochContext {
        index: 1,
        reason: EpochReason::Initial,
        phase: "single",
    };
    loop {
        if turn.cancel().is_cancelled() {
            return TurnEnd::Cancelled;
        }
        if turn.requests_left() == 0 {
            return TurnEnd::Failed(over_limit(turn), None);
        }
        join_words(turn);
        let epoch = tokio::select! {
            biased;
            () = turn.cancel().cancelled() => return TurnEnd::Cancelled,
            epoch = build(turn, context) => match epoch {
                Ok(epoch) => epoch,
                Err(failure) => return TurnEnd::Failed(failure, None),
            },
        };
        // What the turn has done so far is on the disk before a model is asked to go on.
        turn.session().flush_later();
        let answer = match run_sample(turn, &epoch).await {
            SampleEnd::Answered(answer) => answer,
            SampleEnd::Failed(failure) => return TurnEnd::Failed(failure, None),
            SampleEnd::Cancelled => return TurnEnd::Cancelled,
        };
        context.index += 1;
        if answer.calls.is_empty() {
            let end = conclude(answer.text, answer.stop, || empty_completion(&epoch));
            let is_answered = matches!(end, TurnEnd::Answered(..));
            if !is_answered || turn.submission.steering.close_if_empty() {
                return end;
            }
            // The user said more while the model answered.
            context.reason = EpochReason::UserMessage;
            continue;
        }
        if turn.request().is_compaction {
            return TurnEnd::Failed(no_summary(), None);
        }
        match run_batch(turn, &epoch.tools, &answer.calls).await {
            BatchEnd::Settled => {}
            BatchEnd::Cancelled => return TurnEnd::Cancelled,
            BatchEnd::Fatal(failure) => return TurnEnd::Failed(failure, None),
        }
        context.reason = EpochReason::ToolResult;
    }
}

/// Judges the last words of a model.  Only a text that came to its own end is an answer.
fn conclude(text: String, stop: StopReason, empty: impl FnOnce() -> Failure) -> TurnEnd {
    match stop {
        StopReason::MaxTokens => {
            let failure = Failure::new(
                FailureKind::Provider,
                "max-tokens",
                "The answer was cut off because the model reached its token limit.",
            )
            .with_hint("Ask it to go on, or raise the limit.");
            TurnEnd::Failed(failure, Some(StopReason::MaxTokens))
        }
        StopReason::Refusal => {
            let failure = Failure::new(
                FailureKind::Provider,
                "refusal",
                "The model or its provider refused to answer.",
            );
            TurnEnd::Failed(failure, Some(StopReason::Refusal))
        }
        stop if text.trim().is_empty() => TurnEnd::Failed(empty(), Some(stop)),
        stop => TurnEnd::Answered(text, stop),
    }
}

/// Whoever sums up is offered no tool, and one that calls some would go on for ever.
fn no_summary() -> Failure {
    Failure::new(
        FailureKind::Provider,
        "no-summary",
        "The model called a tool instead of summing up; the conversation is as it was.",
    )
    .with_hint("Try it again, or with another model.")
}

fn over_limit(turn: &TurnContext) -> Failure {
    let made = turn.requests.load(Ordering::Relaxed);
    Failure::new(
        FailureKind::Config,
        "sampling-limit",
        format!("The turn was stopped after {made} requests to the model."),
    )
    .with_hint("The limit is magent-max-sampling-requests.")
}

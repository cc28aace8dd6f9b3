//! One request to a model, with its attempts, as items of the ledger and reports.

use std::sync::atomic::Ordering;
use std::time::Duration;

use magent_sampling::{ProviderError, Retry, SampleLimits};
use magent_types::{
    EventKind, Failure, FailureKind, Item, ItemStatus, ItemType, StopReason, Usage,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::builder::Epoch;
use crate::recorder::{Answer, JOURNAL_AFTER, Recorder};
use crate::session::now;
use crate::turn_context::TurnContext;

/// How many events a model may be ahead of the ledger.
const EVENTS_AHEAD: usize = 256;
/// The pause before a second attempt; doubled for each further one.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// How a request ended.
pub(crate) enum SampleEnd {
    /// With an answer.
    Answered(Answer),
    /// With a failure.
    Failed(Failure),
    /// By a cancel.
    Cancelled,
}

/// Makes the request of an epoch, asking again where that may help and nothing of the
/// answer was shown yet.
pub(crate) async fn run_sample(turn: &TurnContext, epoch: &Epoch) -> SampleEnd {
    let mut sample = begin(turn, epoch);
    let mut attempts: u32 = 1;
    loop {
        let mut recorder = Recorder::new(turn, epoch.route.origin());
        let result = attempt(turn, epoch, &mut recorder).await;
        let usage = recorder.usage;
        let end = match result {
            Ok(stop) => {
                let answer = recorder.complete(stop);
                finish(
                    turn,
                    epoch,
                    sample,
                    attempts,
                    usage,
                    Some(&answer.stop),
                    None,
                );
                return SampleEnd::Answered(answer);
            }
            Err(ProviderError::Cancelled) => {
                recorder.abandon(ItemStatus::Cancelled);
                finish(
                    turn,
                    epoch,
                    sample,
                    attempts,
                    usage,
                    None,
                    Some(Value::Null),
                );
                return SampleEnd::Cancelled;
            }
            Err(error) => error,
        };
        let failure = end.to_failure(&epoch.route.backend, &epoch.route.model);
        let again = match end.retry() {
            Retry::BeforeText(pause) if !recorder.has_text() && turn.requests_left() > 0 => {
                Some(pause.unwrap_or(RETRY_PAUSE * 2_u32.saturating_pow(attempts - 1)))
            }
            _ => None,
        };
        recorder.abandon(ItemStatus::Failed);
        let limit = turn.request().config.stream_retry_limit;
        match again {
            Some(pause) if attempts <= limit => {
                announce_retry(turn, &failure, pause, (attempts, limit));
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = turn.cancel().cancelled() => {
                        finish(turn, epoch, sample, attempts, usage, None, Some(Value::Null));
                        return SampleEnd::Cancelled;
                    }
                }
                attempts += 1;
                sample.metadata.insert("attempts".into(), attempts.into());
            }
            _ => {
                let error = json!({"code": failure.code, "message": failure.message});
                finish(turn, epoch, sample, attempts, usage, None, Some(error));
                return SampleEnd::Failed(failure);
            }
        }
    }
}

fn begin(turn: &TurnContext, epoch: &Epoch) -> Item {
    let context = epoch.context;
    let turn_id = turn.submission.turn_id.clone();
    let mut item = Item::new(turn_id, ItemType::Sample, now());
    let header = turn
        .session()
        .share_header_texts(&item.id, epoch.header.clone());
    let sample = turn.record(|ledger, now| {
        item.status = ItemStatus::InProgress;
        item.phase = Some(context.phase.to_owned());
        item.metadata.insert("index".into(), context.index.into());
        item.metadata.insert("attempts".into(), 1.into());
        item.metadata.insert("header".into(), header);
        item.metadata.insert("continuation".into(), "fresh".into());
        ledger.start_item(item.clone(), now);
        // The header was recorded with the start; repeating it would double its cost.
        item.metadata.remove("header");
        item
    });
    turn.emit(EventKind::SampleStart {
        index: context.index,
        phase: context.phase.to_owned(),
        agent: turn.request().agent.name.clone(),
        backend: epoch.route.backend.clone(),
        model: epoch.route.model.clone(),
    });
    sample
}

fn finish(
    turn: &TurnContext,
    epoch: &Epoch,
    mut sample: Item,
    attempts: u32,
    usage: Usage,
    stop: Option<&StopReason>,
    error: Option<Value>,
) {
    sample.metadata.insert("attempts".into(), attempts.into());
    sample.metadata.insert("usage".into(), usage.to_json());
    if let Some(stop) = stop {
        sample
            .metadata
            .insert("stop-reason".into(), stop.as_str().into());
    }
    {
        let mut total = turn.usage.lock();
        *total = total.plus(usage);
    }
    if let (Some(used), Some(size)) = (usage.in_context(), epoch.route.context_window) {
        *turn.context.lock() = Some((used, size));
    }
    turn.record(|ledger, now| match error {
        None => ledger.complete_item(sample, now),
        Some(Value::Null) => ledger.cancel_item(sample, Value::Null, now),
        Some(error) => ledger.fail_item(sample, error, now),
    });
    turn.emit(EventKind::SampleEnd {
        index: epoch.context.index,
        usage,
        stop: stop.cloned(),
        context_window: epoch.route.context_window,
    });
}

fn announce_retry(
    turn: &TurnContext,
    failure: &Failure,
    pause: Duration,
    (attempt, limit): (u32, u32),
) {
    let wait = match pause.as_secs_f64().round() as u64 {
        0 | 1 => String::new(),
        seconds => format!(" in {seconds} s"),
    };
    let text = format!(
        "{} Trying again{wait} ({attempt} of {limit}).",
        failure.message
    );
    let item = turn.record(|ledger, now| {
        let mut item = Item::new(turn.submission.turn_id.clone(), ItemType::Notice, now);
        item.status = ItemStatus::InProgress;
        item.content = Some(text.clone());
        item.metadata.insert("code".into(), "sampling-retry".into());
        let id = item.id.clone();
        ledger.start_item(item.clone(), now);
        ledger.complete_item(item, now);
        id
    });
    turn.emit(EventKind::Notice {
        item: Some(item),
        text,
    });
}

/// One attempt: passes events to the recorder as they come.
async fn attempt(
    turn: &TurnContext,
    epoch: &Epoch,
    recorder: &mut Recorder<'_>,
) -> Result<StopReason, ProviderError> {
    turn.requests.fetch_add(1, Ordering::Relaxed);
    let (sender, mut events) = mpsc::channel(EVENTS_AHEAD);
    let limits = SampleLimits {
        inactivity: turn.request().config.request_timeout,
    };
    let work = turn.services.sampler_for(&epoch.route).sample(
        &epoch.route,
        &epoch.request,
        limits,
        turn.cancel(),
        sender,
    );
    tokio::pin!(work);
    let mut journal = tokio::time::interval(JOURNAL_AFTER);
    journal.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut result = None;
    loop {
        tokio::select! {
            biased;
            event = events.recv() => match event {
                Some(event) => recorder.event(event),
                // The sender is gone, so the work has ended or is about to.
                None => break,
            },
            ended = &mut work, if result.is_none() => result = Some(ended),
            _ = journal.tick() => recorder.journal_if_due(),
        }
    }
    match result {
        Some(result) => result?,
        None => work.await?,
    }
    recorder.stop.take().ok_or_else(|| ProviderError::Protocol {
        host: epoch.route.host(),
        problem: "the answer has no end".to_owned(),
    })
}

/// The failure of an answer that says nothing.
pub(crate) fn empty_completion(epoch: &Epoch) -> Failure {
    Failure::new(
        FailureKind::Provider,
        "empty-completion",
        format!(
            "{} ended its answer without a text.",
            epoch.route.durable(epoch.request.params).model
        ),
    )
    .with_hint("Send the prompt again, or choose another model.")
}

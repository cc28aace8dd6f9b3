//! One request to a model, with its attempts, as items of the ledger and reports.

use std::time::{Duration, Instant};

use magent_sampling::{ProviderError, Retry, SampleLimits};
use magent_types::{
    EventKind, Failure, FailureKind, Item, ItemStatus, ItemType, ModelCall, ModelEvent, Role,
    StopReason, Usage,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::ReasoningDisplay;
use crate::builder::Epoch;
use crate::session::now;
use crate::turn_context::TurnContext;

/// Text that is journaled in one event at most this late...
const JOURNAL_AFTER: Duration = Duration::from_millis(250);
/// ... or this large.
const JOURNAL_BYTES: usize = 8 * 1024;
/// How many events a model may be ahead of the ledger.
const EVENTS_AHEAD: usize = 256;
/// The pause before a second attempt; doubled for each further one.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// What a model answered.
pub(crate) struct Answer {
    /// Its words, all of them.
    pub(crate) text: String,
    /// The tools it wants to run.
    pub(crate) calls: Vec<ModelCall>,
    /// Why it stopped.
    pub(crate) stop: StopReason,
}

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
        let mut recorder = Recorder::new(turn);
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
            Retry::BeforeText(pause) if !recorder.has_text() => Some(pause),
            _ => None,
        };
        recorder.abandon(ItemStatus::Failed);
        let limit = turn.request().config.stream_retry_limit;
        match again {
            Some(pause) if attempts <= limit => {
                announce_retry(turn, &failure, attempts, limit);
                let pause = pause.unwrap_or(RETRY_PAUSE * 2_u32.pow(attempts - 1));
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

fn announce_retry(turn: &TurnContext, failure: &Failure, attempt: u32, limit: u32) {
    let text = format!("{} Trying again ({attempt} of {limit}).", failure.message);
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
    let (sender, mut events) = mpsc::channel(EVENTS_AHEAD);
    let limits = SampleLimits {
        inactivity: turn.request().config.request_timeout,
    };
    let work =
        turn.services
            .sampler
            .sample(&epoch.route, &epoch.request, limits, turn.cancel(), sender);
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

/// Turns what a model says into items and reports.
struct Recorder<'a> {
    turn: &'a TurnContext,
    /// The block that is being written.
    open: Option<Block>,
    /// Blocks of text that ended; their phase is known when the answer is whole.
    texts: Vec<Block>,
    calls: Vec<ModelCall>,
    usage: Usage,
    stop: Option<StopReason>,
}

/// A message or a block of reasoning while it grows.
struct Block {
    item: Item,
    content: String,
    unjournaled: String,
    journaled_at: Instant,
}

impl<'a> Recorder<'a> {
    fn new(turn: &'a TurnContext) -> Self {
        Self {
            turn,
            open: None,
            texts: Vec::new(),
            calls: Vec::new(),
            usage: Usage::default(),
            stop: None,
        }
    }

    fn event(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::TextDelta(text) => self.grow(ItemType::Message, &text),
            ModelEvent::ReasoningDelta(text) => {
                if self.turn.request().config.reasoning != ReasoningDisplay::Omit {
                    self.grow(ItemType::Reasoning, &text);
                }
            }
            ModelEvent::ToolCall(call) => self.calls.push(call),
            ModelEvent::Usage(usage) => self.usage = usage,
            ModelEvent::Completed(stop) => self.stop = Some(stop),
        }
    }

    /// Whether any of the answer was shown.
    fn has_text(&self) -> bool {
        !self.texts.is_empty()
            || self
                .open
                .as_ref()
                .is_some_and(|block| block.item.kind == ItemType::Message)
    }

    fn grow(&mut self, kind: ItemType, text: &str) {
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.item.kind != kind)
        {
            self.end_block();
        }
        let mut text = text;
        if self.open.is_none() {
            // A block begins with its first visible character.
            text = text.trim_start();
            if text.is_empty() {
                return;
            }
            self.open = Some(self.start_block(kind));
        }
        let turn = self.turn;
        let Some(block) = self.open.as_mut() else {
            return;
        };
        block.content.push_str(text);
        block.unjournaled.push_str(text);
        let item = block.item.id.clone();
        if block.unjournaled.len() >= JOURNAL_BYTES {
            block.journal(turn);
        }
        let text = text.to_owned();
        match kind {
            ItemType::Message => turn.emit(EventKind::AssistantDelta { item, text }),
            _ if turn.request().config.reasoning == ReasoningDisplay::Show => {
                turn.emit(EventKind::ReasoningDelta { item, text });
            }
            _ => {}
        }
    }

    fn start_block(&self, kind: ItemType) -> Block {
        let turn_id = self.turn.submission.turn_id.clone();
        let item = self.turn.record(|ledger, now| {
            let mut item = Item::new(turn_id, kind, now);
            item.status = ItemStatus::InProgress;
            item.role = (kind == ItemType::Message).then_some(Role::Assistant);
            ledger.start_item(item.clone(), now);
            item
        });
        Block {
            item,
            content: String::new(),
            unjournaled: String::new(),
            journaled_at: Instant::now(),
        }
    }

    fn journal_if_due(&mut self) {
        if let Some(block) = &mut self.open
            && block.journaled_at.elapsed() >= JOURNAL_AFTER
        {
            block.journal(self.turn);
        }
    }

    /// Ends the open block: reasoning is complete then, text once its phase is known.
    fn end_block(&mut self) {
        let Some(mut block) = self.open.take() else {
            return;
        };
        block.journal(self.turn);
        if block.item.kind == ItemType::Message {
            self.texts.push(block);
            return;
        }
        let item = block.item.id.clone();
        self.turn
            .record(|ledger, now| ledger.complete_item(block.finished(), now));
        self.turn.emit(EventKind::ReasoningComplete { item });
    }

    /// Completes everything; the answer is whole.
    fn complete(&mut self, stop: StopReason) -> Answer {
        self.end_block();
        // Words before calls tell of progress, the last words are the answer.
        let phase = if self.calls.is_empty() {
            "final"
        } else {
            "commentary"
        };
        let mut texts = Vec::new();
        for mut block in std::mem::take(&mut self.texts) {
            block.item.phase = Some(phase.to_owned());
            let (item, text) = (block.item.id.clone(), block.content.clone());
            self.turn
                .record(|ledger, now| ledger.complete_item(block.finished(), now));
            self.turn.emit(EventKind::AssistantComplete {
                item,
                text: text.clone(),
                phase: Some(phase.to_owned()),
            });
            texts.push(text);
        }
        Answer {
            text: texts.join("\n\n"),
            calls: std::mem::take(&mut self.calls),
            stop,
        }
    }

    /// Ends everything that was begun; what was shown is kept as it stands.
    fn abandon(&mut self, status: ItemStatus) {
        let error = match status {
            ItemStatus::Failed => json!({"code": "incomplete", "message": "The answer broke off."}),
            _ => json!({"code": "cancelled", "message": "The turn was cancelled."}),
        };
        let blocks = std::mem::take(&mut self.texts)
            .into_iter()
            .chain(self.open.take());
        for mut block in blocks {
            block.journal(self.turn);
            self.turn.record(|ledger, now| match status {
                ItemStatus::Failed => ledger.fail_item(block.finished(), error.clone(), now),
                _ => ledger.cancel_item(block.finished(), error.clone(), now),
            });
        }
    }
}

impl Block {
    fn journal(&mut self, turn: &TurnContext) {
        let text = std::mem::take(&mut self.unjournaled);
        self.journaled_at = Instant::now();
        turn.record(|ledger, now| {
            ledger.append_content(&self.item.turn_id, &self.item.id, text, now);
        });
    }

    fn finished(&self) -> Item {
        let mut item = self.item.clone();
        item.content = Some(self.content.clone());
        item
    }
}

impl Drop for Recorder<'_> {
    /// A turn that is dropped in the middle of a stream must not lose what was shown.
    fn drop(&mut self) {
        if self.open.is_some() || !self.texts.is_empty() {
            self.abandon(ItemStatus::Cancelled);
        }
    }
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

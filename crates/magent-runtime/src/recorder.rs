//! What a model says, while it says it, as items of the ledger and reports.

use std::time::{Duration, Instant};

use magent_types::{
    EventKind, Item, ItemStatus, ItemType, ModelCall, ModelEvent, NativeOrigin, Role, StopReason,
    Usage, short,
};
use serde_json::{Value, json};

use crate::ReasoningDisplay;
use crate::turn_context::TurnContext;

/// Text that is journaled in one event at most this late...
pub(crate) const JOURNAL_AFTER: Duration = Duration::from_millis(250);
/// ... or this large.
const JOURNAL_BYTES: usize = 8 * 1024;
/// The phase of words that tell of progress, ours and OpenAI's.
const COMMENTARY: &str = "commentary";

/// What a model answered.
pub(crate) struct Answer {
    /// Its words, all of them.
    pub(crate) text: String,
    /// The tools it wants to run.
    pub(crate) calls: Vec<ModelCall>,
    /// Why it stopped.
    pub(crate) stop: StopReason,
}

/// Turns what a model says into items and reports.
pub(crate) struct Recorder<'a> {
    turn: &'a TurnContext,
    /// The block that is being written.
    open: Option<Block>,
    /// Blocks of text that ended.  Unless the provider gave them a phase, it is known when
    /// the answer is whole.
    texts: Vec<Block>,
    /// How many of the texts belong to messages that ended.
    ended: usize,
    calls: Vec<ModelCall>,
    /// The answer in its provider's own form.
    native: Option<Value>,
    origin: NativeOrigin,
    pub(crate) usage: Usage,
    pub(crate) stop: Option<StopReason>,
}

/// A message or a block of reasoning while it grows.
struct Block {
    item: Item,
    content: String,
    unjournaled: String,
    journaled_at: Instant,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(turn: &'a TurnContext, origin: NativeOrigin) -> Self {
        Self {
            turn,
            open: None,
            texts: Vec::new(),
            ended: 0,
            calls: Vec::new(),
            native: None,
            origin,
            usage: Usage::default(),
            stop: None,
        }
    }

    pub(crate) fn event(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::TextDelta(text) => self.grow(ItemType::Message, &text),
            ModelEvent::ReasoningDelta(text) => {
                if self.turn.request().config.reasoning != ReasoningDisplay::Omit {
                    self.grow(ItemType::Reasoning, &text);
                }
            }
            ModelEvent::MessageEnd(phase) => self.end_message(phase.as_deref().map(short)),
            ModelEvent::ToolCall(call) => self.calls.push(call),
            ModelEvent::Native(answer) => self.native = Some(answer),
            ModelEvent::Usage(usage) => self.usage = usage,
            ModelEvent::Completed(StopReason::Other(name)) => {
                self.stop = Some(StopReason::Other(short(&name)));
            }
            ModelEvent::Completed(stop) => self.stop = Some(stop),
        }
    }

    /// Whether any of the answer was shown.
    pub(crate) fn has_text(&self) -> bool {
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

    pub(crate) fn journal_if_due(&mut self) {
        if let Some(block) = &mut self.open
            && block.journaled_at.elapsed() >= JOURNAL_AFTER
        {
            block.journal(self.turn);
        }
    }

    /// Ends a message of the provider's; its phase is kept as it was given.
    fn end_message(&mut self, phase: Option<String>) {
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.item.kind == ItemType::Message)
        {
            self.end_block();
        }
        for block in self.texts.iter_mut().skip(self.ended) {
            block.item.phase.clone_from(&phase);
        }
        self.ended = self.texts.len();
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
    pub(crate) fn complete(&mut self, stop: StopReason) -> Answer {
        self.end_block();
        // Words before calls tell of progress, the last words are the answer.
        let phase = if self.calls.is_empty() {
            "final"
        } else {
            COMMENTARY
        };
        let mut texts = std::mem::take(&mut self.texts);
        for block in &mut texts {
            let phase = block.item.phase.get_or_insert_with(|| phase.to_owned());
            let phase = Some(phase.clone());
            self.turn
                .record(|ledger, now| ledger.complete_item(block.finished(), now));
            self.turn.emit(EventKind::AssistantComplete {
                item: block.item.id.clone(),
                text: block.content.clone(),
                phase,
            });
        }
        self.keep_native();
        Answer {
            text: answer_of(&texts),
            calls: std::mem::take(&mut self.calls),
            stop,
        }
    }

    /// Records the answer in its provider's own form, which a later request over the same
    /// route repeats.
    fn keep_native(&mut self) {
        let Some(answer) = self.native.take() else {
            return;
        };
        let native = json!({"origin": self.origin.to_json(), "answer": answer});
        let turn_id = self.turn.submission.turn_id.clone();
        self.turn.record(|ledger, now| {
            let mut item = Item::new(turn_id, ItemType::Provider, now);
            item.status = ItemStatus::InProgress;
            ledger.start_item(item.clone(), now);
            item.metadata.insert("native".into(), native);
            ledger.complete_item(item, now);
        });
    }

    /// Ends everything that was begun; what was shown is kept as it stands.
    pub(crate) fn abandon(&mut self, status: ItemStatus) {
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

/// The words that answer: those of progress count only if there are no others.
fn answer_of(texts: &[Block]) -> String {
    let is_progress = |block: &&Block| block.item.phase.as_deref() == Some(COMMENTARY);
    let mut words: Vec<&str> = (texts.iter().filter(|block| !is_progress(block)))
        .map(|block| block.content.as_str())
        .collect();
    if words.iter().all(|words| words.trim().is_empty()) {
        words = texts.iter().map(|block| block.content.as_str()).collect();
    }
    words.join("\n\n")
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

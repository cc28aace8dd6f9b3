//! A live session: its ledger, its options, and the way to its files.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use magent_ledger::{
    ApprovalOverride, Ledger, LoadReport, SaveOutcome, SessionHeader, SessionLock, SessionWriter,
    Snapshot, first_words,
};
use magent_permission::SessionOverrides;
use magent_types::{
    Effort, EventKind, Item, ItemId, ItemType, PlanEntry, RuntimeEvent, Scope, SessionId,
    SubmissionId, Thinking, Thread, ToolView, TurnId, UnixSeconds,
};
use parking_lot::Mutex;
use serde_json::Value;

use crate::ModelChoice;
use crate::bus::Bus;

/// Something of a saved conversation that a user interface shows again.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayEntry {
    /// The user's words.
    User {
        /// The item.
        item: ItemId,
        /// What the transcript shows.
        text: String,
    },
    /// Words of the model.
    Assistant {
        /// The item.
        item: ItemId,
        /// The words.
        text: String,
    },
    /// Reasoning of the model.
    Reasoning {
        /// The item.
        item: ItemId,
        /// The reasoning.
        text: String,
    },
    /// A tool call, ended.
    Tool(Box<ToolView>),
    /// A plan, whole.
    Plan(Vec<PlanEntry>),
    /// A notice.
    Notice(String),
}

/// The options of a session that the user can change while it lives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) agent: String,
    pub(crate) model: Option<ModelChoice>,
    pub(crate) effort: Option<Effort>,
    pub(crate) thinking: Option<Thinking>,
}

pub(crate) struct SessionState {
    pub(crate) ledger: Ledger,
    pub(crate) header: SessionHeader,
    pub(crate) options: Options,
    pub(crate) overrides: SessionOverrides,
    /// The texts of sample headers as they were last recorded, and where.
    header_texts: HashMap<&'static str, (ItemId, Value)>,
    pub(crate) writing: Writing,
}

/// How far a session is from its files.
pub(crate) enum Writing {
    /// Never saved; made with the first turn.
    Unsaved(Box<Snapshot>),
    /// Loaded and locked, not yet changed.
    Loaded(LoadReport, Option<SessionLock>),
    /// Open for writing.  The lock is held as long as the session lives.
    Open(SessionWriter, Option<SessionLock>),
}

/// A live session.
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) scope: Scope,
    /// Serializes submissions, so that prompts keep the order in which they came.
    pub(crate) submitting: tokio::sync::Mutex<()>,
    pub(crate) state: Mutex<SessionState>,
    seq: AtomicU64,
    attached: AtomicUsize,
    leaving: AtomicBool,
}

/// The time now.
pub(crate) fn now() -> UnixSeconds {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |elapsed| elapsed.as_secs_f64())
}

/// The last sample in which a model answered.
pub(crate) fn last_answer(thread: &Thread) -> Option<&Arc<Item>> {
    let turns = thread.turns.iter().rev();
    turns
        .flat_map(|turn| turn.items.iter().rev())
        .find(|item| item.kind == ItemType::Sample && item.metadata.contains_key("usage"))
}

impl Session {
    /// Makes a session that is not saved before its first turn.
    pub(crate) fn new(id: SessionId, scope: Scope, options: Options) -> Self {
        let now = now();
        let first = Snapshot::before_all(id.clone(), scope.clone(), now);
        let ledger = Ledger::new(id.clone(), scope.clone(), now);
        Self::unsaved(SessionHeader::new(id, scope), ledger, first, options)
    }

    /// Makes a session out of its files, which stay locked while it lives.
    pub(crate) fn loaded(
        header: SessionHeader,
        ledger: Ledger,
        report: LoadReport,
        lock: Option<SessionLock>,
        options: Options,
    ) -> Self {
        Self::put_together(header, ledger, options, Writing::Loaded(report, lock))
    }

    /// Makes a session out of its parts, `first` being the state before its first event.
    pub(crate) fn unsaved(
        header: SessionHeader,
        ledger: Ledger,
        first: Snapshot,
        options: Options,
    ) -> Self {
        Self::put_together(header, ledger, options, Writing::Unsaved(Box::new(first)))
    }

    fn put_together(
        header: SessionHeader,
        ledger: Ledger,
        options: Options,
        writing: Writing,
    ) -> Self {
        let mut overrides = SessionOverrides::default();
        for entry in &header.approval_overrides {
            overrides.set(&entry.tool, entry.decision);
        }
        Self {
            id: header.id.clone(),
            scope: header.scope.clone(),
            submitting: tokio::sync::Mutex::new(()),
            state: Mutex::new(SessionState {
                ledger,
                header,
                options,
                overrides,
                header_texts: HashMap::new(),
                writing,
            }),
            seq: AtomicU64::new(0),
            attached: AtomicUsize::new(0),
            leaving: AtomicBool::new(false),
        }
    }

    /// Looks at the state.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&SessionState) -> T) -> T {
        look(&self.state.lock())
    }

    /// Changes options, header or session decisions and saves the header.
    pub(crate) fn update<T>(&self, change: impl FnOnce(&mut SessionState) -> T) -> T {
        let mut state = self.state.lock();
        let result = change(&mut state);
        state.save_header();
        result
    }

    /// Changes the ledger and hands the new events to the writer, if the session is
    /// open for writing.
    pub(crate) fn record<T>(&self, work: impl FnOnce(&mut Ledger, UnixSeconds) -> T) -> T {
        let mut state = self.state.lock();
        let result = work(&mut state.ledger, now());
        state.hand_over(false, None);
        result
    }

    /// Notes in the header, for lists, how far the session has come.
    pub(crate) fn note_progress(&self) {
        self.update(|state| {
            let thread = state.ledger.thread();
            let model = last_answer(thread).and_then(ModelChoice::of_sample);
            let model = model.map(|model| model.full_name());
            let turns = thread.turns.len();
            state.header.note_progress(turns, model);
        });
    }

    /// Derives a title from the first prompt; returns it if it is new.
    pub(crate) fn derive_title(&self, prompt: &str) -> Option<String> {
        self.update(|state| {
            if state.header.display_title().is_some() {
                return None;
            }
            state.header.summary_title = first_words(prompt);
            state.header.summary_title.clone()
        })
    }

    /// Reports something about the session.
    pub(crate) fn emit(
        &self,
        bus: &Bus,
        submission_id: Option<&SubmissionId>,
        turn_id: Option<&TurnId>,
        kind: EventKind,
    ) {
        bus.emit(&RuntimeEvent {
            seq: self.seq.fetch_add(1, Ordering::Relaxed) + 1,
            time: now(),
            session_id: self.id.clone(),
            submission_id: submission_id.cloned(),
            turn_id: turn_id.cloned(),
            kind,
        });
    }

    /// Counts one more user of the session.
    pub(crate) fn attach(&self) {
        self.attached.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts one user less; returns whether none is left.
    pub(crate) fn detach(&self) -> bool {
        let before = self
            .attached
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
                Some(count.saturating_sub(1))
            })
            .unwrap_or(0);
        if before <= 1 {
            self.leaving.store(true, Ordering::Release);
        }
        before <= 1
    }

    /// Whether the last user has gone; nothing opens the session again then.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire)
    }

    /// A sample's header with the texts that an earlier sample of the session recorded
    /// replaced by the name of that sample.  System text and tool schemas are tens of
    /// kilobytes and nearly always the same; repeating them in every sample would make
    /// a session of 2,000 turns a hundred megabytes.
    pub(crate) fn share_header_texts(&self, sample: &ItemId, mut header: Value) -> Value {
        let mut state = self.state.lock();
        for key in magent_ledger::SHARED_HEADER_KEYS {
            let text = header[key].take();
            header[key] = match state.header_texts.get(key) {
                Some((item, known)) if *known == text => {
                    serde_json::json!({"same-as": item.as_str()})
                }
                _ => {
                    state
                        .header_texts
                        .insert(key, (sample.clone(), text.clone()));
                    text
                }
            };
        }
        header
    }
}

impl SessionState {
    /// Hands the new events to the writer, if the session is open for writing.
    pub(crate) fn hand_over(
        &mut self,
        durable: bool,
        done: Option<Box<dyn FnOnce(SaveOutcome) + Send>>,
    ) {
        if let Writing::Open(writer, _) = &self.writing {
            let events: Vec<Arc<_>> = self.ledger.take_unsaved();
            if !events.is_empty() || durable {
                writer.append(&events, durable, done);
            }
        } else if let Some(done) = done {
            done(SaveOutcome::Saved);
        }
    }

    fn save_header(&mut self) {
        let metadata = &mut self.header.metadata;
        let mut put = |key: &str, value: Option<&str>| match value {
            Some(value) => {
                metadata.insert(key.to_owned(), Value::from(value));
            }
            None => {
                metadata.remove(key);
            }
        };
        put("agent", Some(&self.options.agent));
        let model = self.options.model.as_ref().map(ModelChoice::full_name);
        put("model", model.as_deref());
        put("effort", self.options.effort.map(Effort::as_str));
        put("thinking", self.options.thinking.map(Thinking::as_str));
        self.header.approval_overrides = self
            .overrides
            .iter()
            .map(|(key, decision)| ApprovalOverride {
                tool: key.to_owned(),
                decision,
            })
            .collect();
        if let Writing::Open(writer, _) = &self.writing {
            writer.write_header(self.header.clone());
        }
    }
}

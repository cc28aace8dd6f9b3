//! The objects of the ledger: thread, turn, item and the events that change them.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::status::status_type;
use crate::{
    CallId, ItemId, ItemStatus, Scope, SessionId, ThreadId, ThreadStatus, TurnId, TurnStatus,
};

/// Seconds since the Unix epoch, with fraction.
pub type UnixSeconds = f64;

status_type!(
    /// What an item is.
    ItemType {
        /// Words of the user or the assistant.
        Message = "message",
        /// Reasoning the model showed; never promoted to an answer.
        Reasoning = "reasoning",
        /// A tool call and its result.
        Tool = "tool",
        /// The model's plan, whole.
        Plan = "plan",
        /// An opaque item only the provider understands.
        Provider = "provider",
        /// A notice to the user, such as a retry; never sent to a model.
        Notice = "notice",
        /// A step of an Action.
        WorkflowStep = "workflow-step",
        /// One request to a model: its header, attempts, usage and end.
        Sample = "sample",
    }
);

status_type!(
    /// Who speaks in a message.
    Role {
        /// The user.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
);

/// One entry of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Unique id.
    pub id: ItemId,
    /// The turn it belongs to.
    pub turn_id: TurnId,
    /// What it is.
    pub kind: ItemType,
    /// How far it is.
    pub status: ItemStatus,
    /// Who speaks, for messages.
    pub role: Option<Role>,
    /// Its text.
    pub content: Option<String>,
    /// The tool's name, for tool items.
    pub name: Option<String>,
    /// The call's id, for tool items.
    pub call_id: Option<CallId>,
    /// The call's arguments, or null.
    pub input: Value,
    /// The call's result as `{"value", "content"}`, a plan's entries, or null.
    pub output: Value,
    /// What went wrong, or null.
    pub error: Value,
    /// `commentary`, `final`, a provider's own phase, or a loop phase for samples.
    pub phase: Option<String>,
    /// Anything else, by key.
    pub metadata: Map<String, Value>,
    /// When it was made.
    pub created_at: UnixSeconds,
    /// When it last changed.
    pub updated_at: UnixSeconds,
    /// When it ended.
    pub completed_at: Option<UnixSeconds>,
}

impl Item {
    /// Makes a pending item with nothing in it.
    pub fn new(turn_id: TurnId, kind: ItemType, now: UnixSeconds) -> Self {
        Self {
            id: ItemId::fresh(),
            turn_id,
            kind,
            status: ItemStatus::Pending,
            role: None,
            content: None,
            name: None,
            call_id: None,
            input: Value::Null,
            output: Value::Null,
            error: Value::Null,
            phase: None,
            metadata: Map::new(),
            created_at: now,
            updated_at: now,
            completed_at: None,
        }
    }

    /// The rendering of a tool result that people and models read.
    pub fn output_text(&self) -> Option<&str> {
        match &self.output {
            Value::String(text) => Some(text),
            Value::Object(object) => object.get("content").and_then(Value::as_str),
            _ => None,
        }
    }
}

/// One request of the user and everything that answers it.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Unique id.
    pub id: TurnId,
    /// The thread it belongs to.
    pub thread_id: ThreadId,
    /// The submission that caused it.
    pub op_id: Option<String>,
    /// How far it is.
    pub status: TurnStatus,
    /// The request as the user sees it.
    pub input: Option<String>,
    /// Its items in order.  Shared, so that a snapshot costs no copy.
    pub items: Vec<Arc<Item>>,
    /// What went wrong, or null.
    pub error: Value,
    /// Tokens used, or null.
    pub usage: Value,
    /// Anything else, by key.
    pub metadata: Map<String, Value>,
    /// When it was queued.
    pub queued_at: UnixSeconds,
    /// When it began to run.
    pub started_at: Option<UnixSeconds>,
    /// When it ended.
    pub completed_at: Option<UnixSeconds>,
    /// How long it ran, in milliseconds.
    pub duration_ms: Option<i64>,
}

impl Turn {
    /// Makes a queued turn without items.
    pub fn new(thread_id: ThreadId, now: UnixSeconds) -> Self {
        Self {
            id: TurnId::fresh(),
            thread_id,
            op_id: None,
            status: TurnStatus::Queued,
            input: None,
            items: Vec::new(),
            error: Value::Null,
            usage: Value::Null,
            metadata: Map::new(),
            queued_at: now,
            started_at: None,
            completed_at: None,
            duration_ms: None,
        }
    }
}

/// A conversation's whole state.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    /// Unique id.
    pub id: ThreadId,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// Where the session belongs.
    pub scope: Scope,
    /// What it is doing.
    pub status: ThreadStatus,
    /// When it was made.
    pub created_at: UnixSeconds,
    /// When it last changed.
    pub updated_at: UnixSeconds,
    /// The first request, for lists.
    pub preview: Option<String>,
    /// Anything else, by key.
    pub metadata: Map<String, Value>,
    /// Its turns in order.  Shared, so that a snapshot costs no copy.
    pub turns: Vec<Arc<Turn>>,
}

impl Thread {
    /// Makes an empty, idle thread.
    pub fn new(session_id: SessionId, scope: Scope, now: UnixSeconds) -> Self {
        Self {
            id: ThreadId::new(session_id.as_str()),
            session_id,
            scope,
            status: ThreadStatus::Idle,
            created_at: now,
            updated_at: now,
            preview: None,
            metadata: Map::new(),
            turns: Vec::new(),
        }
    }

    /// Finds a turn.
    pub fn turn(&self, id: &TurnId) -> Option<&Arc<Turn>> {
        // Turns are looked up while they run, so the newest come first.
        self.turns.iter().rev().find(|turn| turn.id == *id)
    }
}

/// A change of the ledger.  Events are facts: once appended they never change.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Position in the journal, from 1.
    pub seq: u64,
    /// The thread it changes.
    pub thread_id: ThreadId,
    /// The turn it changes, if any.
    pub turn_id: Option<TurnId>,
    /// The item it changes, if any.
    pub item_id: Option<ItemId>,
    /// What happened.
    pub kind: EventType,
    /// When it happened.
    pub created_at: UnixSeconds,
}

/// What an event says.
#[derive(Clone, Debug, PartialEq)]
pub enum EventType {
    /// The thread began.
    ThreadStarted,
    /// The thread's status changed by itself.
    ThreadStatusChanged(ThreadStatus),
    /// A turn was queued; carries it whole.
    TurnQueued(Turn),
    /// A turn began to run; carries it whole.
    TurnStarted(Turn),
    /// A turn's status changed by itself.
    TurnStatusChanged(TurnStatus),
    /// A turn ended normally; carries the tokens it used, or null.
    TurnCompleted(Value),
    /// A turn failed; carries the error, or null.
    TurnFailed(Value),
    /// A running turn was cancelled; carries the reason, or null.
    TurnInterrupted(Value),
    /// A queued turn was cancelled; carries the reason, or null.
    TurnDropped(Value),
    /// An item began; carries it whole.
    ItemStarted(Item),
    /// Text was added to an item's content.
    ItemContentAppended(String),
    /// An item ended normally; carries it whole.
    ItemCompleted(Item),
    /// An item failed; carries it whole and the error, or null.
    ItemFailed(Item, Value),
    /// An item was stopped; carries it whole and the reason, or null.
    ItemCancelled(Item, Value),
}

impl EventType {
    /// Returns the name used in session files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ThreadStarted => "thread-started",
            Self::ThreadStatusChanged(_) => "thread-status-changed",
            Self::TurnQueued(_) => "turn-queued",
            Self::TurnStarted(_) => "turn-started",
            Self::TurnStatusChanged(_) => "turn-status-changed",
            Self::TurnCompleted(_) => "turn-completed",
            Self::TurnFailed(_) => "turn-failed",
            Self::TurnInterrupted(_) => "turn-interrupted",
            Self::TurnDropped(_) => "turn-dropped",
            Self::ItemStarted(_) => "item-started",
            Self::ItemContentAppended(_) => "item-content-appended",
            Self::ItemCompleted(_) => "item-completed",
            Self::ItemFailed(..) => "item-failed",
            Self::ItemCancelled(..) => "item-cancelled",
        }
    }
}

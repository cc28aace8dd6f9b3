//! What the runtime reports while it works.

use serde_json::{Map, Value};

use crate::{
    ApprovalId, ApprovalPolicy, CallId, Failure, FileDiff, ItemId, ItemStatus, Location, PlanEntry,
    SessionId, StopReason, SubmissionId, ToolKind, TurnId, UnixSeconds, Usage,
};

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnStatusKind {
    /// Normally.
    Completed,
    /// By an error.
    Failed,
    /// By a cancel.
    Cancelled,
}

impl TurnStatusKind {
    /// The name used in events for Lisp.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The end of a turn, told exactly once for every accepted submission.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnOutcome {
    /// How it ended.
    pub status: TurnStatusKind,
    /// The final answer; empty unless completed.
    pub text: String,
    /// Why the last sample stopped, if one ran.
    pub stop: Option<StopReason>,
    /// What went wrong, if it failed.
    pub failure: Option<Failure>,
    /// Tokens of the whole turn.
    pub usage: Usage,
    /// Whether it is on the disk.  Nothing is promised of a cancelled turn.
    pub saved: bool,
}

/// A tool call as a user interface shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolView {
    /// The call's id.
    pub call_id: CallId,
    /// Its item in the ledger.
    pub item_id: ItemId,
    /// The tool's name.
    pub name: String,
    /// What it does.
    pub kind: ToolKind,
    /// One line about this call.
    pub title: String,
    /// The arguments.
    pub input: Value,
    /// How far it is.
    pub status: ItemStatus,
    /// Whether its output is shown while it runs.
    pub live_output: bool,
    /// What it put out, bounded; empty until it ends.
    pub content: String,
    /// The exit status of its process, if one ended.
    pub exit_code: Option<i32>,
    /// Changes of files, proposed or done.
    pub diffs: Vec<FileDiff>,
    /// Places it touches.
    pub locations: Vec<Location>,
}

/// A question to the user whether a call may run.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalView {
    /// The question's id.
    pub approval_id: ApprovalId,
    /// The call, pending.
    pub tool: ToolView,
    /// The permission key it falls under.
    pub permission_key: String,
    /// How long an approval may last.
    pub policy: ApprovalPolicy,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// A turn began to run.
    TurnStart,
    /// The user's words were recorded.
    UserMessage {
        /// The item.
        item: ItemId,
        /// What the transcript shows.
        text: String,
    },
    /// A piece of an assistant message.
    AssistantDelta {
        /// The item.
        item: ItemId,
        /// The piece.
        text: String,
    },
    /// An assistant message is whole.
    AssistantComplete {
        /// The item.
        item: ItemId,
        /// All of it.
        text: String,
        /// `commentary`, `final` or a provider's own phase.
        phase: Option<String>,
    },
    /// A piece of reasoning.
    ReasoningDelta {
        /// The item.
        item: ItemId,
        /// The piece.
        text: String,
    },
    /// A block of reasoning is whole.
    ReasoningComplete {
        /// The item.
        item: ItemId,
    },
    /// A call is known and waits.
    ToolPending(ToolView),
    /// A call runs.
    ToolStart(ToolView),
    /// A running call put something out.
    ToolOutput {
        /// The call.
        call_id: CallId,
        /// The piece, already bounded.
        text: String,
    },
    /// A call ended.
    ToolComplete(ToolView),
    /// The user is asked.
    ApprovalRequested(ApprovalView),
    /// The question is settled.
    ApprovalResolved {
        /// The question.
        approval_id: ApprovalId,
        /// The call.
        call_id: CallId,
        /// The answer, such as `allow-once`.
        decision: String,
    },
    /// The model set its plan.
    PlanUpdate {
        /// The whole plan.
        entries: Vec<PlanEntry>,
        /// Why it changed, if told.
        explanation: Option<String>,
    },
    /// Something the user should know that is no part of the conversation.
    Notice {
        /// The item, if it is kept in the ledger.
        item: Option<ItemId>,
        /// One or two sentences.
        text: String,
    },
    /// A request to a model began.
    SampleStart {
        /// Number in the turn, from 1.
        index: u32,
        /// Loop phase.
        phase: String,
        /// The agent whose profile it uses.
        agent: String,
        /// The backend.
        backend: String,
        /// The model.
        model: String,
    },
    /// A request to a model ended.
    SampleEnd {
        /// Number in the turn, from 1.
        index: u32,
        /// Tokens of the request.
        usage: Usage,
        /// Why it stopped, if it did.
        stop: Option<StopReason>,
        /// The model's context window, if known.
        context_window: Option<u64>,
    },
    /// The session got a title.
    TitleChanged(String),
    /// The session's agent changed.
    AgentChanged(String),
    /// A turn ended.
    TurnEnd(Box<TurnOutcome>),
}

/// A report of the runtime.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeEvent {
    /// Position among the reports of its session, from 1.
    pub seq: u64,
    /// When it happened.
    pub time: UnixSeconds,
    /// The session.
    pub session_id: SessionId,
    /// The submission, if one is concerned.
    pub submission_id: Option<SubmissionId>,
    /// The turn, if one is concerned.
    pub turn_id: Option<TurnId>,
    /// What happened.
    pub kind: EventKind,
}

impl EventKind {
    /// The name used in events for Lisp and in `bin/magent exec --json`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::TurnStart => "turn-start",
            Self::UserMessage { .. } => "user-message",
            Self::AssistantDelta { .. } => "assistant-delta",
            Self::AssistantComplete { .. } => "assistant-complete",
            Self::ReasoningDelta { .. } => "reasoning-delta",
            Self::ReasoningComplete { .. } => "reasoning-complete",
            Self::ToolPending(_) => "tool-call-detected",
            Self::ToolStart(_) => "tool-call-start",
            Self::ToolOutput { .. } => "tool-call-output",
            Self::ToolComplete(_) => "tool-call-complete",
            Self::ApprovalRequested(_) => "approval-requested",
            Self::ApprovalResolved { .. } => "approval-resolved",
            Self::PlanUpdate { .. } => "plan-update",
            Self::Notice { .. } => "notice",
            Self::SampleStart { .. } => "sample-start",
            Self::SampleEnd { .. } => "sample-end",
            Self::TitleChanged(_) => "title-changed",
            Self::AgentChanged(_) => "agent-changed",
            Self::TurnEnd(outcome) => match outcome.status {
                TurnStatusKind::Completed => "turn-complete",
                TurnStatusKind::Failed => "turn-failed",
                TurnStatusKind::Cancelled => "turn-cancelled",
            },
        }
    }
}

impl RuntimeEvent {
    /// The event as the JSON object that Lisp observers and `bin/magent exec --json` get:
    /// `type`, `seq`, `time`, `session-id`, `submission-id`, `turn-id` and the kind's own keys.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("type".into(), self.kind.name().into());
        object.insert("seq".into(), self.seq.into());
        object.insert("time".into(), self.time.into());
        object.insert("session-id".into(), self.session_id.as_str().into());
        if let Some(id) = &self.submission_id {
            object.insert("submission-id".into(), id.as_str().into());
        }
        if let Some(id) = &self.turn_id {
            object.insert("turn-id".into(), id.as_str().into());
        }
        self.kind.write_json(&mut object);
        Value::Object(object)
    }
}

impl EventKind {
    fn write_json(&self, object: &mut Map<String, Value>) {
        let mut put = |key: &str, value: Value| {
            object.insert(key.to_owned(), value);
        };
        match self {
            Self::TurnStart => {}
            Self::UserMessage { item, text }
            | Self::AssistantDelta { item, text }
            | Self::ReasoningDelta { item, text } => {
                put("item-id", item.as_str().into());
                put("text", text.as_str().into());
            }
            Self::AssistantComplete { item, text, phase } => {
                put("item-id", item.as_str().into());
                put("text", text.as_str().into());
                put("phase", phase.clone().into());
            }
            Self::ReasoningComplete { item } => put("item-id", item.as_str().into()),
            Self::ToolPending(view) | Self::ToolStart(view) | Self::ToolComplete(view) => {
                view.write_json(object);
            }
            Self::ToolOutput { call_id, text } => {
                put("tool-id", call_id.as_str().into());
                put("text", text.as_str().into());
            }
            Self::ApprovalRequested(view) => {
                put("approval-id", view.approval_id.as_str().into());
                put("permission-key", view.permission_key.as_str().into());
                put("policy", view.policy.as_str().into());
                view.tool.write_json(object);
            }
            Self::ApprovalResolved {
                approval_id,
                call_id,
                decision,
            } => {
                put("approval-id", approval_id.as_str().into());
                put("tool-id", call_id.as_str().into());
                put("decision", decision.as_str().into());
            }
            Self::PlanUpdate {
                entries,
                explanation,
            } => {
                let entries: Vec<Value> = entries
                    .iter()
                    .map(|entry| {
                        serde_json::json!({"step": entry.step, "status": entry.status.as_str()})
                    })
                    .collect();
                put("entries", entries.into());
                put("explanation", explanation.clone().into());
            }
            Self::Notice { text, .. } => put("text", text.as_str().into()),
            Self::SampleStart {
                index,
                phase,
                agent,
                backend,
                model,
            } => {
                put("index", (*index).into());
                put("phase", phase.as_str().into());
                put("agent", agent.as_str().into());
                put("backend", backend.as_str().into());
                put("model", model.as_str().into());
            }
            Self::SampleEnd {
                index, usage, stop, ..
            } => {
                put("index", (*index).into());
                put("usage", usage.to_json());
                put("stop-reason", stop.as_ref().map(StopReason::as_str).into());
            }
            Self::TitleChanged(title) => put("title", title.as_str().into()),
            Self::AgentChanged(agent) => put("agent", agent.as_str().into()),
            Self::TurnEnd(outcome) => outcome.write_json(object),
        }
    }
}

impl TurnOutcome {
    fn write_json(&self, object: &mut Map<String, Value>) {
        object.insert("status".into(), self.status.as_str().into());
        object.insert("text".into(), self.text.as_str().into());
        object.insert(
            "stop-reason".into(),
            self.stop.as_ref().map(StopReason::as_str).into(),
        );
        object.insert("usage".into(), self.usage.to_json());
        object.insert("saved".into(), self.saved.into());
        let error = self.failure.as_ref().map_or(Value::Null, |failure| {
            serde_json::json!({
                "kind": failure.kind.as_str(),
                "code": failure.code,
                "message": failure.message,
                "hint": failure.hint,
            })
        });
        object.insert("error".into(), error);
    }
}

impl ToolView {
    fn write_json(&self, object: &mut Map<String, Value>) {
        object.insert("tool-id".into(), self.call_id.as_str().into());
        object.insert("name".into(), self.name.as_str().into());
        object.insert("kind".into(), self.kind.as_str().into());
        object.insert("title".into(), self.title.as_str().into());
        object.insert("status".into(), self.status.as_str().into());
        object.insert("input".into(), self.input.clone());
        if self.status.is_terminal() {
            object.insert("output".into(), self.content.as_str().into());
            object.insert("exit-code".into(), self.exit_code.into());
        }
        if !self.diffs.is_empty() {
            let diffs: Vec<Value> = self
                .diffs
                .iter()
                .map(|diff| serde_json::json!({"path": diff.path, "old": diff.old_text, "new": diff.new_text}))
                .collect();
            object.insert("diffs".into(), diffs.into());
        }
    }
}

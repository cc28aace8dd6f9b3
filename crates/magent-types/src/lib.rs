//! Plain data shared by every Magent crate.
//!
//! This crate owns the vocabulary: identifiers, lifecycle statuses, the objects
//! of the ledger, tool specifications and results, the events a model sends and
//! the events the runtime reports.  It must never do IO, start a task or name a
//! wire format; a crate that persists or sends one of these types converts it by
//! hand, so that a change of an inner type never changes a file or a protocol.

#![forbid(unsafe_code)]

mod agent;
mod content;
mod conversation;
mod event;
mod failure;
mod ids;
mod json_text;
mod ledger;
mod model;
mod permission;
mod plain;
mod plan;
mod scope;
mod status;
mod tool;

pub use agent::{AgentDefinition, AgentMode};
pub use content::{PromptBlock, PromptImage, PromptInput, short_name};
pub use conversation::{
    ConversationEntry, NativeAnswer, NativeOrigin, ToolExchange, UNKNOWN_RESULT, UserImage,
};
pub use event::{ApprovalView, EventKind, RuntimeEvent, ToolView, TurnOutcome, TurnStatusKind};
pub use failure::{Failure, FailureKind};
pub use ids::{
    ApprovalId, CallId, HostCallId, ItemId, SessionId, SubmissionId, ThreadId, TurnId, fresh_suffix,
};
pub use json_text::parse_json;
pub use ledger::{Event, EventType, Item, ItemType, Role, Thread, Turn, UnixSeconds};
pub use model::{
    Dialect, DurableRoute, Effort, ModelCall, ModelEvent, ModelInfo, SamplingParams, StopReason,
    Thinking, Usage, is_capable,
};
pub use permission::{Decision, PermissionRules, Rule};
pub use plain::{is_disruptive, one_line, short, shorten, strip_controls};
pub use plan::{PlanEntry, PlanStatus};
pub use scope::Scope;
pub use status::{ItemStatus, ThreadStatus, TurnStatus};
pub use tool::{
    ApprovalPolicy, FileDiff, Locality, Location, ToolError, ToolKind, ToolOutput, ToolSpec,
};

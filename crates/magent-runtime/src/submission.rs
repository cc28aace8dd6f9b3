//! A prompt on its way: what was asked, frozen with everything its turn needs.

use std::path::PathBuf;
use std::sync::Arc;

use magent_permission::RuleTable;
use magent_tools::Tool;
use magent_types::{
    AgentDefinition, PromptInput, SamplingParams, SessionId, SubmissionId, TurnId, TurnOutcome,
};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::session::Session;
use crate::steering::Steering;
use crate::{ApprovalMode, ModelChoice, RuntimeConfig};

/// Which tools a turn may use, before permissions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolSelection {
    /// Every tool.
    #[default]
    All,
    /// Exactly these.
    Exact(Vec<String>),
}

/// A prompt for a session.
#[derive(Clone, Debug)]
pub struct SubmitRequest {
    /// The submission's id, new for every prompt; the caller can tell its own reports
    /// by it from the first one on.
    pub id: SubmissionId,
    /// The session.
    pub session_id: SessionId,
    /// What the user says.
    pub input: PromptInput,
    /// Which tools the turn may use.
    pub tools: ToolSelection,
    /// The agent, if not the session's.
    pub agent: Option<String>,
    /// The model, if not the session's.
    pub model: Option<ModelChoice>,
    /// Who answers questions.
    pub approval: ApprovalMode,
    /// The user's options.
    pub config: Arc<RuntimeConfig>,
    /// More about the turn, by key, kept in the ledger.
    pub metadata: Map<String, Value>,
}

/// A prompt that was accepted: it will get exactly one outcome.
#[derive(Debug)]
pub struct Submitted {
    /// Its id.
    pub id: SubmissionId,
    /// Its turn.
    pub turn_id: TurnId,
    /// Its outcome.
    pub outcome: oneshot::Receiver<TurnOutcome>,
}

/// Everything a turn needs, resolved once before it is queued.  Later changes of
/// options, agent or model affect later submissions only.
pub(crate) struct RequestContext {
    pub(crate) config: Arc<RuntimeConfig>,
    pub(crate) agent: AgentDefinition,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) tables: Vec<Arc<RuleTable>>,
    pub(crate) choice: ModelChoice,
    pub(crate) params: SamplingParams,
    pub(crate) approval: ApprovalMode,
    pub(crate) files: Vec<PathBuf>,
    /// Whether the turn sums up.
    pub(crate) is_compaction: bool,
}

/// A submission in the queue or running.
pub(crate) struct Submission {
    pub(crate) id: SubmissionId,
    pub(crate) turn_id: TurnId,
    pub(crate) session: Arc<Session>,
    pub(crate) request: RequestContext,
    pub(crate) cancel: CancellationToken,
    pub(crate) outcome: parking_lot::Mutex<Option<oneshot::Sender<TurnOutcome>>>,
    pub(crate) steering: Steering,
}

//! Questions to the user whether a call may run.

use std::collections::HashMap;
use std::sync::Arc;

use magent_permission::RuleTable;
use magent_types::{ApprovalId, ApprovalPolicy};
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// Run this call.
    AllowOnce,
    /// Refuse this call.
    DenyOnce,
    /// Run this and every further call of the kind in this session.
    AllowSession,
    /// Refuse this and every further call of the kind in this session.
    DenySession,
}

impl ApprovalDecision {
    /// The name used in events, ledger and audit.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllowOnce => "allow-once",
            Self::DenyOnce => "deny-once",
            Self::AllowSession => "allow-session",
            Self::DenySession => "deny-session",
        }
    }

    /// Reads the name.
    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::AllowOnce,
            Self::DenyOnce,
            Self::AllowSession,
            Self::DenySession,
        ]
        .into_iter()
        .find(|decision| decision.as_str() == text)
    }

    /// Whether the call may run.
    pub fn allows(self) -> bool {
        matches!(self, Self::AllowOnce | Self::AllowSession)
    }

    /// A tool that is asked for every time cannot be allowed for longer.
    pub(crate) fn under(self, policy: ApprovalPolicy) -> Self {
        match (self, policy) {
            (Self::AllowSession, ApprovalPolicy::OnceOnly) => Self::AllowOnce,
            (decision, _) => decision,
        }
    }
}

/// Who answers the questions of a submission.
#[derive(Clone, Debug, Default)]
pub enum ApprovalMode {
    /// The user, through whoever observes the session.
    #[default]
    Ask,
    /// Nobody: every question is a no.
    Never,
    /// Nobody: every question is a yes.
    Always,
    /// Rules; what they do not allow is a no.
    Rules(Arc<RuleTable>),
}

/// The questions that wait for an answer.
#[derive(Default)]
pub(crate) struct Approvals {
    waiting: Arc<Mutex<HashMap<ApprovalId, oneshot::Sender<ApprovalDecision>>>>,
}

/// A question that was put; forgotten when dropped.
pub(crate) struct Question {
    id: ApprovalId,
    answer: oneshot::Receiver<ApprovalDecision>,
    waiting: Arc<Mutex<HashMap<ApprovalId, oneshot::Sender<ApprovalDecision>>>>,
}

impl Approvals {
    /// Registers a question before it is put, so that an answer given at once is not
    /// missed.
    pub(crate) fn ask(&self) -> Question {
        let (sender, answer) = oneshot::channel();
        let id = ApprovalId::fresh();
        self.waiting.lock().insert(id.clone(), sender);
        Question {
            id,
            answer,
            waiting: Arc::clone(&self.waiting),
        }
    }

    /// Answers a question.  Returns false for one that is settled or unknown.
    pub(crate) fn resolve(&self, id: &ApprovalId, decision: ApprovalDecision) -> bool {
        let Some(sender) = self.waiting.lock().remove(id) else {
            return false;
        };
        sender.send(decision).is_ok()
    }

    pub(crate) fn count(&self) -> usize {
        self.waiting.lock().len()
    }
}

impl Question {
    pub(crate) fn id(&self) -> &ApprovalId {
        &self.id
    }

    /// Waits for the answer; a question that is taken back is a no.
    pub(crate) async fn answer(mut self) -> ApprovalDecision {
        (&mut self.answer)
            .await
            .unwrap_or(ApprovalDecision::DenyOnce)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.waiting.lock().remove(&self.id);
    }
}

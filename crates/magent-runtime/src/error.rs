//! What the runtime refuses or cannot do, and the words for it.

use std::path::PathBuf;

use magent_ledger::LedgerError;
use magent_permission::RuleError;
use magent_types::{Failure, FailureKind, SessionId, short};

/// A request that the runtime could not carry out.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// There is no such session in this scope, live or saved.
    #[error("There is no session {} in this project.", short(.0.as_str()))]
    UnknownSession(SessionId),
    /// The session's files.
    #[error("The session cannot be opened: {0}.")]
    Ledger(#[from] LedgerError),
    /// The folder of sessions.
    #[error("The sessions cannot be listed: {0}.")]
    List(LedgerError),
    /// The prompt says nothing.
    #[error("The prompt is empty.")]
    BlankPrompt,
    /// There is no such agent.
    #[error("There is no agent {}.", short(name))]
    UnknownAgent {
        /// What was asked for.
        name: String,
        /// The agents there are.
        known: Vec<String>,
    },
    /// There is no such tool, or the agent may not use it.
    #[error("The tool {} is not available to this agent.", short(.0))]
    UnavailableTool(String),
    /// There is no such model.
    #[error("There is no model {}.", short(name))]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// The models there are, if that is known here.
        known: Vec<String>,
    },
    /// No model is set up.
    #[error("No model is configured.")]
    NoModel,
    /// A picture cannot be shown to the model, or not be kept.
    #[error("{0}.")]
    Image(String),
    /// An option has a value that cannot be used.
    #[error("The option {0} {1}.")]
    BadOption(String, String),
    /// A permission rule cannot be used.
    #[error("{0}.")]
    Rule(#[from] RuleError),
    /// Emacs did not answer.
    #[error("{}", told(.0))]
    Host(#[from] magent_tools::HostError),
    /// The session has work under way.
    #[error("The session is busy: its turn has to end first, or to be cancelled.")]
    Busy,
    /// The transcript of a session cannot be written.
    #[error("{path} cannot be written: {1}.", path = .0.display())]
    Export(PathBuf, #[source] std::io::Error),
    /// A session that is open cannot be deleted.
    #[error("The session is open here.")]
    Live,
    /// The files of a session cannot be removed.
    #[error("The session cannot be deleted: {0}.")]
    Delete(LedgerError),
    /// A session that is open has nothing to be recovered.
    #[error("The session is open here and in order; there is nothing to recover.")]
    NotDamaged,
    /// Nothing was said since the last summary.
    #[error("There is nothing to sum up yet.")]
    NothingToCompact,
    /// What belongs to a session could not be copied.
    #[error("The session cannot be forked: {0}.")]
    Fork(#[source] std::io::Error),
    /// The runtime is shutting down.
    #[error("Magent is shutting down.")]
    ShuttingDown,
}

impl RuntimeError {
    /// The failure as people and programs are told it.
    pub fn to_failure(&self) -> Failure {
        let (kind, code) = match self {
            Self::UnknownSession(_) => (FailureKind::Session, "unknown-session"),
            Self::Ledger(LedgerError::Locked { .. }) | Self::Delete(LedgerError::Locked { .. }) => {
                (FailureKind::Session, "session-locked")
            }
            Self::Ledger(LedgerError::NotFound(_)) => (FailureKind::Session, "unknown-session"),
            Self::Ledger(LedgerError::Version { .. }) => (FailureKind::Session, "session-version"),
            Self::Ledger(_) => (FailureKind::Session, "session-file"),
            Self::List(_) => (FailureKind::Session, "session-list"),
            Self::Export(..) => (FailureKind::Session, "session-export"),
            Self::Live => (FailureKind::Session, "session-live"),
            Self::Delete(_) => (FailureKind::Session, "session-delete"),
            Self::BlankPrompt => (FailureKind::Config, "blank-prompt"),
            Self::UnknownAgent { .. } => (FailureKind::Config, "unknown-agent"),
            Self::UnavailableTool(_) => (FailureKind::Tool, "unavailable-tool"),
            Self::UnknownModel { .. } => (FailureKind::Config, "unknown-model"),
            Self::NoModel => (FailureKind::Config, "no-model"),
            Self::Image(_) => (FailureKind::Config, "image"),
            Self::BadOption(..) => (FailureKind::Config, "bad-option"),
            Self::Rule(_) => (FailureKind::Permission, "bad-rule"),
            Self::Host(_) => (FailureKind::Internal, "host"),
            Self::Busy => (FailureKind::Session, "busy"),
            Self::NotDamaged => (FailureKind::Session, "not-damaged"),
            Self::NothingToCompact => (FailureKind::Session, "nothing-to-compact"),
            Self::Fork(_) => (FailureKind::Session, "fork"),
            Self::ShuttingDown => (FailureKind::Internal, "shutdown"),
        };
        let failure = Failure::new(kind, code, self.to_string());
        match self.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }

    fn hint(&self) -> Option<String> {
        let fixed = match self {
            Self::UnknownAgent { known, .. } => return Some(there_are(known)),
            Self::UnknownModel { known, .. } if !known.is_empty() => {
                return Some(format!(
                    "{} Choose one of them, or correct magent-default-model and the backends' lists.",
                    there_are(known)
                ));
            }
            Self::Ledger(LedgerError::Locked { .. }) => {
                Some("Close it there first, fork it, or start a new session here.")
            }
            Self::Delete(LedgerError::Locked { .. }) => Some("Close it there first."),
            Self::Live => Some("Close its buffer first."),
            Self::Ledger(LedgerError::Corrupt { .. }) => Some(
                "The file was left as it is; other sessions are not affected.  What can be read of \
                 this one becomes a new session with M-x magent-session-recover.",
            ),
            Self::Ledger(LedgerError::Io { .. })
            | Self::List(_)
            | Self::Delete(LedgerError::Io { .. }) => {
                Some("Check the permissions of the folder in magent-session-directory.")
            }
            Self::UnknownModel { .. } => Some(
                "Choose another model, or correct magent-default-model and the backends' lists.",
            ),
            Self::NoModel => Some("Set up a backend in gptel, or one with magent-define-backend."),
            _ => None,
        };
        fixed.map(str::to_owned)
    }
}

/// The names there are; of many only the first, for this is one line.
fn there_are(known: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = known.iter().take(SHOWN).map(|name| short(name)).collect();
    let names = shown.join(", ");
    match known.len() {
        0 => "There are none.".to_owned(),
        count if count > SHOWN => format!("There are {names} and {} more.", count - SHOWN),
        _ => format!("There are {names}."),
    }
}

/// What Emacs said, as a sentence.
fn told(error: &magent_tools::HostError) -> String {
    match error {
        magent_tools::HostError::Failed { message, .. } if message.ends_with('.') => {
            message.clone()
        }
        error => format!("{error}."),
    }
}

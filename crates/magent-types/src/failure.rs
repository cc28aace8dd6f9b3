//! The one shape in which an error leaves the core.

use crate::{shorten, strip_controls};

/// What part of the system a failure belongs to; names the Lisp condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// An option, agent file or argument is wrong.
    Config,
    /// A session or its files.
    Session,
    /// The model provider or the way to it.
    Provider,
    /// A tool.
    Tool,
    /// A permission rule or approval.
    Permission,
    /// A bug of ours; includes caught panics.
    Internal,
}

impl FailureKind {
    /// Returns the name used in Lisp and in ACP error data.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Session => "session",
            Self::Provider => "provider",
            Self::Tool => "tool",
            Self::Permission => "permission",
            Self::Internal => "internal",
        }
    }
}

/// A failure as it is told to people and programs: what happened, of which kind,
/// a stable code where one exists, and what to do about it.
///
/// Messages and hints never carry keys, tokens or header values.  What they quote of others
/// has lost its control characters, and whatever that is, they stay short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The part of the system.
    pub kind: FailureKind,
    /// A stable, machine-readable code such as `empty-completion`.
    pub code: String,
    /// One or two sentences for a person.
    pub message: String,
    /// What the person can do, when there is something.
    pub hint: Option<String>,
}

impl Failure {
    /// Makes a failure without a hint.
    pub fn new(kind: FailureKind, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind,
            code: code.into(),
            message: told(&message.into()),
            hint: None,
        }
    }

    /// Adds what the person can do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(told(&hint.into()));
        self
    }

    /// The message with its hint, for places that show one text.
    pub fn full_text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} {hint}", self.message),
            None => self.message.clone(),
        }
    }
}

/// A text as it may be told.
fn told(text: &str) -> String {
    const LONGEST: usize = 2_000;
    shorten(&strip_controls(text), LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_told_in_short_and_without_control_characters() {
        let quoted = format!(
            "it says \u{1b}[2J\u{1b}]0;title\u{7}no{}",
            "x".repeat(9_000)
        );
        let failure = Failure::new(FailureKind::Provider, "c", &quoted).with_hint(quoted);
        for text in [Some(failure.message), failure.hint].into_iter().flatten() {
            assert!(text.starts_with("it says noxx"), "{text}");
            assert_eq!(text.chars().count(), 2_000);
        }
    }
}

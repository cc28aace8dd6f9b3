//! Summing up: when, and by whom.
//!
//! A summary is an answer of the hidden agent `compaction`, in a turn of its own, without
//! tools.  One that fails or is cancelled changes nothing.

use std::sync::Arc;

use magent_ledger::{COMPACTION, can_compact};
use magent_types::{EventKind, PromptInput, SubmissionId};
use serde_json::Map;

use crate::runtime::Runtime;
use crate::session::Session;
use crate::turn_context::TurnContext;
use crate::{ApprovalMode, RuntimeError, SubmitRequest, ToolSelection};

/// The command.
const COMMAND: &str = "/compact";
/// The agent that sums up.
pub(crate) const AGENT: &str = "compaction";

/// What is done about a conversation that nearly fills its model's context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoCompact {
    /// Nothing.
    Off,
    /// The user is told.
    #[default]
    Tell,
    /// It is summed up before the next prompt.
    Compact,
}

impl AutoCompact {
    /// Reads the option's value.
    pub(crate) fn parse(value: Option<&str>) -> Option<Self> {
        match value {
            None => Some(Self::Off),
            Some("tell") => Some(Self::Tell),
            Some("compact") => Some(Self::Compact),
            Some(_) => None,
        }
    }
}

/// Whether a request is one to sum up.
pub(crate) fn is_compaction(request: &SubmitRequest) -> bool {
    magent_ledger::is_compaction(&request.metadata)
}

/// The request as it is meant: `/compact`, alone or before a wish, asks for a summary.
pub(crate) fn meant(request: SubmitRequest) -> SubmitRequest {
    let words = request.input.words();
    if words.split_whitespace().next() != Some(COMMAND) {
        return request;
    }
    let mut metadata = request.metadata;
    metadata.insert(COMPACTION.to_owned(), true.into());
    SubmitRequest {
        input: PromptInput::text(words),
        tools: ToolSelection::Exact(Vec::new()),
        agent: Some(AGENT.to_owned()),
        approval: ApprovalMode::Never,
        metadata,
        ..request
    }
}

/// Refuses to sum up nothing.
pub(crate) fn check(session: &Session, request: &SubmitRequest) -> Result<(), RuntimeError> {
    if is_compaction(request) && !session.read(|state| can_compact(state.ledger.thread())) {
        return Err(RuntimeError::NothingToCompact);
    }
    Ok(())
}

/// What part of a context is used, if it is too much, in percent.
fn too_full(context: Option<(u64, u64)>, share: f64) -> Option<u64> {
    let (used, size) = context.filter(|(_, size)| *size > 0)?;
    let is_too_full = used as f64 >= share * size as f64;
    is_too_full.then(|| used.saturating_mul(100) / size)
}

/// Tells the user after a turn that the conversation nearly fills the context.
pub(crate) fn tell_if_full(turn: &TurnContext) {
    let request = turn.request();
    let config = &request.config;
    if config.auto_compact != AutoCompact::Tell || request.is_compaction {
        return;
    }
    if let Some(percent) = too_full(*turn.context.lock(), config.auto_compact_share) {
        let text = format!(
            "This conversation fills {percent} % of what the model can read at once. {COMMAND} \
             lets it go on with a summary; you keep seeing everything."
        );
        turn.emit(EventKind::Notice { item: None, text });
    }
}

impl Runtime {
    /// Queues a summary before a prompt if the user wants that and the context is nearly
    /// full.  The prompt goes on whatever becomes of it.
    pub(crate) async fn compact_if_full(
        self: &Arc<Self>,
        session: &Arc<Session>,
        prompt: &SubmitRequest,
    ) {
        let config = &prompt.config;
        if config.auto_compact != AutoCompact::Compact
            || is_compaction(prompt)
            || self.queue.lock().is_busy(&session.id)
            || !session.read(|state| can_compact(state.ledger.thread()))
        {
            return;
        }
        let catalog = self.models().await.ok();
        let context = catalog.and_then(|catalog| self.context_usage(&session.id, &catalog));
        let Some(percent) = too_full(context, config.auto_compact_share) else {
            return;
        };
        let request = meant(SubmitRequest {
            id: SubmissionId::fresh(),
            session_id: session.id.clone(),
            input: PromptInput::text(COMMAND),
            tools: ToolSelection::All,
            agent: None,
            model: prompt.model.clone(),
            approval: ApprovalMode::Never,
            config: Arc::clone(config),
            metadata: Map::new(),
        });
        let text = format!(
            "This conversation fills {percent} % of what the model can read at once, so it is \
             summed up first."
        );
        let kind = EventKind::Notice { item: None, text };
        session.emit(&self.services.bus, None, None, kind);
        // If it is refused, the prompt is told the same.
        let _ = self.accept(session, request).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_too_full_from_its_share_on() {
        assert_eq!(too_full(Some((80, 100)), 0.8), Some(80));
        assert_eq!(too_full(Some((79, 100)), 0.8), None);
        assert_eq!(too_full(Some((250, 100)), 0.8), Some(250));
        assert_eq!(too_full(Some((1, 0)), 0.8), None);
        assert_eq!(too_full(None, 0.8), None);
    }
}

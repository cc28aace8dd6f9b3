//! What the user says to a turn while it runs.
//!
//! Words are accepted as long as a turn can still ask its model again, and join the
//! conversation before the next request.  Whatever was accepted is recorded, even if the
//! turn ends otherwise; nothing is recorded twice.

use std::sync::Arc;

use magent_ledger::UserWords;
use magent_types::{EventKind, PromptInput, SessionId};
use parking_lot::Mutex;

use crate::RuntimeError;
use crate::drive::words_of;
use crate::runtime::Runtime;
use crate::turn_context::TurnContext;

/// The words that wait for the next request of a turn.
#[derive(Default)]
pub(crate) struct Steering {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    closed: bool,
    waiting: Vec<UserWords>,
}

impl Steering {
    /// Accepts words, unless the turn takes none any more.  `accepted` is called before
    /// the turn can see them, so that what it tells comes before anything that they cause.
    fn accept(&self, words: UserWords, accepted: impl FnOnce()) -> bool {
        let mut state = self.state.lock();
        if state.closed {
            return false;
        }
        accepted();
        state.waiting.push(words);
        true
    }

    fn take(&self) -> Vec<UserWords> {
        std::mem::take(&mut self.state.lock().waiting)
    }

    /// Accepts no more words, unless some wait.  Returns whether it is closed.
    pub(crate) fn close_if_empty(&self) -> bool {
        let mut state = self.state.lock();
        state.closed = state.waiting.is_empty();
        state.closed
    }

    fn close(&self) {
        self.state.lock().closed = true;
    }
}

/// Records the words that wait in the turn's conversation.
pub(crate) fn join_words(turn: &TurnContext) {
    for words in turn.submission.steering.take() {
        let text = words.display.clone();
        let turn_id = &turn.submission.turn_id;
        let item = turn.record(|ledger, now| ledger.add_user_words(turn_id, words, now));
        turn.emit(EventKind::UserMessage { item, text });
    }
}

/// Ends the acceptance of words; those that were accepted are part of the conversation.
pub(crate) fn close_words(turn: &TurnContext) {
    turn.submission.steering.close();
    join_words(turn);
}

impl Runtime {
    /// Says something to the turn that runs in a session.  Returns false if there is none
    /// that can still react; the words are a prompt then.  `accepted` is called before
    /// anything that the words cause.
    pub async fn steer(
        self: &Arc<Self>,
        session_id: &SessionId,
        input: PromptInput,
        accepted: impl FnOnce(),
    ) -> Result<bool, RuntimeError> {
        self.check_open()?;
        if input.is_blank() {
            return Err(RuntimeError::BlankPrompt);
        }
        let session = self.session(session_id)?;
        let running = self.queue.lock().running(session_id).cloned();
        let submission = running.and_then(|id| self.submissions.lock().get(&id).cloned());
        let Some(submission) = submission.filter(|it| !it.cancel.is_cancelled()) else {
            return Ok(false);
        };
        let choice = &submission.request.choice;
        let images = self.keep_images(&session, &input, choice).await?;
        let words = words_of(&input, images);
        Ok(submission.steering.accept(words, accepted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_once_and_refused_after_the_end() {
        let steering = Steering::default();
        let mut told = 0;
        assert!(steering.accept("a".into(), || told += 1));
        assert!(!steering.close_if_empty(), "somebody waits");
        assert!(steering.accept("b".into(), || told += 1));
        let taken: Vec<String> = (steering.take().into_iter()).map(|it| it.display).collect();
        assert_eq!(taken, ["a", "b"]);
        assert!(steering.close_if_empty());
        assert!(!steering.accept("c".into(), || told += 1));
        assert_eq!(told, 2);
        assert!(steering.take().is_empty());
    }
}

//! Who runs next: first in, first out inside a session, sessions side by side.

use std::collections::{HashMap, VecDeque};

use magent_types::{SessionId, SubmissionId};

/// The order of all submissions.  Pure: it starts nothing itself.
///
/// A session runs at most one submission.  Its slot stays taken from the moment a
/// submission may start until [`Queue::finish`] says that everything about it, its
/// completion callbacks included, is done.
#[derive(Debug, Default)]
pub struct Queue {
    lanes: HashMap<SessionId, Lane>,
}

#[derive(Debug, Default)]
struct Lane {
    running: Option<SubmissionId>,
    waiting: VecDeque<SubmissionId>,
}

impl Queue {
    /// Adds a submission at the end of its session's line.
    pub fn push(&mut self, session: &SessionId, submission: SubmissionId) {
        self.lanes
            .entry(session.clone())
            .or_default()
            .waiting
            .push_back(submission);
    }

    /// Takes the submission that may start now in this session, if there is one.
    pub fn start_next(&mut self, session: &SessionId) -> Option<SubmissionId> {
        let lane = self.lanes.get_mut(session)?;
        if lane.running.is_some() {
            return None;
        }
        let next = lane.waiting.pop_front()?;
        lane.running = Some(next.clone());
        Some(next)
    }

    /// Frees a session's slot.  Anything but the running submission changes nothing.
    pub fn finish(&mut self, session: &SessionId, submission: &SubmissionId) {
        let Some(lane) = self.lanes.get_mut(session) else {
            return;
        };
        if lane.running.as_ref() == Some(submission) {
            lane.running = None;
        }
        if lane.running.is_none() && lane.waiting.is_empty() {
            self.lanes.remove(session);
        }
    }

    /// Takes a waiting submission out.  Returns whether it was waiting.
    pub fn remove_waiting(&mut self, session: &SessionId, submission: &SubmissionId) -> bool {
        let Some(lane) = self.lanes.get_mut(session) else {
            return false;
        };
        let before = lane.waiting.len();
        lane.waiting.retain(|waiting| waiting != submission);
        before != lane.waiting.len()
    }

    /// The running submission of a session.
    pub fn running(&self, session: &SessionId) -> Option<&SubmissionId> {
        self.lanes.get(session)?.running.as_ref()
    }

    /// The waiting submissions of a session, next one first.
    pub fn waiting(&self, session: &SessionId) -> impl Iterator<Item = &SubmissionId> {
        self.lanes
            .get(session)
            .into_iter()
            .flat_map(|lane| &lane.waiting)
    }

    /// Whether a session has anything running or waiting.
    pub fn is_busy(&self, session: &SessionId) -> bool {
        self.lanes.contains_key(session)
    }

    /// Whether any session has.
    pub fn is_any_busy(&self) -> bool {
        !self.lanes.is_empty()
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;

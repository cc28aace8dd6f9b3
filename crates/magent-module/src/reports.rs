//! Reports about a session for Lisp, with pieces of one text joined.
//!
//! A report costs Lisp about 15 microseconds whatever its size, and models send thousands
//! of pieces a second.  The first piece goes at once; what comes before the next frame is
//! joined.  Anything else goes at once, after what was held back.

use std::sync::Arc;
use std::time::Instant;

use magent_types::{EventKind, RuntimeEvent};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::outbox::{Event, Outbox};

/// The reports of one session.
pub(crate) struct Reports {
    session: String,
    outbox: Arc<Outbox>,
    tasks: Handle,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Pieces of a text that wait for the frame.
    held: Option<RuntimeEvent>,
    sent_at: Option<Instant>,
    /// Whether a task waits for the frame.
    waiting: bool,
    /// The number of the last report.
    seq: u64,
}

impl Reports {
    pub(crate) fn new(session: &str, outbox: Arc<Outbox>, tasks: Handle) -> Arc<Self> {
        Arc::new(Self {
            session: session.to_owned(),
            outbox,
            tasks,
            state: Mutex::default(),
        })
    }

    /// Takes an event.  Returns at once.
    pub(crate) fn take(self: &Arc<Self>, event: &RuntimeEvent) {
        let mut state = self.state.lock();
        if let Some(text) = piece(&event.kind)
            && let Some(held) = &mut state.held
            && join(&mut held.kind, &event.kind, text)
        {
            return;
        }
        self.send_held(&mut state);
        let due = state.sent_at.map(|sent| sent + self.outbox.frame());
        match due {
            Some(due) if piece(&event.kind).is_some() && Instant::now() < due => {
                state.held = Some(event.clone());
                if !std::mem::replace(&mut state.waiting, true) {
                    let this = Arc::clone(self);
                    self.tasks.spawn(async move {
                        tokio::time::sleep_until(due.into()).await;
                        let mut state = this.state.lock();
                        state.waiting = false;
                        this.send_held(&mut state);
                    });
                }
            }
            _ => self.send(&mut state, event.clone()),
        }
    }

    fn send_held(&self, state: &mut State) {
        if let Some(held) = state.held.take() {
            self.send(state, held);
        }
    }

    /// Sends a report.  Its number is one more than that of the report before, so that
    /// whoever listens can tell that none was lost.
    fn send(&self, state: &mut State, mut event: RuntimeEvent) {
        state.seq = match state.seq {
            0 => event.seq,
            last => last + 1,
        };
        event.seq = state.seq;
        state.sent_at = Some(Instant::now());
        self.outbox.push(Event::Report {
            session: self.session.clone(),
            json: event.to_json().to_string(),
        });
    }
}

/// The text of an event that is a piece of one.
fn piece(kind: &EventKind) -> Option<&str> {
    match kind {
        EventKind::AssistantDelta { text, .. }
        | EventKind::ReasoningDelta { text, .. }
        | EventKind::ToolOutput { text, .. } => Some(text),
        _ => None,
    }
}

/// Appends a piece to an earlier one of the same text; false if it is of another.
fn join(held: &mut EventKind, next: &EventKind, piece: &str) -> bool {
    match (held, next) {
        (
            EventKind::AssistantDelta { item, text },
            EventKind::AssistantDelta { item: other, .. },
        )
        | (
            EventKind::ReasoningDelta { item, text },
            EventKind::ReasoningDelta { item: other, .. },
        ) if item == other => {
            text.push_str(piece);
            true
        }
        (EventKind::ToolOutput { call_id, text }, EventKind::ToolOutput { call_id: other, .. })
            if call_id == other =>
        {
            text.push_str(piece);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use magent_types::{ItemId, SessionId};
    use serde_json::Value;

    use super::*;

    fn delta(seq: u64, item: &str, text: &str) -> RuntimeEvent {
        event(
            seq,
            EventKind::AssistantDelta {
                item: ItemId::new(item),
                text: text.to_owned(),
            },
        )
    }

    fn event(seq: u64, kind: EventKind) -> RuntimeEvent {
        RuntimeEvent {
            seq,
            session_id: SessionId::new("s"),
            time: 0.0,
            submission_id: None,
            turn_id: None,
            kind,
        }
    }

    fn told(outbox: &Outbox) -> Vec<(u64, String)> {
        outbox
            .drain(100)
            .into_iter()
            .map(|event| match event {
                Event::Report { json, .. } => {
                    let report: Value = serde_json::from_str(&json).unwrap();
                    let text = report["text"].as_str().or(report["type"].as_str());
                    (report["seq"].as_u64().unwrap(), text.unwrap().to_owned())
                }
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[tokio::test(start_paused = true)]
    async fn pieces_are_joined_until_the_frame_and_nothing_is_overtaken() {
        let outbox = Outbox::new();
        let reports = Reports::new("s", Arc::clone(&outbox), Handle::current());
        reports.take(&delta(7, "a", "first "));
        reports.take(&delta(8, "a", "second "));
        reports.take(&delta(9, "a", "third "));
        reports.take(&delta(10, "b", "other"));
        reports.take(&event(11, EventKind::TurnStart));
        assert_eq!(
            told(&outbox),
            [
                (7, "first ".to_owned()),
                (8, "second third ".to_owned()),
                (9, "other".to_owned()),
                (10, "turn-start".to_owned()),
            ]
        );
    }

    #[tokio::test]
    async fn a_piece_that_nothing_follows_is_told_with_the_next_frame() {
        let outbox = Outbox::new();
        let reports = Reports::new("s", Arc::clone(&outbox), Handle::current());
        reports.take(&delta(1, "a", "now"));
        reports.take(&delta(2, "a", "later"));
        assert_eq!(told(&outbox), [(1, "now".to_owned())]);
        tokio::time::sleep(outbox.frame() * 2).await;
        assert_eq!(told(&outbox), [(2, "later".to_owned())]);
    }
}

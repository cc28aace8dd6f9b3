//! Events on their way to Lisp.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use crate::channel::PipeWaker;

/// Something that Lisp is told.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A line for an ACP client.
    Acp { connection: u64, line: String },
    /// A notice beside an ACP client's conversation.
    Notice { connection: u64, text: String },
    /// A request to Emacs.
    Host {
        id: String,
        op: String,
        args: String,
    },
    /// The answer to a request of Lisp.
    Reply {
        id: u64,
        result: Result<String, String>,
    },
    /// A report about a session, as JSON.
    Report { session: String, json: String },
    /// Why a session cannot be saved; `None` when it is saved again, or given up.
    Storage {
        session: String,
        problem: Option<String>,
    },
    /// A line for the log.
    Log { level: &'static str, text: String },
    /// The client on standard input has gone.
    StdioClosed,
    /// Somebody at the terminal wants the command to end.
    Interrupted,
}

/// The queue of events, and the way to wake Emacs for them.
#[derive(Default)]
pub(crate) struct Outbox {
    queue: Mutex<VecDeque<Event>>,
    pending: AtomicBool,
    waker: RwLock<Option<PipeWaker>>,
    /// Microseconds between two frames of streamed text.
    frame: AtomicU64,
}

/// A screen that draws at once gets a frame this often...
const SHORTEST_FRAME: Duration = Duration::from_millis(40);
/// ... and one that is slow to draw at least this often.
const LONGEST_FRAME: Duration = Duration::from_millis(400);

impl Outbox {
    pub(crate) fn new() -> Arc<Self> {
        let outbox = Self::default();
        outbox.note_drawing(Duration::ZERO);
        Arc::new(outbox)
    }

    /// Sets, or replaces, the way to wake Emacs.
    pub(crate) fn set_waker(&self, waker: PipeWaker) {
        *self.waker.write() = Some(waker);
        // What came before there was a way to tell.
        if !self.queue.lock().is_empty() {
            self.pending.store(false, Ordering::Release);
            self.kick();
        }
    }

    pub(crate) fn has_waker(&self) -> bool {
        self.waker.read().is_some()
    }

    pub(crate) fn push(&self, event: Event) {
        self.queue.lock().push_back(event);
        self.kick();
    }

    /// Takes at most `most` events.  What is left wakes Emacs again, so that one call
    /// never takes long.
    pub(crate) fn drain(&self, most: usize) -> Vec<Event> {
        // Cleared before taking: an event pushed meanwhile wakes once too often, never
        // once too rarely.
        self.pending.store(false, Ordering::Release);
        let mut queue = self.queue.lock();
        let count = queue.len().min(most);
        let events = queue.drain(..count).collect();
        let more = !queue.is_empty();
        drop(queue);
        if more {
            self.kick();
        }
        events
    }

    fn kick(&self) {
        if self.pending.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(waker) = self.waker.read().as_ref() {
            waker.wake();
        }
    }

    /// Adapts the frame to how long Lisp took for the last events: drawing gets at most a
    /// third of Emacs's time, so that the user can type while text streams.
    pub(crate) fn note_drawing(&self, took: Duration) {
        let frame = (took * 3).clamp(SHORTEST_FRAME, LONGEST_FRAME);
        self.frame
            .store(frame.as_micros() as u64, Ordering::Relaxed);
    }

    pub(crate) fn frame(&self) -> Duration {
        Duration::from_micros(self.frame.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drains_are_bounded_and_in_order() {
        let outbox = Outbox::new();
        for number in 0..10 {
            outbox.push(Event::Reply {
                id: number,
                result: Ok(String::new()),
            });
        }
        let ids = |events: Vec<Event>| -> Vec<u64> {
            events
                .iter()
                .map(|event| match event {
                    Event::Reply { id, .. } => *id,
                    other => panic!("{other:?}"),
                })
                .collect()
        };
        assert_eq!(ids(outbox.drain(4)), [0, 1, 2, 3]);
        assert_eq!(ids(outbox.drain(100)), [4, 5, 6, 7, 8, 9]);
        assert!(outbox.drain(1).is_empty());
    }

    #[test]
    fn frames_follow_the_time_that_drawing_takes() {
        let outbox = Outbox::new();
        assert_eq!(outbox.frame(), SHORTEST_FRAME);
        outbox.note_drawing(Duration::from_millis(30));
        assert_eq!(outbox.frame(), Duration::from_millis(90));
        outbox.note_drawing(Duration::from_secs(5));
        assert_eq!(outbox.frame(), LONGEST_FRAME);
    }
}

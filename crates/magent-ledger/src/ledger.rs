//! The ledger of one session: its state and the journal that leads to it.

use std::collections::VecDeque;
use std::sync::Arc;

use magent_types::{Event, EventType, ItemId, Scope, SessionId, Thread, TurnId, UnixSeconds};

use crate::apply::apply;

/// The state of a session at one event, cheap to make because it shares all turns.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The state.
    pub thread: Thread,
    /// The last event it includes.
    pub last_event_seq: u64,
    /// When it was taken.
    pub created_at: UnixSeconds,
}

impl Snapshot {
    /// The state of a new session before its first event.
    pub fn before_all(session_id: SessionId, scope: Scope, now: UnixSeconds) -> Self {
        Self {
            thread: Thread::new(session_id, scope, now),
            last_event_seq: 0,
            created_at: now,
        }
    }
}

/// A session's state and journal.
///
/// Every change is an event: appending one is the only way to change the state, so
/// replaying the journal over a snapshot gives the same state again.
#[derive(Clone, Debug)]
pub struct Ledger {
    thread: Thread,
    seq: u64,
    tail: VecDeque<Arc<Event>>,
    tail_limit: usize,
    unsaved: Vec<Arc<Event>>,
}

/// How many events stay in memory for inspection.
const DEFAULT_TAIL: usize = 2_000;

impl Ledger {
    /// Makes the ledger of a new session and records that its thread started.
    pub fn new(session_id: SessionId, scope: Scope, now: UnixSeconds) -> Self {
        let mut ledger = Self {
            thread: Thread::new(session_id, scope, now),
            seq: 0,
            tail: VecDeque::new(),
            tail_limit: DEFAULT_TAIL,
            unsaved: Vec::new(),
        };
        ledger.begin(now);
        ledger
    }

    /// Records that the thread started, the first event of every journal.
    pub(crate) fn begin(&mut self, now: UnixSeconds) {
        self.append(None, None, EventType::ThreadStarted, now);
    }

    /// Makes a ledger out of a snapshot and the journal that was kept with it:
    /// older events only serve inspection, newer ones are applied.
    pub fn restore(snapshot: Snapshot, events: impl IntoIterator<Item = Event>) -> Self {
        let mut ledger = Self {
            thread: snapshot.thread,
            seq: snapshot.last_event_seq,
            tail: VecDeque::new(),
            tail_limit: DEFAULT_TAIL,
            unsaved: Vec::new(),
        };
        for event in events {
            if event.seq > ledger.seq {
                apply(&mut ledger.thread, &event);
                ledger.seq = event.seq;
            }
            ledger.keep(Arc::new(event));
        }
        ledger
    }

    /// The state.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// The newest events, oldest first.
    pub fn journal(&self) -> impl Iterator<Item = &Arc<Event>> {
        self.tail.iter()
    }

    /// The number of the last event.
    pub fn last_seq(&self) -> u64 {
        self.seq
    }

    /// Appends an event and applies it.
    pub fn append(
        &mut self,
        turn_id: Option<TurnId>,
        item_id: Option<ItemId>,
        kind: EventType,
        now: UnixSeconds,
    ) -> Arc<Event> {
        self.seq += 1;
        let event = Arc::new(Event {
            seq: self.seq,
            thread_id: self.thread.id.clone(),
            turn_id,
            item_id,
            kind,
            created_at: now,
        });
        apply(&mut self.thread, &event);
        self.keep(Arc::clone(&event));
        self.unsaved.push(Arc::clone(&event));
        event
    }

    /// Takes the events that were not handed to a writer yet.
    pub fn take_unsaved(&mut self) -> Vec<Arc<Event>> {
        std::mem::take(&mut self.unsaved)
    }

    /// The state now.
    pub fn snapshot(&self, now: UnixSeconds) -> Snapshot {
        Snapshot {
            thread: self.thread.clone(),
            last_event_seq: self.seq,
            created_at: now,
        }
    }

    fn keep(&mut self, event: Arc<Event>) {
        if self.tail.len() == self.tail_limit {
            self.tail.pop_front();
        }
        self.tail.push_back(event);
    }
}

//! A conversation that begins as a copy of another and is independent from then on.

use std::sync::Arc;

use magent_types::{SessionId, Thread, ThreadId, Turn, UnixSeconds};

use crate::{Ledger, SessionHeader, Snapshot};

impl Ledger {
    /// The ledger of a new session with the conversation of `source`, which must be idle,
    /// and the state before its first event.  Turns, items and calls keep their ids; the
    /// journal begins anew.
    pub fn fork(source: &Thread, id: SessionId, now: UnixSeconds) -> (Self, Snapshot) {
        let mut thread = Thread::new(id, source.scope.clone(), now);
        let turns = source.turns.iter();
        thread.turns = turns.map(|turn| moved(turn, &thread.id)).collect();
        thread.preview.clone_from(&source.preview);
        thread.metadata.clone_from(&source.metadata);
        let origin = source.session_id.as_str();
        thread.metadata.insert("source".into(), "fork".into());
        thread
            .metadata
            .insert("forked-from-session-id".into(), origin.into());
        let first = Snapshot {
            thread,
            last_event_seq: 0,
            created_at: now,
        };
        let mut ledger = Self::restore(first.clone(), []);
        ledger.begin(now);
        (ledger, first)
    }
}

impl SessionHeader {
    /// The header of a session that begins as a copy of this one's, with `label` before its
    /// title: settings are inherited, what the user allowed and child agents are not.
    pub fn fork(&self, id: SessionId, label: &str, now: UnixSeconds) -> Self {
        let mut header = Self::new(id, self.scope.clone());
        let title = self.display_title().unwrap_or("Untitled");
        // In front, since lists and mode lines cut off the end of a long title.
        let label = format!("({label}) ");
        header.title = Some(format!("{label}{}", title.trim_start_matches(&label)));
        header.parent_session_id = Some(self.id.to_string());
        header.metadata.clone_from(&self.metadata);
        header.metadata.insert("forked-at".into(), now.into());
        header
    }
}

fn moved(turn: &Turn, thread: &ThreadId) -> Arc<Turn> {
    let mut turn = turn.clone();
    turn.thread_id = thread.clone();
    Arc::new(turn)
}

//! What becomes of work that was under way when the last Emacs ended.

use magent_types::{EventType, ThreadStatus, TurnId, TurnStatus, UnixSeconds};
use serde_json::{Value, json};

use crate::Ledger;

impl Ledger {
    /// Ends everything that a loaded session shows as unfinished: nobody works on it
    /// any more.  Returns whether anything changed.
    pub fn reconcile_after_restart(&mut self, now: UnixSeconds) -> bool {
        let reason = json!({
            "code": "restart",
            "message": "Emacs ended before this was finished.",
        });
        let open: Vec<(TurnId, TurnStatus)> = self
            .thread()
            .turns
            .iter()
            .filter(|turn| !turn.status.is_terminal())
            .map(|turn| (turn.id.clone(), turn.status))
            .collect();
        let mut changed = !open.is_empty();
        for (turn_id, status) in open {
            let end = match status {
                TurnStatus::Queued => TurnStatus::Dropped,
                _ => TurnStatus::Interrupted,
            };
            self.end_turn(&turn_id, end, reason.clone(), now);
        }
        changed |= self.cancel_stray_items(&reason, now);
        if self.thread().status == ThreadStatus::Active {
            self.append(
                None,
                None,
                EventType::ThreadStatusChanged(ThreadStatus::Idle),
                now,
            );
            changed = true;
        }
        changed
    }

    /// Items left open inside turns that have ended.
    fn cancel_stray_items(&mut self, reason: &Value, now: UnixSeconds) -> bool {
        let turns: Vec<TurnId> = self
            .thread()
            .turns
            .iter()
            .filter(|turn| turn.items.iter().any(|item| !item.status.is_terminal()))
            .map(|turn| turn.id.clone())
            .collect();
        for turn_id in &turns {
            self.cancel_open_items(turn_id, reason, now);
        }
        !turns.is_empty()
    }
}

//! Reports to whoever listens.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use magent_types::{RuntimeEvent, SessionId};
use parking_lot::Mutex;

/// Somebody who listens.  Called on the runtime's threads; must return at once.
pub type Observer = Arc<dyn Fn(&RuntimeEvent) + Send + Sync>;

/// A subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObserverId(u64);

/// Everybody who listens.
#[derive(Default)]
pub(crate) struct Bus {
    next: AtomicU64,
    observers: Mutex<HashMap<ObserverId, (Option<SessionId>, Observer)>>,
}

impl Bus {
    /// Subscribes to one session, or to all.
    pub(crate) fn subscribe(&self, session: Option<SessionId>, observer: Observer) -> ObserverId {
        let id = ObserverId(self.next.fetch_add(1, Ordering::Relaxed));
        self.observers.lock().insert(id, (session, observer));
        id
    }

    pub(crate) fn unsubscribe(&self, id: ObserverId) {
        self.observers.lock().remove(&id);
    }

    /// Reports an event.  An observer that panics hurts nobody else.
    pub(crate) fn emit(&self, event: &RuntimeEvent) {
        let observers: Vec<Observer> = self
            .observers
            .lock()
            .values()
            .filter(|(session, _)| session.as_ref().is_none_or(|id| *id == event.session_id))
            .map(|(_, observer)| Arc::clone(observer))
            .collect();
        for observer in observers {
            // The panic hook has reported it; there is nobody else to tell.
            let _ = catch_unwind(AssertUnwindSafe(|| observer(event)));
        }
    }
}

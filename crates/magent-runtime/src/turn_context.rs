//! What a running turn works with.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use magent_ledger::Ledger;
use magent_types::{CallId, EventKind, ItemStatus, ToolView, UnixSeconds, Usage};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::services::Services;
use crate::session::Session;
use crate::submission::{RequestContext, Submission};

/// A running turn: its submission, the services it uses, and its running sums.
pub(crate) struct TurnContext {
    pub(crate) services: Arc<Services>,
    pub(crate) submission: Arc<Submission>,
    /// Tokens of all requests so far.
    pub(crate) usage: Mutex<Usage>,
    /// The tokens of the last request with its answer, and how many the model takes.
    pub(crate) context: Mutex<Option<(u64, u64)>>,
    /// How many requests were made, attempts included.
    pub(crate) requests: AtomicU32,
    /// The system text, read once: it must not change while the turn runs.
    pub(crate) system: tokio::sync::OnceCell<String>,
    /// Calls that user interfaces know of.
    announced: Mutex<HashSet<CallId>>,
}

impl TurnContext {
    pub(crate) fn new(services: Arc<Services>, submission: Arc<Submission>) -> Self {
        Self {
            services,
            submission,
            usage: Mutex::default(),
            context: Mutex::default(),
            requests: AtomicU32::new(0),
            system: tokio::sync::OnceCell::new(),
            announced: Mutex::default(),
        }
    }

    /// How many requests the turn may still make.
    pub(crate) fn requests_left(&self) -> u32 {
        let limit = self.request().config.max_sampling_requests;
        let made = self.requests.load(Ordering::Relaxed);
        limit.map_or(u32::MAX, |limit| limit.saturating_sub(made))
    }

    /// Tells of a call before anything else is told about it, once.
    pub(crate) fn announce(&self, view: &ToolView) {
        if self.announced.lock().insert(view.call_id.clone()) {
            self.emit(EventKind::ToolPending(ToolView {
                status: ItemStatus::Pending,
                content: String::new(),
                ..view.clone()
            }));
        }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.submission.session
    }

    pub(crate) fn request(&self) -> &RequestContext {
        &self.submission.request
    }

    pub(crate) fn cancel(&self) -> &CancellationToken {
        &self.submission.cancel
    }

    /// Changes the ledger.  Events are reported after the change, never before.
    pub(crate) fn record<T>(&self, work: impl FnOnce(&mut Ledger, UnixSeconds) -> T) -> T {
        self.session().record(work)
    }

    /// Reports something about the turn.
    pub(crate) fn emit(&self, kind: EventKind) {
        self.session().emit(
            &self.services.bus,
            Some(&self.submission.id),
            Some(&self.submission.turn_id),
            kind,
        );
    }
}

//! One attempt to get an answer from a model.

use std::time::Duration;

use async_trait::async_trait;
use magent_types::ModelEvent;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{ProviderError, Route, SampleRequest};

/// How long an attempt may take.
#[derive(Clone, Copy, Debug)]
pub struct SampleLimits {
    /// The longest silence; `None` is no limit.  See [`Patience`].
    pub inactivity: Option<Duration>,
}

/// How many times the longest silence a server may take to go on with its answer, if it
/// shows all the while that it is alive.
pub(crate) const KEPT_ALIVE: u32 = 5;

/// Waits for an answer, but not for ever.
///
/// A silence ends the wait after the limit.  Servers and gateways send comments, blank lines
/// or empty events while a slow model reads or thinks, so these extend the wait; but a model
/// that hangs behind a gateway is kept alive in the same way, so they do so only up to five
/// times the limit.  What is part of the answer begins the wait anew.
#[derive(Debug)]
pub struct Patience {
    limit: Option<Duration>,
    /// When the answer went on last, or the request was made.
    progress: Instant,
}

impl Patience {
    /// Begins to wait.
    pub fn new(limits: SampleLimits) -> Self {
        Self {
            limit: limits.inactivity,
            progress: Instant::now(),
        }
    }

    /// Waits for something to come over a route.
    pub async fn within<T>(
        &self,
        route: &Route,
        work: impl Future<Output = T>,
    ) -> Result<T, ProviderError> {
        let Some(limit) = self.limit else {
            return Ok(work.await);
        };
        let silence = Instant::now() + limit;
        let end = self.progress + limit * KEPT_ALIVE;
        let expired = |_| ProviderError::Silent {
            host: route.host(),
            seconds: limit.as_secs(),
            kept_alive: end < silence,
        };
        let deadline = silence.min(end);
        tokio::time::timeout_at(deadline, work)
            .await
            .map_err(expired)
    }

    /// The answer went on.
    pub fn progress(&mut self) {
        self.progress = Instant::now();
    }
}

/// Passes events of an answer on.  Fails when whoever listened has gone, which is how a
/// turn ends early.
pub async fn pass_on(
    events: &mpsc::Sender<ModelEvent>,
    answer: Vec<ModelEvent>,
) -> Result<(), ProviderError> {
    for event in answer {
        events
            .send(event)
            .await
            .map_err(|_| ProviderError::Cancelled)?;
    }
    Ok(())
}

/// Something that gets answers from models.
#[async_trait]
pub trait Sampler: Send + Sync {
    /// Makes one attempt.  Events are sent in order and end with
    /// [`ModelEvent::Completed`] exactly if the result is `Ok`.  Soon after `cancel`
    /// fires the connection is closed and the result is [`ProviderError::Cancelled`].
    async fn sample(
        &self,
        route: &Route,
        request: &SampleRequest,
        limits: SampleLimits,
        cancel: &CancellationToken,
        events: mpsc::Sender<ModelEvent>,
    ) -> Result<(), ProviderError>;
}

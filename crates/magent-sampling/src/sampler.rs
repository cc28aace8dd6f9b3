//! One attempt to get an answer from a model.

use std::time::Duration;

use async_trait::async_trait;
use magent_types::ModelEvent;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{ProviderError, Route, SampleRequest};

/// How long an attempt may take.
#[derive(Clone, Copy, Debug)]
pub struct SampleLimits {
    /// The longest silence; `None` is no limit.  Keep-alives count as life.
    pub inactivity: Option<Duration>,
}

impl SampleLimits {
    /// Waits for something to come over a route, but not longer than it may be silent.
    pub async fn within<T>(
        self,
        route: &Route,
        work: impl Future<Output = T>,
    ) -> Result<T, ProviderError> {
        let Some(limit) = self.inactivity else {
            return Ok(work.await);
        };
        tokio::time::timeout(limit, work)
            .await
            .map_err(|_| ProviderError::Silent {
                host: route.host(),
                seconds: limit.as_secs(),
            })
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

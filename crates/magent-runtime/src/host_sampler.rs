//! Samples that Emacs makes, through gptel.
//!
//! Emacs starts a sample when it is asked to and reports what comes; the gptel codec of
//! `magent-sampling` knows the words.  This module keeps track of who waits for which
//! sample, and never looks into what is said.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use magent_sampling::{
    Patience, ProviderError, Route, SampleLimits, SampleRequest, Sampler, SseEvent, codec_for,
    pass_on,
};
use magent_tools::{HostError, HostPort};
use magent_types::{ModelEvent, fresh_suffix};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Keys may need a passphrase, and gptel's hooks may take their time.
const START_DEADLINE: Duration = Duration::from_secs(120);
const CANCEL_DEADLINE: Duration = Duration::from_secs(5);

type Waiting = Arc<Mutex<HashMap<String, mpsc::UnboundedSender<String>>>>;

/// Gets answers through Emacs.
pub(crate) struct HostSampler {
    host: Arc<dyn HostPort>,
    waiting: Waiting,
}

impl HostSampler {
    pub(crate) fn new(host: Arc<dyn HostPort>) -> Self {
        Self {
            host,
            waiting: Arc::default(),
        }
    }

    /// Takes an event of a sample, JSON text.  Returns false if nobody waits for it.
    pub(crate) fn event(&self, id: &str, event: String) -> bool {
        let waiting = self.waiting.lock();
        waiting
            .get(id)
            .is_some_and(|sender| sender.send(event).is_ok())
    }
}

/// A sample under way.  Emacs ends it when nobody waits for it any more.
struct Ticket {
    id: String,
    host: Arc<dyn HostPort>,
    waiting: Waiting,
    ended: bool,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.waiting.lock().remove(&self.id);
        if self.ended {
            return;
        }
        let (host, args) = (Arc::clone(&self.host), json!({"id": self.id}));
        tokio::spawn(async move {
            // Without an Emacs there is nothing to end.
            let _ = host.call("sample-cancel", args, CANCEL_DEADLINE).await;
        });
    }
}

#[async_trait]
impl Sampler for HostSampler {
    async fn sample(
        &self,
        route: &Route,
        request: &SampleRequest,
        limits: SampleLimits,
        cancel: &CancellationToken,
        events: mpsc::Sender<ModelEvent>,
    ) -> Result<(), ProviderError> {
        let codec = codec_for(route.dialect);
        codec.check(route, request).map_err(ProviderError::Route)?;
        let (sender, mut incoming) = mpsc::unbounded_channel();
        let mut ticket = Ticket {
            id: format!("sample-{}", fresh_suffix()),
            host: Arc::clone(&self.host),
            waiting: Arc::clone(&self.waiting),
            ended: false,
        };
        self.waiting.lock().insert(ticket.id.clone(), sender);
        let args = json!({"id": ticket.id, "request": codec.encode(route, request)});
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ProviderError::Cancelled),
            started = self.host.call("sample-start", args, START_DEADLINE) => {
                started.map_err(|error| not_started(&error))?;
            }
        }
        let mut decoder = codec.decoder(route);
        let mut patience = Patience::new(limits);
        while !decoder.is_complete() {
            let data = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(ProviderError::Cancelled),
                data = patience.within(route, incoming.recv()) => data?,
            };
            // The ticket keeps the sender, so there is always a next one to wait for.
            let Some(data) = data else { break };
            let mut out = Vec::new();
            let event = SseEvent {
                name: String::new(),
                data,
            };
            let taken = decoder.event(&event, &mut out);
            // An error ends the sample in Emacs as well.
            ticket.ended = taken.is_err() || decoder.is_complete();
            pass_on(&events, out).await?;
            // Lisp reports nothing that says nothing.
            patience.progress();
            taken?;
        }
        let mut out = Vec::new();
        let end = decoder.finish(&mut out);
        pass_on(&events, out).await?;
        end
    }
}

fn not_started(error: &HostError) -> ProviderError {
    match error {
        HostError::Cancelled => ProviderError::Cancelled,
        HostError::Failed { message, .. } => {
            ProviderError::Route(format!("{}.", message.trim_end_matches('.')))
        }
        error => ProviderError::Route(format!("{error}.")),
    }
}

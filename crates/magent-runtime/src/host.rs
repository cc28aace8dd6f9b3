//! Requests of the core to Emacs, and their answers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use magent_tools::{HostError, HostPort};
use magent_types::HostCallId;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::oneshot;

/// A request as Emacs gets it.
#[derive(Clone, Debug)]
pub struct HostRequest {
    /// The id for the answer.
    pub id: HostCallId,
    /// The operation.
    pub op: String,
    /// Its arguments.
    pub args: Value,
    /// How long the core waits.
    pub deadline: Duration,
}

/// Where requests go.
pub trait HostSink: Send + Sync {
    /// Hands a request to Emacs.  Returns whether there is an Emacs.
    fn send(&self, request: HostRequest) -> bool;
}

type Waiting = HashMap<HostCallId, oneshot::Sender<Result<Value, HostError>>>;

/// Keeps track of requests until they are answered, too late, or not wanted any more.
pub struct HostBridge {
    sink: Arc<dyn HostSink>,
    waiting: Arc<Mutex<Waiting>>,
}

impl HostBridge {
    /// Makes a bridge to the Emacs behind the sink.
    pub fn new(sink: Arc<dyn HostSink>) -> Self {
        Self {
            sink,
            waiting: Arc::default(),
        }
    }

    /// Takes an answer.  Returns false for one that comes too late or twice, which is
    /// dropped.
    pub fn reply(&self, id: &HostCallId, result: Result<Value, HostError>) -> bool {
        let Some(sender) = self.waiting.lock().remove(id) else {
            return false;
        };
        sender.send(result).is_ok()
    }
}

/// Forgets a request when nobody waits for it any more.
struct Ticket {
    id: HostCallId,
    waiting: Arc<Mutex<Waiting>>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.waiting.lock().remove(&self.id);
    }
}

#[async_trait]
impl HostPort for HostBridge {
    async fn call(&self, op: &str, args: Value, deadline: Duration) -> Result<Value, HostError> {
        let (sender, receiver) = oneshot::channel();
        let ticket = Ticket {
            id: HostCallId::fresh(),
            waiting: Arc::clone(&self.waiting),
        };
        self.waiting.lock().insert(ticket.id.clone(), sender);
        let request = HostRequest {
            id: ticket.id.clone(),
            op: op.to_owned(),
            args,
            deadline,
        };
        if !self.sink.send(request) {
            return Err(HostError::Absent);
        }
        match tokio::time::timeout(deadline, receiver).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(HostError::Cancelled),
            Err(_) => Err(HostError::Deadline(deadline)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use serde_json::json;

    use super::*;

    struct Channel(Mutex<mpsc::Sender<HostRequest>>);

    impl HostSink for Channel {
        fn send(&self, request: HostRequest) -> bool {
            self.0.lock().send(request).is_ok()
        }
    }

    fn bridge() -> (Arc<HostBridge>, mpsc::Receiver<HostRequest>) {
        let (sender, receiver) = mpsc::channel();
        let bridge = HostBridge::new(Arc::new(Channel(Mutex::new(sender))));
        (Arc::new(bridge), receiver)
    }

    #[tokio::test]
    async fn an_answer_reaches_its_request_once() {
        let (bridge, requests) = bridge();
        let asker = Arc::clone(&bridge);
        let call =
            tokio::spawn(async move { asker.call("op", json!([1]), Duration::from_secs(5)).await });
        let request = tokio::task::spawn_blocking(move || requests.recv().unwrap())
            .await
            .unwrap();
        assert_eq!((request.op.as_str(), &request.args), ("op", &json!([1])));
        assert!(bridge.reply(&request.id, Ok(json!("yes"))));
        assert_eq!(call.await.unwrap(), Ok(json!("yes")));
        assert!(!bridge.reply(&request.id, Ok(json!("again"))));
    }

    #[tokio::test]
    async fn a_late_or_unwanted_answer_is_dropped() {
        let (bridge, requests) = bridge();
        let deadline = Duration::from_millis(20);
        assert_eq!(
            bridge.call("op", Value::Null, deadline).await,
            Err(HostError::Deadline(deadline))
        );
        assert!(!bridge.reply(&requests.recv().unwrap().id, Ok(Value::Null)));
        let asker = Arc::clone(&bridge);
        let call = tokio::spawn(async move {
            let _ = asker.call("op", Value::Null, Duration::from_secs(60)).await;
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        call.abort();
        assert!(call.await.is_err());
        assert!(!bridge.reply(&requests.recv().unwrap().id, Ok(Value::Null)));
        assert!(bridge.waiting.lock().is_empty());
    }

    #[tokio::test]
    async fn without_an_emacs_the_answer_comes_at_once() {
        let (bridge, requests) = bridge();
        drop(requests);
        let result = bridge
            .call("op", Value::Null, Duration::from_secs(60))
            .await;
        assert_eq!(result, Err(HostError::Absent));
    }
}

//! One client: what it asked for, which sessions it has, what it is owed.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use agent_client_protocol_schema::v1::{Error, SessionConfigOption};
use magent_runtime::{ApprovalDecision, ObserverId, Runtime, RuntimeConfig};
use magent_types::{ApprovalId, RuntimeEvent, SessionId, SubmissionId};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::error::bad_params;
use crate::methods::{self, Handled};
use crate::outgoing::{LineSink, Sender};
use crate::rpc::{Incoming, parse, request, response};
use crate::to_acp::updates::Projector;

/// How a connection behaves.
#[derive(Clone, Debug, Default)]
pub struct ConnectionSettings {
    /// Whether the client appends `_meta.terminal_output` to a terminal; others get a
    /// command's output as content.  Also learned from the client's name.
    pub terminal_output: bool,
}

/// What a connection has received, in order.
enum Received {
    /// A message, and its number.
    Message(u64, Incoming),
    /// The client sends nothing more.
    End(Arc<Connection>),
}

/// A session that the client has open.
struct Bound {
    observer: ObserverId,
    /// The options as the client was last told them.
    options: Option<Vec<SessionConfigOption>>,
}

/// A client's connection.
pub struct Connection {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) sender: Sender,
    pub(crate) sink: Arc<dyn LineSink>,
    pub(crate) projector: Projector,
    config: Mutex<Arc<RuntimeConfig>>,
    bound: Mutex<HashMap<SessionId, Bound>>,
    own: Mutex<HashSet<SubmissionId>>,
    /// Our questions by the id of their request.
    questions: Mutex<HashMap<String, ApprovalId>>,
    /// When a session was last cancelled, in numbers of messages.
    cancelled: Mutex<HashMap<SessionId, u64>>,
    received: AtomicU64,
    closed: AtomicBool,
    inbox: mpsc::UnboundedSender<Received>,
    this: Weak<Self>,
}

impl Connection {
    /// Opens a connection.  Must be called inside the runtime's tasks.
    pub fn open(
        runtime: Arc<Runtime>,
        config: Arc<RuntimeConfig>,
        sink: Arc<dyn LineSink>,
        settings: &ConnectionSettings,
    ) -> Arc<Self> {
        let (inbox, receiver) = mpsc::unbounded_channel();
        let sender = Sender::start(Arc::clone(&sink));
        let connection = Arc::new_cyclic(|this| Self {
            runtime,
            sender,
            sink,
            projector: Projector::new(settings.terminal_output),
            config: Mutex::new(config),
            bound: Mutex::default(),
            own: Mutex::default(),
            questions: Mutex::default(),
            cancelled: Mutex::default(),
            received: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            inbox,
            this: Weak::clone(this),
        });
        tokio::spawn(work(Arc::downgrade(&connection), receiver));
        connection
    }

    /// Replaces the options for later requests.
    pub fn set_config(&self, config: Arc<RuntimeConfig>) {
        *self.config.lock() = config;
    }

    /// The options for a request that begins now.
    pub(crate) fn config(&self) -> Arc<RuntimeConfig> {
        Arc::clone(&self.config.lock())
    }

    /// Takes a line of the client.  Returns at once.
    pub fn receive(&self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let message = match parse(line) {
            Ok(message) => message,
            Err(answer) => return self.sender.message(answer),
        };
        let number = self.received.fetch_add(1, Ordering::AcqRel) + 1;
        if let Incoming::Notification { method, params } = &message {
            return methods::notify(self, number, method, params);
        }
        // The worker ends with the connection.
        let _ = self.inbox.send(Received::Message(number, message));
    }

    /// Cancels what a session has been asked for before the message of this number.  It
    /// takes effect at once: on the turns that run or are queued, and, once they are
    /// handled, on prompts that wait behind a message that takes long.
    pub(crate) fn cancel(&self, session: &str, number: u64) {
        let id = SessionId::new(session);
        self.cancelled.lock().insert(id, number);
        if let Ok(id) = self.check_bound(session) {
            self.runtime.cancel_session(&id);
        }
    }

    /// Whether the session was cancelled after the given message came in.
    pub(crate) fn was_cancelled_after(&self, session: &SessionId, number: u64) -> bool {
        self.cancelled
            .lock()
            .get(session)
            .is_some_and(|cancelled| *cancelled > number)
    }

    /// Ends the connection once everything received so far is handled: a client may send
    /// requests and close its end, and is still owed the answers.
    pub fn end(self: Arc<Self>) {
        let inbox = self.inbox.clone();
        // Without a worker the connection has ended already.
        let _ = inbox.send(Received::End(self));
    }

    /// Ends the connection: its turns are cancelled, its sessions are given back.
    pub fn close(&self) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        let own: Vec<SubmissionId> = self.own.lock().drain().collect();
        for id in own {
            self.runtime.cancel_submission(&id);
        }
        let bound: Vec<SessionId> = self.bound.lock().keys().cloned().collect();
        for session in bound {
            self.unbind(&session);
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Gives the client a session: it gets its reports until it closes it.
    pub(crate) fn bind(&self, session: &SessionId) {
        let mut bound = self.bound.lock();
        if bound.contains_key(session) {
            return;
        }
        let this = Weak::clone(&self.this);
        let observer = self.runtime.subscribe(
            Some(session.clone()),
            Arc::new(move |event| {
                if let Some(connection) = this.upgrade() {
                    connection.report(event);
                }
            }),
        );
        self.runtime.attach(session);
        bound.insert(
            session.clone(),
            Bound {
                observer,
                options: None,
            },
        );
    }

    /// Notes the options that the client is told now.  Returns whether they are others
    /// than it was told last.
    pub(crate) fn note_options(
        &self,
        session: &SessionId,
        options: &[SessionConfigOption],
    ) -> bool {
        let mut bound = self.bound.lock();
        let Some(known) = bound.get_mut(session).map(|bound| &mut bound.options) else {
            return false;
        };
        let changed = known.as_deref().is_some_and(|known| known != options);
        *known = Some(options.to_vec());
        changed
    }

    /// Takes a session back.  Returns whether the client had it.
    pub(crate) fn unbind(&self, session: &SessionId) -> bool {
        let Some(bound) = self.bound.lock().remove(session) else {
            return false;
        };
        self.runtime.unsubscribe(bound.observer);
        self.runtime.detach(session);
        true
    }

    /// Refuses sessions that the client did not open.
    pub(crate) fn check_bound(&self, session: &str) -> Result<SessionId, Error> {
        let id = SessionId::new(session);
        if self.bound.lock().contains_key(&id) {
            Ok(id)
        } else {
            Err(bad_params(format!(
                "The session {session} is not open on this connection."
            )))
        }
    }

    pub(crate) fn own(&self, submission: SubmissionId) {
        self.own.lock().insert(submission);
    }

    pub(crate) fn disown(&self, submission: &SubmissionId) {
        self.own.lock().remove(submission);
    }

    /// Passes a report on, if it concerns this client: reports about a turn go to the
    /// client that began it.
    fn report(&self, event: &RuntimeEvent) {
        let foreign = event
            .submission_id
            .as_ref()
            .is_some_and(|id| !self.own.lock().contains(id));
        if !foreign && !self.is_closed() {
            self.projector.project(self, event);
        }
    }

    /// Asks the client whether a call may run.
    pub(crate) fn ask(&self, approval: &ApprovalId, params: &Value) {
        let id = approval.as_str();
        self.questions
            .lock()
            .insert(id.to_owned(), approval.clone());
        self.sender
            .message(request(id, "session/request_permission", params));
    }

    fn answered(&self, id: &Value, result: Result<Value, String>) {
        let Some(id) = id.as_str() else { return };
        let Some(approval) = self.questions.lock().remove(id) else {
            return;
        };
        let option = result.ok().and_then(|result| {
            let outcome = result.get("outcome")?;
            if outcome.get("outcome")? != "selected" {
                return None;
            }
            Some(outcome.get("optionId")?.as_str()?.to_owned())
        });
        // Anything but a clear yes is a no.
        let decision = match option.as_deref() {
            Some("allow_once") => ApprovalDecision::AllowOnce,
            Some("allow_always") => ApprovalDecision::AllowSession,
            _ => ApprovalDecision::DenyOnce,
        };
        self.runtime.resolve_approval(&approval, decision);
    }
}

/// Handles the client's messages one after the other, so that they take effect in the
/// order in which they were sent.  What takes long goes on beside it.
async fn work(connection: Weak<Connection>, mut inbox: mpsc::UnboundedReceiver<Received>) {
    while let Some(received) = inbox.recv().await {
        let (number, message) = match received {
            Received::Message(number, message) => (number, message),
            Received::End(connection) => return connection.close(),
        };
        let Some(connection) = connection.upgrade() else {
            return;
        };
        match message {
            Incoming::Request { id, method, params } => {
                match methods::handle(&connection, number, &id, &method, params).await {
                    Handled::Answer(result) => connection.sender.message(response(id, result)),
                    Handled::AnswerThen(answer, then) => {
                        connection.sender.message(response(id, Ok(answer)));
                        for outgoing in then {
                            connection.sender.send(outgoing);
                        }
                    }
                    Handled::Later => {}
                }
            }
            // They are handled as they come in.
            Incoming::Notification { .. } => {}
            Incoming::Response { id, result } => connection.answered(&id, result),
        }
    }
}

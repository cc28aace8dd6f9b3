//! What is sent, and how fast.
//!
//! Drawing an update costs a user interface milliseconds, whatever its size, so pieces
//! of one text are joined until the next frame.  The first piece goes at once; anything
//! that is no piece of text goes at once too, after what was held back before it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, SessionId, SessionNotification, SessionUpdate, TextContent,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::rpc::notification;
use crate::to_acp::tools::terminal_output;

/// Bytes of text in one line.  Escapes can make six times as many of them, and clients
/// read lines into buffers of limited size.
const PORTION: usize = 24 * 1024;

/// How fast the other side can draw.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The time between two frames.
    pub frame: Duration,
}

/// Where lines go.
pub trait LineSink: Send + Sync {
    /// Sends lines, in order.  Never blocks.  Returns false once nobody reads them.
    fn send(&self, lines: Vec<String>) -> bool;

    /// Tells something the user should know that ACP has no message for.  Returns false
    /// if this way does not exist, and it has to go as a message of the session.
    fn notice(&self, text: &str) -> bool;

    /// How fast the other side can draw now.
    fn pace(&self) -> Pace;
}

/// One thing to be sent.
#[derive(Clone, Debug)]
pub(crate) enum Outgoing {
    /// A message that is sent as it is.
    Message(Value),
    /// A piece of a text.
    Text(TextPiece),
}

/// What a piece belongs to; pieces of the same text can be joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextTarget {
    /// A message of the assistant.
    Message(String),
    /// Reasoning.
    Thought(String),
    /// Output of a running command, for clients that append it to a terminal.
    Terminal(String),
}

/// A piece of a text.
#[derive(Clone, Debug)]
pub(crate) struct TextPiece {
    pub(crate) session: String,
    pub(crate) target: TextTarget,
    pub(crate) text: String,
}

/// The way out of a connection.
#[derive(Clone)]
pub(crate) struct Sender {
    queue: mpsc::UnboundedSender<Outgoing>,
}

impl Sender {
    /// Starts the task that sends.
    pub(crate) fn start(sink: Arc<dyn LineSink>) -> Self {
        let (queue, receiver) = mpsc::unbounded_channel();
        tokio::spawn(pump(receiver, sink));
        Self { queue }
    }

    pub(crate) fn message(&self, message: Value) {
        self.send(Outgoing::Message(message));
    }

    pub(crate) fn text(&self, piece: TextPiece) {
        self.send(Outgoing::Text(piece));
    }

    /// Sends a session update.
    pub(crate) fn update(&self, session: &str, update: SessionUpdate) {
        self.message(session_update(session, update));
    }

    pub(crate) fn send(&self, outgoing: Outgoing) {
        // After the client has gone there is nobody to tell.
        let _ = self.queue.send(outgoing);
    }
}

async fn pump(mut queue: mpsc::UnboundedReceiver<Outgoing>, sink: Arc<dyn LineSink>) {
    let mut sent_at: Option<Instant> = None;
    while let Some(first) = queue.recv().await {
        let mut batch = Batch::default();
        batch.add(first);
        drain(&mut queue, &mut batch);
        if !batch.urgent
            && let Some(sent_at) = sent_at
        {
            let due = sent_at + sink.pace().frame;
            wait_for_frame(&mut queue, &mut batch, due).await;
        }
        sent_at = Some(Instant::now());
        if !sink.send(batch.lines()) {
            return;
        }
    }
}

/// Collects pieces of text until the frame is due or something urgent comes.
async fn wait_for_frame(
    queue: &mut mpsc::UnboundedReceiver<Outgoing>,
    batch: &mut Batch,
    due: Instant,
) {
    while !batch.urgent {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        match tokio::time::timeout(left, queue.recv()).await {
            Ok(Some(outgoing)) => {
                batch.add(outgoing);
                drain(queue, batch);
            }
            Ok(None) | Err(_) => return,
        }
    }
}

fn drain(queue: &mut mpsc::UnboundedReceiver<Outgoing>, batch: &mut Batch) {
    while let Ok(outgoing) = queue.try_recv() {
        batch.add(outgoing);
    }
}

#[derive(Default)]
struct Batch {
    items: Vec<Outgoing>,
    urgent: bool,
}

impl Batch {
    fn add(&mut self, outgoing: Outgoing) {
        if let Outgoing::Text(piece) = &outgoing {
            if let Some(last) = self.last_piece(&piece.session)
                && last.target == piece.target
            {
                last.text.push_str(&piece.text);
                return;
            }
        } else {
            self.urgent = true;
        }
        self.items.push(outgoing);
    }

    /// The newest piece of a session, if only pieces of other sessions follow it:
    /// sessions that stream side by side must not keep each other's pieces apart.
    fn last_piece(&mut self, session: &str) -> Option<&mut TextPiece> {
        self.items
            .iter_mut()
            .rev()
            .map_while(|item| match item {
                Outgoing::Text(piece) => Some(piece),
                Outgoing::Message(_) => None,
            })
            .find(|piece| piece.session == session)
    }

    fn lines(self) -> Vec<String> {
        self.items
            .into_iter()
            .flat_map(|outgoing| match outgoing {
                Outgoing::Message(message) => vec![message.to_string()],
                Outgoing::Text(piece) => render(&piece),
            })
            .collect()
    }
}

fn render(piece: &TextPiece) -> Vec<String> {
    let chunk = |text: &str, id: &str| {
        let content = ContentBlock::Text(TextContent::new(text));
        ContentChunk::new(content).message_id(Some(id.to_owned().into()))
    };
    portions(&piece.text)
        .map(|text| match &piece.target {
            TextTarget::Message(id) => SessionUpdate::AgentMessageChunk(chunk(text, id)),
            TextTarget::Thought(id) => SessionUpdate::AgentThoughtChunk(chunk(text, id)),
            TextTarget::Terminal(id) => terminal_output(id.clone(), text.to_owned()),
        })
        .map(|update| session_update(&piece.session, update).to_string())
        .collect()
}

/// The text in portions that clients can take in one line.  An empty text has none.
pub(crate) fn portions(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let mut end = PORTION.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (portion, rest) = text.split_at(end);
        text = rest;
        (!portion.is_empty()).then_some(portion)
    })
}

/// A `session/update` notification.
pub(crate) fn session_update(session: &str, update: SessionUpdate) -> Value {
    let session = SessionId::new(session.to_owned());
    match serde_json::to_value(SessionNotification::new(session, update)) {
        Ok(params) => notification("session/update", &params),
        // The types are made for serialization; should one ever refuse, the client hears
        // of it instead of waiting for an update that never comes.
        Err(error) => notification(
            "_magent/error",
            &json!({"message": format!("an update could not be sent: {error}")}),
        ),
    }
}

#[cfg(test)]
#[path = "outgoing_tests.rs"]
mod tests;

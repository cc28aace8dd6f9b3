//! Reports of the runtime as session updates.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_client_protocol_schema::v1::{
    CurrentModeUpdate, Plan, PlanEntry as AcpPlanEntry, PlanEntryPriority, PlanEntryStatus,
    SessionInfoUpdate, SessionUpdate, Usage as AcpUsage, UsageUpdate,
};
use magent_types::{EventKind, ItemId, PlanEntry, PlanStatus, RuntimeEvent, ToolView, Usage};
use parking_lot::Mutex;
use serde_json::Value;

use super::tools::{permission_request, tool_call, tool_ended, tool_output, tool_started};
use crate::connection::Connection;
use crate::outgoing::{Outgoing, TextPiece, TextTarget};

/// How much of the end of a running command's output a client without a terminal gets;
/// each update has all of it.
const LIVE_LIMIT: usize = 16 * 1024;

/// Cuts the beginning of a text that is too long, whole lines if possible.
fn keep_end(text: &mut String) {
    const MARK: &str = "[…]\n";
    if text.len() <= LIVE_LIMIT {
        return;
    }
    let mut start = text.len() - LIVE_LIMIT;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let line = text[start..]
        .find('\n')
        .map_or(start, |end| start + end + 1);
    let start = if line < text.len() { line } else { start };
    text.replace_range(..start, MARK);
}

/// Turns reports into updates for one client.
pub(crate) struct Projector {
    terminal: AtomicBool,
    /// Output of running calls so far, for clients that get it whole every time.
    outputs: Mutex<HashMap<String, String>>,
}

impl Projector {
    pub(crate) fn new(terminal: bool) -> Self {
        Self {
            terminal: AtomicBool::new(terminal),
            outputs: Mutex::default(),
        }
    }

    /// The client appends output to a terminal.
    pub(crate) fn use_terminal_output(&self) {
        self.terminal.store(true, Ordering::Release);
    }

    /// Whether it does.
    pub(crate) fn terminal(&self) -> bool {
        self.terminal.load(Ordering::Acquire)
    }

    /// Sends what a report means for the client.
    pub(crate) fn project(&self, connection: &Connection, event: &RuntimeEvent) {
        let session = event.session_id.as_str();
        let text = |target, text: &str| {
            connection.sender.text(TextPiece {
                session: session.to_owned(),
                target,
                text: text.to_owned(),
            });
        };
        let update = match &event.kind {
            EventKind::AssistantDelta { item, text: delta } => {
                return text(TextTarget::Message(item.as_str().to_owned()), delta);
            }
            EventKind::ReasoningDelta { item, text: delta } => {
                return text(TextTarget::Thought(item.as_str().to_owned()), delta);
            }
            EventKind::ToolOutput { call_id, text } => {
                return self.output(connection, session, call_id.as_str(), text);
            }
            EventKind::Notice { text, .. } => return self.notice(connection, session, text),
            EventKind::ApprovalRequested(view) => {
                let request = permission_request(session, view);
                let params = serde_json::to_value(request).unwrap_or(Value::Null);
                return connection.ask(&view.approval_id, &params);
            }
            EventKind::ToolPending(view) => {
                SessionUpdate::ToolCall(tool_call(view, self.terminal()))
            }
            EventKind::ToolStart(view) => SessionUpdate::ToolCallUpdate(tool_started(view)),
            EventKind::ToolComplete(view) => self.ended(connection, view),
            EventKind::PlanUpdate { entries, .. } => SessionUpdate::Plan(plan(entries)),
            EventKind::SampleEnd {
                usage,
                context_window,
                ..
            } => match usage_update(*usage, *context_window) {
                Some(update) => SessionUpdate::UsageUpdate(update),
                None => return,
            },
            EventKind::TitleChanged(title) => {
                SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title.clone()))
            }
            EventKind::AgentChanged(agent) => {
                SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(agent.clone()))
            }
            EventKind::TurnStart
            | EventKind::UserMessage { .. }
            | EventKind::AssistantComplete { .. }
            | EventKind::ReasoningComplete { .. }
            | EventKind::ApprovalResolved { .. }
            | EventKind::SampleStart { .. }
            | EventKind::TurnEnd(_) => return,
        };
        connection.sender.update(session, update);
    }

    fn ended(&self, connection: &Connection, view: &ToolView) -> SessionUpdate {
        self.outputs.lock().remove(view.call_id.as_str());
        let catalog = connection.runtime.catalog();
        SessionUpdate::ToolCallUpdate(tool_ended(view, catalog, self.terminal()))
    }

    fn output(&self, connection: &Connection, session: &str, call_id: &str, text: &str) {
        if self.terminal() {
            connection.sender.text(TextPiece {
                session: session.to_owned(),
                target: TextTarget::Terminal(call_id.to_owned()),
                text: text.to_owned(),
            });
            return;
        }
        let mut outputs = self.outputs.lock();
        let output = outputs.entry(call_id.to_owned()).or_default();
        output.push_str(text);
        keep_end(output);
        let update = SessionUpdate::ToolCallUpdate(tool_output(call_id, output));
        connection.sender.update(session, update);
    }

    /// Tells something that is no part of the conversation.
    fn notice(&self, connection: &Connection, session: &str, text: &str) {
        if let Some(outgoing) = notice(connection, session, text) {
            connection.sender.send(outgoing);
        }
    }
}

/// Tells something that is no part of the conversation: beside it where that is
/// possible, otherwise as a marked message of its own, which is returned.
pub(crate) fn notice(connection: &Connection, session: &str, text: &str) -> Option<Outgoing> {
    if connection.sink.notice(text) {
        return None;
    }
    Some(Outgoing::Text(TextPiece {
        session: session.to_owned(),
        target: TextTarget::Message(ItemId::fresh().as_str().to_owned()),
        text: format!("[Magent: {text}]\n"),
    }))
}

/// A plan, whole.  ACP wants a priority; plans of ours have none.
pub(crate) fn plan(entries: &[PlanEntry]) -> Plan {
    let entries = entries
        .iter()
        .map(|entry| {
            let status = match entry.status {
                PlanStatus::Pending => PlanEntryStatus::Pending,
                PlanStatus::InProgress => PlanEntryStatus::InProgress,
                PlanStatus::Completed => PlanEntryStatus::Completed,
            };
            AcpPlanEntry::new(entry.step.as_str(), PlanEntryPriority::Medium, status)
        })
        .collect();
    Plan::new(entries)
}

/// How full the model's context is.  Without both numbers nothing is said, since a wrong
/// meter is worse than none.
fn usage_update(usage: Usage, window: Option<u64>) -> Option<UsageUpdate> {
    Some(UsageUpdate::new(usage.in_context()?, window?))
}

/// The tokens of a whole turn, if they are known.
pub(crate) fn prompt_usage(usage: Usage) -> Option<AcpUsage> {
    let (input, output) = (usage.input?, usage.output?);
    Some(
        AcpUsage::new(input + output, input, output)
            .thought_tokens(usage.reasoning)
            .cached_read_tokens(usage.cached_read)
            .cached_write_tokens(usage.cached_write),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_output_the_last_lines_stay() {
        let mut text = String::new();
        for number in 0..5_000 {
            text.push_str(&format!("line {number} 漢\n"));
            keep_end(&mut text);
            assert!(text.len() <= LIVE_LIMIT + 10);
        }
        assert!(text.starts_with("[…]\nline "));
        assert!(text.ends_with("line 4999 漢\n"));
        let mut text = "漢".repeat(LIVE_LIMIT);
        keep_end(&mut text);
        assert!(text.starts_with("[…]\n漢") && text.len() <= LIVE_LIMIT + 10);
    }
}

//! A saved conversation as updates.

use agent_client_protocol_schema::v1::{ContentBlock, ContentChunk, SessionUpdate, TextContent};
use magent_runtime::{Catalog, ReplayEntry};
use magent_types::{ItemId, ItemStatus, ToolView};

use crate::outgoing::portions;

use super::tools::{display_text, terminal_output, tool_call, tool_ended};
use super::updates::plan;

/// The updates that show a conversation again, in order.
///
/// `terminal` tells that the client shows a command's output in a terminal.
pub(crate) fn replay_updates(
    entries: Vec<ReplayEntry>,
    catalog: &Catalog,
    terminal: bool,
) -> Vec<SessionUpdate> {
    let mut updates = Vec::new();
    for entry in entries {
        match entry {
            ReplayEntry::User { item, text } => {
                updates.extend(chunks(&item, &text).map(SessionUpdate::UserMessageChunk));
            }
            ReplayEntry::Assistant { item, text } => {
                updates.extend(chunks(&item, &text).map(SessionUpdate::AgentMessageChunk));
            }
            ReplayEntry::Reasoning { item, text } => {
                updates.extend(chunks(&item, &text).map(SessionUpdate::AgentThoughtChunk));
            }
            ReplayEntry::Tool(view) => {
                updates.extend(replay_call(&view, catalog, terminal));
            }
            ReplayEntry::Plan(entries) => updates.push(SessionUpdate::Plan(plan(&entries))),
            ReplayEntry::Notice(text) => {
                let text = format!("[Magent: {text}]\n");
                let item = ItemId::fresh();
                updates.extend(chunks(&item, &text).map(SessionUpdate::AgentMessageChunk));
            }
        }
    }
    updates
}

fn replay_call(view: &ToolView, catalog: &Catalog, terminal: bool) -> Vec<SessionUpdate> {
    let begun = ToolView {
        status: ItemStatus::Pending,
        diffs: Vec::new(),
        ..view.clone()
    };
    let mut updates = vec![SessionUpdate::ToolCall(tool_call(&begun, terminal))];
    if terminal && view.live_output {
        let text = shown_in_terminal(view, catalog);
        if !text.is_empty() {
            updates.push(terminal_output(view.call_id.as_str().to_owned(), text));
        }
    }
    let ended = tool_ended(view, catalog, terminal);
    updates.push(SessionUpdate::ToolCallUpdate(ended));
    updates
}

/// What the terminal of the call had shown.  A failed call's content begins with its
/// message, and a blank line ends that.
fn shown_in_terminal(view: &ToolView, catalog: &Catalog) -> String {
    let text = display_text(view, catalog);
    if view.status == ItemStatus::Completed {
        return text;
    }
    match text.split_once("\n\n") {
        Some((_, output)) => output.to_owned(),
        None => String::new(),
    }
}

fn chunks<'a>(item: &ItemId, text: &'a str) -> impl Iterator<Item = ContentChunk> + use<'a> {
    let id = item.as_str().to_owned();
    portions(text).map(move |text| {
        ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
            .message_id(Some(id.clone().into()))
    })
}

//! A saved conversation as updates.

use agent_client_protocol_schema::v1::{ContentBlock, ContentChunk, SessionUpdate, TextContent};
use magent_runtime::{Catalog, ReplayEntry};
use magent_types::{ItemId, ItemStatus, ToolView};

use super::tools::{tool_call, tool_ended};
use super::updates::plan;

/// The updates that show a conversation again, in order.
pub(crate) fn replay_updates(entries: Vec<ReplayEntry>, catalog: &Catalog) -> Vec<SessionUpdate> {
    let mut updates = Vec::new();
    for entry in entries {
        match entry {
            ReplayEntry::User { item, text } => {
                updates.push(SessionUpdate::UserMessageChunk(chunk(&item, text)));
            }
            ReplayEntry::Assistant { item, text } => {
                updates.push(SessionUpdate::AgentMessageChunk(chunk(&item, text)));
            }
            ReplayEntry::Reasoning { item, text } => {
                updates.push(SessionUpdate::AgentThoughtChunk(chunk(&item, text)));
            }
            ReplayEntry::Tool(view) => {
                let begun = ToolView {
                    status: ItemStatus::Pending,
                    diffs: Vec::new(),
                    ..view.clone()
                };
                updates.push(SessionUpdate::ToolCall(tool_call(&begun, false)));
                let ended = tool_ended(&view, catalog, false);
                updates.push(SessionUpdate::ToolCallUpdate(ended));
            }
            ReplayEntry::Plan(entries) => updates.push(SessionUpdate::Plan(plan(&entries))),
            ReplayEntry::Notice(text) => {
                let chunk = chunk(&ItemId::fresh(), format!("[Magent: {text}]\n"));
                updates.push(SessionUpdate::AgentMessageChunk(chunk));
            }
        }
    }
    updates
}

fn chunk(item: &ItemId, text: String) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
        .message_id(Some(item.as_str().to_owned().into()))
}

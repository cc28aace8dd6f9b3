//! The conversation as a model is to read it.

use magent_types::{
    CallId, ConversationEntry, Item, ItemStatus, ItemType, NativeAnswer, NativeOrigin, Role,
    Thread, ToolExchange, Turn, TurnId, TurnStatus, UNKNOWN_RESULT, UserImage,
};

use super::compaction::begin_at_summary;
use crate::record::IMAGES;

/// How much of the past a model reads.
#[derive(Clone, Copy, Debug)]
pub struct HistoryLimit {
    /// About this many messages of earlier turns; only whole turns are left out, never the
    /// newest of them.
    pub max_messages: Option<usize>,
}

/// The conversation up to and including the current turn: of every earlier turn that
/// ended, and of the current one, the user's words and then, in order, what was said
/// and done.  Turns that wait behind the current one do not leak in, and a summary stands
/// for all before it.
pub fn conversation(
    thread: &Thread,
    current: &TurnId,
    limit: HistoryLimit,
) -> Vec<ConversationEntry> {
    let mut turns: Vec<&Turn> = Vec::new();
    for turn in &thread.turns {
        if turn.id == *current {
            turns.push(turn);
            break;
        }
        if counts(turn) {
            turns.push(turn);
        }
    }
    let mut read = begin_at_summary(&mut turns);
    let mut entries: Vec<Vec<ConversationEntry>> = turns
        .iter()
        .map(|turn| turn_entries(turn, turn.id == *current))
        .collect();
    if let Some(most) = limit.max_messages {
        drop_oldest(&mut entries, most);
    }
    read.extend(entries.into_iter().flatten());
    read
}

/// Whether a turn that is over is part of the conversation.
pub(super) fn counts(turn: &Turn) -> bool {
    use TurnStatus::{Completed, Failed, Interrupted};
    matches!(turn.status, Completed | Interrupted | Failed)
}

/// Drops the oldest turns but the last two: the current one, and what it goes on from.
/// The current one does not count, so that what it goes on from is the same in all its
/// requests.
fn drop_oldest(turns: &mut Vec<Vec<ConversationEntry>>, most: usize) {
    let messages = |turn: &Vec<ConversationEntry>| {
        turn.iter()
            .filter(|entry| {
                !matches!(
                    entry,
                    ConversationEntry::SampleStart
                        | ConversationEntry::Native(_)
                        | ConversationEntry::Image(_)
                )
            })
            .count()
    };
    let past = turns.len().saturating_sub(1);
    let mut total: usize = turns.iter().take(past).map(messages).sum();
    let mut dropped = 0;
    while total > most && dropped + 1 < past {
        total -= messages(&turns[dropped]);
        dropped += 1;
    }
    turns.drain(..dropped);
}

pub(super) fn turn_entries(turn: &Turn, is_current: bool) -> Vec<ConversationEntry> {
    let mut entries = Vec::new();
    for item in &turn.items {
        match item.kind {
            ItemType::Message => {
                entries.extend(message_entry(item));
                entries.extend(images(item));
            }
            ItemType::Reasoning if item.status == ItemStatus::Completed => {
                entries.extend(item.content.clone().map(ConversationEntry::Reasoning));
            }
            ItemType::Tool => entries.extend(tool_entry(item, is_current)),
            ItemType::Sample => entries.push(ConversationEntry::SampleStart),
            ItemType::Provider => entries.extend(native_entry(item)),
            ItemType::Reasoning | ItemType::Plan | ItemType::Notice | ItemType::WorkflowStep => {}
        }
    }
    entries
}

fn message_entry(item: &Item) -> Option<ConversationEntry> {
    let text = item.content.as_deref().unwrap_or_default();
    match item.role {
        Some(Role::User) => {
            let model_text = item.metadata.get("model-text").and_then(|v| v.as_str());
            Some(ConversationEntry::User(
                model_text.unwrap_or(text).to_owned(),
            ))
        }
        // What was said before a cancel or failure was seen by the user and counts.
        Some(Role::Assistant) if item.status.is_terminal() && !text.trim().is_empty() => {
            Some(ConversationEntry::Assistant {
                text: text.to_owned(),
                phase: item.phase.clone(),
            })
        }
        Some(Role::Assistant) | None => None,
    }
}

/// The pictures of a user's message, without their bytes.
fn images(item: &Item) -> impl Iterator<Item = ConversationEntry> {
    let images = item.metadata.get(IMAGES).and_then(|list| list.as_array());
    images.into_iter().flatten().filter_map(|image| {
        let text = |key: &str| Some(image.get(key)?.as_str()?.to_owned());
        Some(ConversationEntry::Image(UserImage {
            name: text("name")?,
            mime_type: text("mime-type")?,
            file: text("file")?,
            data: None,
        }))
    })
}

/// Only a whole answer can stand for its sample.
fn native_entry(item: &Item) -> Option<ConversationEntry> {
    if item.status != ItemStatus::Completed {
        return None;
    }
    let native = item.metadata.get("native")?;
    Some(ConversationEntry::Native(NativeAnswer {
        origin: NativeOrigin::from_json(native.get("origin")?)?,
        answer: native.get("answer")?.clone(),
    }))
}

fn tool_entry(item: &Item, is_current: bool) -> Option<ConversationEntry> {
    // A call of the current turn that still runs has no place in a request: requests
    // are made between batches.
    if is_current && !item.status.is_terminal() {
        return None;
    }
    let output = match item.output_text() {
        Some(text) => text.to_owned(),
        None => error_text(item).unwrap_or_else(|| UNKNOWN_RESULT.to_owned()),
    };
    Some(ConversationEntry::Tool(ToolExchange {
        call_id: item
            .call_id
            .clone()
            .unwrap_or_else(|| CallId::new(item.id.as_str())),
        name: item.name.clone().unwrap_or_default(),
        input: item.input.clone(),
        output,
        failed: item.status != ItemStatus::Completed,
    }))
}

fn error_text(item: &Item) -> Option<String> {
    if item.status == ItemStatus::Cancelled {
        return None;
    }
    let message = item.error.get("message")?.as_str()?;
    Some(message.to_owned())
}

//! Compaction: for the model a summary stands for all that was said before it.
//!
//! The ledger keeps every turn; only what a model reads begins anew.

use magent_types::{ConversationEntry, ItemType, Role, Thread, Turn, TurnId, TurnStatus};

use serde_json::{Map, Value};

use super::conversation::{counts, turn_entries};

/// The key in a turn's metadata that is true for a turn that sums up.
pub const COMPACTION: &str = "compaction";

/// What a model finds before a summary, as the words that it answers.
const SUMMARY_REQUEST: &str = "What was said before this was replaced by a summary. Give it.";
/// Characters of a call's arguments or result that a summary can be made from.
const CALL_LIMIT: usize = 2_000;

/// Whether a turn with this metadata sums up what was said before it.
pub fn is_compaction(metadata: &Map<String, Value>) -> bool {
    metadata.get(COMPACTION) == Some(&Value::Bool(true))
}

/// The summary that a turn ended with.
fn summary_of(turn: &Turn) -> Option<String> {
    if !is_compaction(&turn.metadata) || turn.status != TurnStatus::Completed {
        return None;
    }
    let texts = turn.items.iter().filter_map(|item| {
        let is_said = item.kind == ItemType::Message && item.role == Some(Role::Assistant);
        item.content.as_deref().filter(|_| is_said)
    });
    let summary = texts.collect::<Vec<_>>().join("\n\n");
    (!summary.trim().is_empty()).then_some(summary)
}

/// Takes from the front of turns what a summary stands for, and from the rest the attempts
/// to sum up.  Returns what the model reads instead.
pub(super) fn begin_at_summary(turns: &mut Vec<&Turn>) -> Vec<ConversationEntry> {
    let mut newest = turns.iter().enumerate().rev();
    let found = newest.find_map(|(at, turn)| Some((at, summary_of(turn)?)));
    let mut entries = Vec::new();
    if let Some((at, summary)) = found {
        turns.drain(..=at);
        entries.push(ConversationEntry::User(SUMMARY_REQUEST.to_owned()));
        entries.push(ConversationEntry::SampleStart);
        entries.push(ConversationEntry::Assistant {
            text: summary,
            phase: None,
        });
    }
    turns.retain(|turn| !is_compaction(&turn.metadata));
    entries
}

/// Whether anything was said since the last summary.
pub fn can_compact(thread: &Thread) -> bool {
    let newest = thread.turns.iter().rev();
    newest
        .take_while(|turn| summary_of(turn).is_none())
        .any(|turn| !is_compaction(&turn.metadata) && turn.status != TurnStatus::Dropped)
}

/// What a model reads that sums up everything before the turn `current`: one message, in
/// which calls are told as text, so that no provider wants the tools they are of.
pub fn compaction_request(thread: &Thread, current: &TurnId) -> Vec<ConversationEntry> {
    let before = thread.turns.iter().take_while(|turn| turn.id != *current);
    let mut turns: Vec<&Turn> = before
        .map(AsRef::as_ref)
        .filter(|turn| counts(turn))
        .collect();
    let mut entries = begin_at_summary(&mut turns);
    entries.extend(turns.into_iter().flat_map(|turn| turn_entries(turn, false)));
    let mut text = String::from("The conversation:\n\n<conversation>\n");
    for entry in &entries {
        tell(entry, &mut text);
    }
    text.push_str("</conversation>\n\nSum it up.");
    let wish = thread.turn(current).and_then(|turn| turn.input.as_deref());
    let wish = wish.and_then(|input| input.split_once(char::is_whitespace));
    if let Some((_, wish)) = wish.filter(|(_, wish)| !wish.trim().is_empty()) {
        text.push_str(&format!(" The user adds: {}", wish.trim()));
    }
    vec![ConversationEntry::User(text)]
}

fn tell(entry: &ConversationEntry, text: &mut String) {
    let told = match entry {
        ConversationEntry::User(words) => format!("User: {words}"),
        ConversationEntry::Image(image) => format!("(The picture {})", image.name),
        ConversationEntry::Assistant { text, .. } => format!("Agent: {text}"),
        ConversationEntry::Tool(tool) => {
            let what = if tool.failed { "failed" } else { "gave" };
            let input = clipped(&tool.input.to_string());
            format!(
                "Call of {} with {input} {what}: {}",
                tool.name,
                clipped(&tool.output)
            )
        }
        ConversationEntry::SampleStart
        | ConversationEntry::Reasoning(_)
        | ConversationEntry::Native(_) => return,
    };
    text.push_str(&told);
    text.push_str("\n\n");
}

/// Both ends of a long text.
fn clipped(text: &str) -> String {
    let half = CALL_LIMIT / 2;
    let characters = text.chars().count();
    if characters <= CALL_LIMIT {
        return text.to_owned();
    }
    let begin: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(characters - half).collect();
    format!("{begin} [… {} characters …] {end}", characters - CALL_LIMIT)
}

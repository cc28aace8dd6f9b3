//! What a model reads.

use magent_ledger::{HistoryLimit, NewTurn, conversation};
use magent_types::{ConversationEntry, Item, ItemStatus, ItemType, TurnStatus};
use serde_json::json;

use crate::support::{fresh, running_turn, say, whole_turn};

const ALL: HistoryLimit = HistoryLimit { max_messages: None };

fn texts(entries: &[ConversationEntry]) -> Vec<String> {
    entries
        .iter()
        .map(|entry| match entry {
            ConversationEntry::User(text) => format!("user: {text}"),
            ConversationEntry::SampleStart => "--".into(),
            ConversationEntry::Image(image) => format!("image: {}", image.name),
            ConversationEntry::Native(native) => format!("native: {}", native.answer),
            ConversationEntry::Reasoning(text) => format!("reasoning: {text}"),
            ConversationEntry::Assistant { text, .. } => format!("assistant: {text}"),
            ConversationEntry::Tool(tool) => {
                format!("{} {} -> {}", tool.name, tool.input, tool.output)
            }
        })
        .collect()
}

#[test]
fn earlier_turns_and_the_current_one_in_order_and_nothing_queued_behind() {
    let (mut ledger, _) = fresh("s");
    whole_turn(&mut ledger, "one", "first", 1.0);
    let current = running_turn(&mut ledger, "two", 2.0);
    say(&mut ledger, &current, "so far", 2.5);
    ledger.queue_turn(
        NewTurn {
            words: "three".into(),
            ..NewTurn::default()
        },
        3.0,
    );
    assert_eq!(
        texts(&conversation(ledger.thread(), &current, ALL)),
        [
            "user: one",
            "grep {\"pattern\":\"x\",\"list\":[],\"one\":[1],\"empty\":{},\"none\":null} -> two",
            "assistant: first",
            "user: two",
            "assistant: so far",
        ]
    );
}

#[test]
fn an_interrupted_call_is_told_as_unknown_and_a_dropped_turn_not_at_all() {
    let (mut ledger, _) = fresh("s");
    let first = running_turn(&mut ledger, "one", 1.0);
    let mut tool = Item::new(first.clone(), ItemType::Tool, 1.0);
    tool.status = ItemStatus::InProgress;
    tool.name = Some("bash".into());
    ledger.start_item(tool, 1.0);
    ledger.end_turn(
        &first,
        TurnStatus::Interrupted,
        json!({"message": "stop"}),
        2.0,
    );
    let (dropped, _) = ledger.queue_turn(NewTurn::default(), 2.0);
    ledger.end_turn(&dropped, TurnStatus::Dropped, json!(null), 2.5);
    let current = running_turn(&mut ledger, "two", 3.0);
    let texts = texts(&conversation(ledger.thread(), &current, ALL));
    assert_eq!(texts.len(), 3);
    assert!(
        texts[1].contains("Whether it took effect is unknown"),
        "{texts:?}"
    );
}

#[test]
fn the_limit_drops_whole_old_turns_and_never_the_newest() {
    let (mut ledger, _) = fresh("s");
    for number in 0..5 {
        whole_turn(&mut ledger, &format!("p{number}"), "a", f64::from(number));
    }
    let current = running_turn(&mut ledger, "now", 9.0);
    let limit = HistoryLimit {
        max_messages: Some(7),
    };
    let texts = texts(&conversation(ledger.thread(), &current, limit));
    assert_eq!(texts.first().unwrap(), "user: p3");
    assert_eq!(texts.last().unwrap(), "user: now");
    let limit = HistoryLimit {
        max_messages: Some(0),
    };
    let texts = self::texts(&conversation(ledger.thread(), &current, limit));
    // What the current turn goes on from is never left out.
    assert_eq!(texts.first().unwrap(), "user: p4");
    assert_eq!(texts.last().unwrap(), "user: now");
}

#[test]
fn a_turn_reads_the_same_past_however_long_it_gets() {
    let (mut ledger, _) = fresh("s");
    for number in 0..3 {
        whole_turn(&mut ledger, &format!("p{number}"), "a", f64::from(number));
    }
    let current = running_turn(&mut ledger, "now", 9.0);
    let limit = HistoryLimit {
        max_messages: Some(6),
    };
    let before = conversation(ledger.thread(), &current, limit);
    for number in 0..9 {
        say(&mut ledger, &current, &format!("m{number}"), 10.0);
    }
    let after = conversation(ledger.thread(), &current, limit);
    assert_eq!(texts(&before).first().unwrap(), "user: p1");
    assert!(after.starts_with(&before));
}

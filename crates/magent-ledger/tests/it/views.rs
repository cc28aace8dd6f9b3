//! What a model reads.

use magent_ledger::{
    COMPACTION, HistoryLimit, Ledger, NewTurn, can_compact, compaction_request, conversation,
    transcript,
};
use magent_types::{ConversationEntry, Item, ItemStatus, ItemType, TurnId, TurnStatus};
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

/// Adds a turn that sums up and ends so.
fn compaction_turn(ledger: &mut Ledger, answer: Option<&str>, now: f64) -> TurnId {
    let new = NewTurn {
        words: "/compact".into(),
        metadata: serde_json::Map::from_iter([(COMPACTION.to_owned(), true.into())]),
        ..NewTurn::default()
    };
    let (turn, _) = ledger.queue_turn(new, now);
    ledger.start_turn(&turn, now);
    match answer {
        Some(answer) => {
            say(ledger, &turn, answer, now);
            ledger.end_turn(&turn, TurnStatus::Completed, json!(null), now);
        }
        None => {
            ledger.end_turn(&turn, TurnStatus::Failed, json!("no"), now);
        }
    }
    turn
}

#[test]
fn a_summary_stands_for_what_was_said_before_it() {
    let (mut ledger, _) = fresh("s");
    assert!(!can_compact(ledger.thread()));
    whole_turn(&mut ledger, "one", "1", 1.0);
    assert!(can_compact(ledger.thread()));
    compaction_turn(&mut ledger, None, 2.0);
    assert!(
        can_compact(ledger.thread()),
        "one that failed changes nothing"
    );
    compaction_turn(&mut ledger, Some("It was about one."), 3.0);
    assert!(!can_compact(ledger.thread()));
    whole_turn(&mut ledger, "two", "2", 4.0);
    compaction_turn(&mut ledger, None, 5.0);
    let current = running_turn(&mut ledger, "three", 6.0);
    for max_messages in [None, Some(0)] {
        let limit = HistoryLimit { max_messages };
        let read = texts(&conversation(ledger.thread(), &current, limit));
        assert!(read[0].starts_with("user: What was said"), "{read:?}");
        assert_eq!(read[2], "assistant: It was about one.");
        assert_eq!(read[3], "user: two");
        assert_eq!(read.last().unwrap(), "user: three");
        assert!(
            !read
                .iter()
                .any(|text| text.contains("compact") || text.contains(": 1"))
        );
    }
    // The transcript has all of it.
    let shown = format!(
        "{:?}",
        ledger
            .thread()
            .turns
            .iter()
            .map(|turn| transcript(turn))
            .collect::<Vec<_>>()
    );
    assert!(shown.contains("one") && shown.contains("/compact") && shown.contains("three"));
}

#[test]
fn a_summary_is_made_of_the_last_one_and_what_came_after_it() {
    let (mut ledger, _) = fresh("s");
    whole_turn(&mut ledger, "one", "1", 1.0);
    compaction_turn(&mut ledger, Some("It was about one."), 2.0);
    whole_turn(&mut ledger, "two", &"long ".repeat(900), 3.0);
    let new = NewTurn {
        words: "/compact  keep the names".into(),
        metadata: serde_json::Map::from_iter([(COMPACTION.to_owned(), true.into())]),
        ..NewTurn::default()
    };
    let (current, _) = ledger.queue_turn(new, 4.0);
    ledger.start_turn(&current, 4.0);
    let read = compaction_request(ledger.thread(), &current);
    let [ConversationEntry::User(text)] = read.as_slice() else {
        panic!("{read:?}");
    };
    assert!(text.contains("Agent: It was about one.") && text.contains("User: two"));
    assert!(text.contains("Call of grep") && !text.contains("User: one"));
    assert!(
        text.ends_with("Sum it up. The user adds: keep the names"),
        "{text}"
    );
}

//! Replaying the journal gives the state again, whatever happened.

use magent_ledger::{
    Ledger, NewTurn, decode_event, decode_snapshot, encode_event, encode_snapshot,
};
use magent_types::{Item, ItemStatus, ItemType, TurnStatus};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{as_json, fresh};

/// One thing that can happen; numbers pick turns and items by position.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Queue(String),
    Start(usize),
    Item(usize, String),
    Append(usize, String),
    EndItem(usize, u8),
    EndTurn(usize, u8),
    Restart,
}

/// What may happen, in any order.
pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let text = "[a-z漢🚀\n]{1,8}";
    let step = prop_oneof![
        3 => text.prop_map(Step::Queue),
        3 => (0..4_usize).prop_map(Step::Start),
        4 => (0..4_usize, text).prop_map(|(turn, text)| Step::Item(turn, text)),
        5 => (0..8_usize, text).prop_map(|(item, text)| Step::Append(item, text)),
        3 => (0..8_usize, 0..3_u8).prop_map(|(item, how)| Step::EndItem(item, how)),
        2 => (0..4_usize, 0..4_u8).prop_map(|(turn, how)| Step::EndTurn(turn, how)),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 0..40)
}

/// Lets it happen.
pub(crate) fn perform(ledger: &mut Ledger, step: &Step, now: f64) {
    let turn_at = |ledger: &Ledger, index: usize| {
        let turns = &ledger.thread().turns;
        (!turns.is_empty()).then(|| turns[index % turns.len()].id.clone())
    };
    let item_at = |ledger: &Ledger, index: usize| {
        let items: Vec<Item> = ledger
            .thread()
            .turns
            .iter()
            .flat_map(|turn| turn.items.iter().map(|item| Item::clone(item)))
            .collect();
        (!items.is_empty()).then(|| items[index % items.len()].clone())
    };
    match step {
        Step::Queue(text) => {
            let new = NewTurn {
                op_id: "op".into(),
                words: text.as_str().into(),
                ..NewTurn::default()
            };
            ledger.queue_turn(new, now);
        }
        Step::Start(index) => {
            if let Some(turn) = turn_at(ledger, *index) {
                ledger.start_turn(&turn, now);
            }
        }
        Step::Item(index, text) => {
            if let Some(turn) = turn_at(ledger, *index) {
                let mut item = Item::new(turn, ItemType::Tool, now);
                item.status = ItemStatus::InProgress;
                item.input = json!({"text": text, "f": now / 3.0});
                ledger.start_item(item, now);
            }
        }
        Step::Append(index, text) => {
            if let Some(item) = item_at(ledger, *index) {
                ledger.append_content(&item.turn_id, &item.id, text.clone(), now);
            }
        }
        Step::EndItem(index, how) => {
            if let Some(mut item) = item_at(ledger, *index) {
                match how {
                    0 => {
                        if item.kind == ItemType::Tool {
                            item.output = json!({"value": [null], "content": "done"});
                        }
                        ledger.complete_item(item, now);
                    }
                    1 => ledger.fail_item(item, json!({"message": "no"}), now),
                    _ => ledger.cancel_item(item, Value::Null, now),
                }
            }
        }
        Step::EndTurn(index, how) => {
            if let Some(turn) = turn_at(ledger, *index) {
                let status = [
                    TurnStatus::Completed,
                    TurnStatus::Failed,
                    TurnStatus::Interrupted,
                    TurnStatus::Dropped,
                ][usize::from(*how)];
                ledger.end_turn(&turn, status, json!({"n": 1}), now);
            }
        }
        Step::Restart => {
            ledger.reconcile_after_restart(now);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn journal_over_any_snapshot_is_the_state(steps in steps(), cut in 0..40_usize) {
        let (mut ledger, first) = fresh("s");
        let mut snapshot = first;
        for (index, step) in steps.iter().enumerate() {
            if index == cut {
                snapshot = ledger.snapshot(0.0);
            }
            perform(&mut ledger, step, 2.0 + index as f64 * 0.37);
        }
        let lines: Vec<String> = ledger
            .journal()
            .map(|event| encode_event(event).to_string())
            .collect();
        let events = lines
            .iter()
            .map(|line| decode_event(serde_json::from_str(line).unwrap()).unwrap());
        let stored = encode_snapshot(&snapshot).to_string();
        let snapshot =
            decode_snapshot(serde_json::from_str(&stored).unwrap(), "x".as_ref()).unwrap();
        let replayed = Ledger::restore(snapshot, events);
        prop_assert_eq!(as_json(&replayed), as_json(&ledger));
        prop_assert_eq!(replayed.last_seq(), ledger.last_seq());
    }
}

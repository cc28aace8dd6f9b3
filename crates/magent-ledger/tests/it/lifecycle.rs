//! The state machine of threads, turns and items.

use magent_ledger::{Ledger, NewTurn};
use magent_types::{Item, ItemStatus, ItemType, ThreadStatus, TurnStatus};
use serde_json::json;

use crate::support::{fresh, running_turn, say, whole_turn};

#[test]
fn a_turn_goes_from_queued_to_completed_and_the_thread_follows() {
    let (mut ledger, _) = fresh("s");
    let (turn, _) = ledger.queue_turn(
        NewTurn {
            op_id: "op".into(),
            words: "hello".into(),
            ..NewTurn::default()
        },
        2.0,
    );
    assert_eq!(ledger.thread().status, ThreadStatus::Idle);
    assert_eq!(ledger.thread().preview.as_deref(), Some("hello"));
    assert_eq!(
        ledger.thread().turn(&turn).unwrap().status,
        TurnStatus::Queued
    );
    ledger.start_turn(&turn, 3.0);
    assert_eq!(ledger.thread().status, ThreadStatus::Active);
    say(&mut ledger, &turn, "hi there", 3.5);
    ledger.end_turn(&turn, TurnStatus::Completed, json!(null), 5.0);
    let ended = ledger.thread().turn(&turn).unwrap();
    assert_eq!(ended.status, TurnStatus::Completed);
    assert_eq!(ended.duration_ms, Some(2_000));
    assert_eq!(ended.items.len(), 2);
    assert_eq!(ended.items[1].content.as_deref(), Some("hi there"));
    assert_eq!(ledger.thread().status, ThreadStatus::Idle);
}

#[test]
fn a_failed_turn_is_a_system_error_until_the_next_one() {
    let (mut ledger, _) = fresh("s");
    let turn = running_turn(&mut ledger, "x", 1.0);
    ledger.end_turn(&turn, TurnStatus::Failed, json!({"code": "http"}), 2.0);
    assert_eq!(ledger.thread().status, ThreadStatus::SystemError);
    assert_eq!(ledger.thread().turn(&turn).unwrap().error["code"], "http");
    whole_turn(&mut ledger, "y", "z", 3.0);
    assert_eq!(ledger.thread().status, ThreadStatus::Idle);
}

#[test]
fn ending_a_turn_stops_what_is_open_in_it_and_happens_once() {
    let (mut ledger, _) = fresh("s");
    let turn = running_turn(&mut ledger, "x", 1.0);
    let mut tool = Item::new(turn.clone(), ItemType::Tool, 1.0);
    tool.status = ItemStatus::Pending;
    ledger.start_item(tool, 1.0);
    let reason = json!({"code": "cancelled"});
    assert!(ledger.end_turn(&turn, TurnStatus::Interrupted, reason, 2.0));
    let items = &ledger.thread().turn(&turn).unwrap().items;
    assert_eq!(items[1].status, ItemStatus::Cancelled);
    assert_eq!(items[1].error["code"], "cancelled");
    let seq = ledger.last_seq();
    assert!(!ledger.end_turn(&turn, TurnStatus::Completed, json!(null), 3.0));
    assert_eq!(ledger.last_seq(), seq);
}

#[test]
fn dropping_a_queued_turn_leaves_the_running_one_alone() {
    let (mut ledger, _) = fresh("s");
    running_turn(&mut ledger, "running", 1.0);
    let (queued, _) = ledger.queue_turn(NewTurn::default(), 1.5);
    ledger.end_turn(&queued, TurnStatus::Dropped, json!(null), 2.0);
    assert_eq!(ledger.thread().status, ThreadStatus::Active);
    assert_eq!(
        ledger.thread().turn(&queued).unwrap().status,
        TurnStatus::Dropped
    );
}

#[test]
fn a_restart_ends_what_was_under_way() {
    let (mut ledger, _) = fresh("s");
    whole_turn(&mut ledger, "done", "ok", 1.0);
    let running = running_turn(&mut ledger, "running", 2.0);
    let mut tool = Item::new(running.clone(), ItemType::Tool, 2.0);
    tool.status = ItemStatus::InProgress;
    ledger.start_item(tool, 2.0);
    let (queued, _) = ledger.queue_turn(NewTurn::default(), 3.0);
    assert!(ledger.reconcile_after_restart(9.0));
    let thread = ledger.thread();
    assert_eq!(thread.status, ThreadStatus::Idle);
    assert_eq!(
        thread.turn(&running).unwrap().status,
        TurnStatus::Interrupted
    );
    assert_eq!(
        thread.turn(&running).unwrap().items[1].status,
        ItemStatus::Cancelled
    );
    assert_eq!(thread.turn(&queued).unwrap().status, TurnStatus::Dropped);
    assert_eq!(thread.turns[0].status, TurnStatus::Completed);
    assert!(!ledger.reconcile_after_restart(10.0));
}

#[test]
fn a_snapshot_is_not_changed_by_what_follows() {
    let (mut ledger, _) = fresh("s");
    let turn = running_turn(&mut ledger, "x", 1.0);
    let snapshot = ledger.snapshot(2.0);
    say(&mut ledger, &turn, "later", 3.0);
    assert_eq!(snapshot.thread.turn(&turn).unwrap().items.len(), 1);
    assert_eq!(ledger.thread().turn(&turn).unwrap().items.len(), 2);
}

#[test]
fn a_fork_has_the_turns_and_a_life_of_its_own() {
    let (mut ledger, _) = fresh("s");
    whole_turn(&mut ledger, "one", "two", 1.0);
    let (mut fork, first) = Ledger::fork(ledger.thread(), "t".into(), 5.0);
    let (old, new) = (ledger.thread().clone(), fork.thread().clone());
    assert_ne!(old.id, new.id);
    assert_eq!(
        (new.session_id.as_str(), new.preview.as_deref()),
        ("t", Some("one"))
    );
    assert_eq!(new.metadata["forked-from-session-id"], "s");
    assert_eq!(old.turns[0].items, new.turns[0].items);
    assert_eq!(new.turns[0].id, old.turns[0].id);
    assert_eq!(new.turns[0].thread_id, new.id);
    assert_eq!(fork.last_seq(), 1, "its journal is its own");
    whole_turn(&mut fork, "three", "four", 6.0);
    assert_eq!(
        (ledger.thread().turns.len(), fork.thread().turns.len()),
        (1, 2)
    );
    let journal = fork
        .journal()
        .map(|event| magent_types::Event::clone(event));
    let restored = Ledger::restore(first, journal);
    assert_eq!(restored.thread(), fork.thread());
}

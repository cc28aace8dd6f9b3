//! A fork begins as its source and goes its own way.

use magent_ledger::{Ledger, OpenFrom, SaveOutcome, SessionHeader, StoreWriter};
use proptest::prelude::*;
use serde_json::Value;

use crate::replay::{perform, steps};
use crate::support::{as_json, directory, fresh, project, save};

/// The turns, but for the thread that they name.
fn turns(ledger: &Ledger) -> Value {
    let mut turns = as_json(ledger)["turns"].clone();
    for turn in turns.as_array_mut().unwrap() {
        turn["thread-id"] = Value::Null;
    }
    turns
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_fork_equals_its_source_and_then_diverges(before in steps(), after in steps()) {
        let (mut source, _) = fresh("s");
        for (index, step) in before.iter().enumerate() {
            perform(&mut source, step, 2.0 + index as f64);
        }
        source.reconcile_after_restart(90.0);
        let whole = as_json(&source);
        let (mut fork, first) = Ledger::fork(source.thread(), "f".into(), 100.0);
        prop_assert_eq!(turns(&fork), turns(&source));
        prop_assert_eq!(fork.last_seq(), 1, "its journal begins anew");
        let (_keep, directory) = directory();
        let writer = StoreWriter::start(|_, _| {}).unwrap();
        let header = SessionHeader::new("s".into(), project()).fork("f".into(), "fork", 100.0);
        let session = writer.open(&directory, &header, OpenFrom::New(Box::new(first)));
        for (index, step) in after.iter().enumerate() {
            perform(&mut fork, step, 200.0 + index as f64);
        }
        prop_assert_eq!(save(&session, &mut fork), SaveOutcome::Saved);
        let loaded = directory.load(&project(), &"f".into()).unwrap();
        prop_assert_eq!(as_json(&loaded.ledger), as_json(&fork), "it needs no file of its source");
        prop_assert_eq!(as_json(&source), whole, "nothing comes back to the source");
        for step in &after {
            perform(&mut source, step, 300.0);
        }
        prop_assert_eq!(as_json(&loaded.ledger), as_json(&fork), "nor the other way round");
    }
}

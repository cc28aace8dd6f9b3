//! Sessions of the schemas 6 and 7.

use std::fs;
use std::path::Path;

use magent_ledger::{
    Ledger, LedgerError, SaveOutcome, SessionDirectory, SpillSettings, SpillStore, StoreWriter,
};
use magent_types::{ItemType, Scope, TurnStatus};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::replay::{perform, steps};
use crate::support::{as_json, file, fresh, open_new, project, save, saved_session};

const SIX: &str = "session-20261130-223647";

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A copy of the directory that the Elisp program wrote.
fn six() -> (tempfile::TempDir, SessionDirectory, Scope) {
    let keep = tempfile::tempdir().unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/session-v6");
    copy(&fixture, keep.path());
    let directory = SessionDirectory::new(keep.path());
    (keep, directory, Scope::Project("/home/user/project".into()))
}

#[test]
fn a_real_session_of_schema_6_is_listed_and_read_with_all_that_is_in_it() {
    let (_keep, directory, scope) = six();
    let header = file(&directory, &format!("{SIX}.json"));
    let before = fs::read(&header).unwrap();
    let old: Value = serde_json::from_slice(&before).unwrap();
    let listed = directory.list(&scope).unwrap();
    assert_eq!(listed[0].title.as_deref(), Some("hello there"));
    assert_eq!(listed[0].damage, None);
    assert_eq!(fs::read(&header).unwrap(), before, "lists change nothing");
    let loaded = directory.load(&scope, &SIX.into()).unwrap();
    let thread = loaded.ledger.thread();
    let old_turns = old["snapshot"]["turns"].as_array().unwrap();
    assert_eq!(thread.turns.len(), old_turns.len());
    let mut tools = 0;
    for (turn, old) in thread.turns.iter().zip(old_turns) {
        assert_eq!(turn.id.as_str(), old["id"]);
        assert_eq!(turn.status.as_str(), old["status"]);
        assert_eq!(turn.input.as_deref(), old["input"].as_str());
        let old_items = old["items"].as_array().unwrap();
        assert_eq!(turn.items.len(), old_items.len());
        for (item, old) in turn.items.iter().zip(old_items) {
            assert_eq!(item.id.as_str(), old["id"]);
            assert_eq!(item.status.as_str(), old["status"]);
            assert_eq!(item.content.as_deref(), old["content"].as_str());
            assert_eq!(item.name.as_deref(), old["name"].as_str());
            assert_ne!(item.kind, ItemType::Sample, "nothing is invented");
            if item.kind == ItemType::Tool {
                tools += 1;
                assert_eq!(item.input, old["input"]);
                let text = old["output"].as_str();
                assert_eq!(item.output.get("content").and_then(Value::as_str), text);
            }
        }
    }
    assert!(tools >= 4);
    assert!(
        thread
            .turns
            .iter()
            .any(|turn| turn.status == TurnStatus::Interrupted)
    );
    // What was kept aside can be read.
    let spilled = fs::read_dir(directory.root().join("tool-results")).unwrap();
    let folder = spilled
        .into_iter()
        .next()
        .unwrap()
        .unwrap()
        .path()
        .join(SIX);
    let name = fs::read_dir(folder)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .file_name();
    let id = name.to_str().unwrap().trim_end_matches(".txt").to_owned();
    let settings = SpillSettings {
        time_to_live: std::time::Duration::MAX,
        ..SpillSettings::default()
    };
    let store = SpillStore::new(directory.root());
    let page = store
        .read(&scope, &SIX.into(), &id, 1, 10, settings)
        .unwrap();
    assert_eq!(page.text.chars().count(), 10);
    // The old file is kept, and the second reading finds nothing to do.
    assert_eq!(
        fs::read(file(&directory, &format!("{SIX}.json.v6"))).unwrap(),
        before
    );
    let after = fs::read(&header).unwrap();
    assert_eq!(
        serde_json::from_slice::<Value>(&after).unwrap()["schema-version"],
        8
    );
    let again = directory.load(&scope, &SIX.into()).unwrap();
    assert_eq!(as_json(&again.ledger), as_json(&loaded.ledger));
    assert_eq!(fs::read(&header).unwrap(), after);
    assert_eq!(directory.list(&scope).unwrap().len(), 1);
}

#[test]
fn a_migration_that_is_interrupted_begins_again() {
    let (_keep, whole, scope) = six();
    let expected = as_json(&whole.load(&scope, &SIX.into()).unwrap().ledger);
    for written in 1..=2 {
        let (_keep, directory, scope) = six();
        for extension in ["jsonl", "snapshot"].iter().take(written) {
            let name = format!("{SIX}.{extension}");
            fs::copy(
                file(&whole, &name),
                file(&directory, &format!("{SIX}.json")).with_file_name(name),
            )
            .unwrap();
        }
        let loaded = directory.load(&scope, &SIX.into()).unwrap();
        assert_eq!(as_json(&loaded.ledger), expected, "{written}");
    }
}

/// Makes a saved session of today into one of schema 7.
fn age(directory: &SessionDirectory, name: &str) {
    fn aged(value: &mut Value) {
        match value {
            Value::Array(values) => values.iter_mut().for_each(aged),
            Value::Object(fields) => {
                if let Some(output) = fields.get_mut("output")
                    && let Some(text) = output.get("content").cloned()
                {
                    *output = text;
                }
                fields.values_mut().for_each(aged);
            }
            _ => {}
        }
    }
    for extension in ["json", "snapshot", "jsonl"] {
        let path = file(directory, &format!("{name}.{extension}"));
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().map(|line| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            aged(&mut value);
            if extension == "json" {
                value["schema-version"] = json!(7);
            }
            format!("{value}\n")
        });
        fs::write(&path, lines.collect::<String>()).unwrap();
    }
}

/// The turns without what schema 7 does not have: the value of a result, which may be more
/// than its text.
fn turns(ledger: &Ledger) -> Value {
    let mut turns = as_json(ledger)["turns"].clone();
    for turn in turns.as_array_mut().unwrap() {
        for item in turn["items"].as_array_mut().unwrap() {
            if let Some(output) = item["output"].as_object_mut() {
                output.shift_remove("value");
            }
        }
    }
    turns
}

#[test]
fn sessions_of_schema_7_are_those_of_today_but_for_results() {
    let keep = tempfile::tempdir().unwrap();
    let directory = SessionDirectory::new(keep.path());
    let ledger = saved_session(&directory, "s", 3);
    age(&directory, "s");
    let log = file(&directory, "s.jsonl");
    let torn = fs::read_to_string(&log).unwrap() + "{\"seq\":9";
    fs::write(&log, &torn).unwrap();
    assert!(directory.list(&project()).unwrap()[0].damage.is_none());
    let before: Vec<_> = ["s.json", "s.snapshot", "s.jsonl"]
        .map(|name| fs::read(file(&directory, name)).unwrap())
        .into();
    let loaded = directory.load(&project(), &"s".into()).unwrap();
    assert_eq!(turns(&loaded.ledger), turns(&ledger));
    // Interrupted after the log.
    fs::write(file(&directory, "s.json"), &before[0]).unwrap();
    fs::write(file(&directory, "s.snapshot"), &before[1]).unwrap();
    let again = directory.load(&project(), &"s".into()).unwrap();
    assert_eq!(as_json(&again.ledger), as_json(&loaded.ledger));
}

/// Old programs passed over what they did not know, and wrote it down all the same.
#[test]
fn old_events_of_what_nothing_began_stop_no_migration() {
    let keep = tempfile::tempdir().unwrap();
    let directory = SessionDirectory::new(keep.path());
    let ledger = saved_session(&directory, "s", 2);
    age(&directory, "s");
    let log = file(&directory, "s.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let last = text.lines().last().unwrap();
    let mut event: Value = serde_json::from_str(last).unwrap();
    event["seq"] = json!(ledger.last_seq() + 1);
    event["turn-id"] = json!("turn-of-nobody");
    fs::write(&log, format!("{text}{event}\n")).unwrap();
    let loaded = directory.load(&project(), &"s".into()).unwrap();
    assert_eq!(turns(&loaded.ledger), turns(&ledger));
    assert_eq!(loaded.ledger.last_seq(), ledger.last_seq() + 1);
}

#[test]
fn what_is_damaged_is_named_and_left_alone() {
    let (_keep, directory, scope) = six();
    let path = file(&directory, &format!("{SIX}.json"));
    let whole: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    type Spoil<'a> = &'a dyn Fn(&mut Value);
    let spoil: [(&str, Spoil<'_>); 4] = [
        ("snapshot", &|value| {
            drop(value.as_object_mut().unwrap().shift_remove("snapshot"))
        }),
        ("turns[0].status", &|value| {
            value["snapshot"]["turns"][0]["status"] = json!("odd")
        }),
        ("journal[3]", &|value| {
            value["journal"][3]["type"] = json!("odd")
        }),
        ("extra", &|value| value["extra"] = json!(1)),
    ];
    for (place, spoil) in spoil {
        let mut value = whole.clone();
        spoil(&mut value);
        let bytes = value.to_string();
        fs::write(&path, &bytes).unwrap();
        let error = directory.load(&scope, &SIX.into()).unwrap_err();
        assert!(matches!(error, LedgerError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains(place), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), bytes);
        let folder = path.parent().unwrap();
        assert_eq!(
            fs::read_dir(folder).unwrap().count(),
            1,
            "nothing was written"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever happened in a session of schema 7, and whenever its snapshot was taken.
    #[test]
    fn migration_loses_nothing(steps in steps(), cut in 0..40_usize) {
        let keep = tempfile::tempdir().unwrap();
        let directory = SessionDirectory::new(keep.path());
        let writer = StoreWriter::start(|_, _| {}).unwrap();
        let (mut ledger, first) = fresh("s");
        let session = open_new(&writer, &directory, "s", first);
        for (index, step) in steps.iter().enumerate() {
            perform(&mut ledger, step, 2.0 + index as f64 * 0.37);
            if index == cut {
                prop_assert_eq!(save(&session, &mut ledger), SaveOutcome::Saved);
                session.checkpoint(ledger.snapshot(99.0));
            }
        }
        prop_assert_eq!(save(&session, &mut ledger), SaveOutcome::Saved);
        age(&directory, "s");
        let loaded = directory.load(&project(), &"s".into()).unwrap();
        prop_assert_eq!(turns(&loaded.ledger), turns(&ledger));
        prop_assert_eq!(loaded.ledger.last_seq(), ledger.last_seq());
        let again = directory.load(&project(), &"s".into()).unwrap();
        prop_assert_eq!(as_json(&again.ledger), as_json(&loaded.ledger));
    }
}

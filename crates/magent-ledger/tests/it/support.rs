//! Sessions with something in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use magent_ledger::{
    Ledger, NewTurn, OpenFrom, SaveOutcome, SessionDirectory, SessionHeader, SessionWriter,
    Snapshot, StoreWriter,
};
use magent_types::{Item, ItemStatus, ItemType, Role, Scope, SessionId, TurnId, TurnStatus};
use serde_json::{Value, json};

/// The scope of every test session.
pub(crate) fn project() -> Scope {
    Scope::Project("/home/me/project".into())
}

/// A ledger that has not been saved and the state before its first event.
pub(crate) fn fresh(id: &str) -> (Ledger, Snapshot) {
    let id = SessionId::new(id);
    let first = Snapshot::before_all(id.clone(), project(), 1.0);
    (Ledger::new(id, project(), 1.0), first)
}

/// Adds a turn with reasoning, a tool call and an answer, at the given time.
pub(crate) fn whole_turn(ledger: &mut Ledger, prompt: &str, answer: &str, now: f64) -> TurnId {
    let turn = running_turn(ledger, prompt, now);
    let mut tool = Item::new(turn.clone(), ItemType::Tool, now);
    tool.status = ItemStatus::InProgress;
    tool.name = Some("grep".into());
    tool.call_id = Some("call-1".into());
    tool.input = json!({"pattern": "x", "list": [], "one": [1], "empty": {}, "none": null});
    ledger.start_item(tool.clone(), now);
    tool.output = json!({"value": {"matches": [1, 2]}, "content": "two"});
    ledger.complete_item(tool, now + 0.1);
    say(ledger, &turn, answer, now + 0.2);
    ledger.end_turn(
        &turn,
        TurnStatus::Completed,
        json!({"input-tokens": 5}),
        now + 0.3,
    );
    turn
}

/// Queues and starts a turn.
pub(crate) fn running_turn(ledger: &mut Ledger, prompt: &str, now: f64) -> TurnId {
    let new = NewTurn {
        op_id: "submission-1".into(),
        words: prompt.into(),
        ..NewTurn::default()
    };
    let (turn, _) = ledger.queue_turn(new, now);
    ledger.start_turn(&turn, now);
    turn
}

/// Streams an assistant message in two pieces and completes it.
pub(crate) fn say(ledger: &mut Ledger, turn: &TurnId, text: &str, now: f64) {
    let mut item = Item::new(turn.clone(), ItemType::Message, now);
    item.status = ItemStatus::InProgress;
    item.role = Some(Role::Assistant);
    ledger.start_item(item.clone(), now);
    let middle = text.chars().count() / 2;
    let head: String = text.chars().take(middle).collect();
    let tail: String = text.chars().skip(middle).collect();
    ledger.append_content(turn, &item.id, head, now);
    ledger.append_content(turn, &item.id, tail, now);
    item.content = Some(text.into());
    item.phase = Some("final".into());
    ledger.complete_item(item, now);
}

/// Opens a new session for writing.
pub(crate) fn open_new(
    writer: &StoreWriter,
    directory: &SessionDirectory,
    id: &str,
    first: Snapshot,
) -> SessionWriter {
    let header = SessionHeader::new(SessionId::new(id), project());
    writer.open(directory, &header, OpenFrom::New(Box::new(first)))
}

/// Hands everything new to the writer and waits until it is on the disk.
pub(crate) fn save(writer: &SessionWriter, ledger: &mut Ledger) -> SaveOutcome {
    let (sender, receiver) = mpsc::channel();
    let done = Box::new(move |outcome| sender.send(outcome).unwrap());
    writer.append(&ledger.take_unsaved(), true, Some(done));
    receiver.recv().unwrap()
}

/// Saves a session of the given turns and closes its writer.
pub(crate) fn saved_session(directory: &SessionDirectory, id: &str, turns: usize) -> Ledger {
    let writer = StoreWriter::start(|_, _| {}).unwrap();
    let (mut ledger, first) = fresh(id);
    let session = open_new(&writer, directory, id, first);
    for number in 0..turns {
        let now = 10.0 + number as f64;
        whole_turn(
            &mut ledger,
            &format!("prompt {number} 漢"),
            "answer 🚀",
            now,
        );
    }
    assert_eq!(save(&session, &mut ledger), SaveOutcome::Saved);
    assert!(writer.stop(std::time::Duration::from_secs(5)));
    ledger
}

/// A thread as the JSON of its snapshot, for comparisons that show differences.
pub(crate) fn as_json(ledger: &Ledger) -> Value {
    magent_ledger::encode_snapshot(&ledger.snapshot(0.0))
}

/// An empty folder of sessions.
pub(crate) fn directory() -> (tempfile::TempDir, SessionDirectory) {
    let folder = tempfile::tempdir().unwrap();
    let directory = SessionDirectory::new(folder.path().join("sessions"));
    (folder, directory)
}

/// The path of a session's file, found on the disk.
pub(crate) fn file(directory: &SessionDirectory, name: &str) -> PathBuf {
    let projects = directory.root().join("projects");
    let scope = fs::read_dir(projects).unwrap().next().unwrap().unwrap();
    scope.path().join(name)
}

/// Changes a text file.
pub(crate) fn edit(path: &Path, change: impl FnOnce(String) -> String) {
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, change(text)).unwrap();
}

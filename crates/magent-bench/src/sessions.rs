//! Saved sessions of any length, in the shape that real turns leave behind.

use std::path::Path;
use std::time::Duration;

use magent_ledger::{
    Ledger, NewTurn, OpenFrom, SaveOutcome, SessionDirectory, SessionHeader, SessionWriter,
    Snapshot, StoreWriter, WriterSettings,
};
use magent_types::{Item, ItemStatus, ItemType, Role, Scope, SessionId, TurnId, TurnStatus};
use serde_json::{Value, json};

use crate::Failure;

/// The lengths that are measured; the last one is what the budgets are about.
pub(crate) const LENGTHS: [usize; 3] = [50, 500, 2_000];

/// How long the writing thread may take to end.
const WRITER_END: Duration = Duration::from_secs(30);

/// The name of the session of so many turns.
pub(crate) fn session_id(turns: usize) -> SessionId {
    SessionId::new(format!("bench-{turns}"))
}

/// The text of so many bytes; the number makes it differ from others.
fn text(number: usize, bytes: usize) -> String {
    const WORDS: [&str; 12] = [
        "the", "buffer", "parser", "returns", "an", "error", "when", "window", "is", "resized",
        "twice", "before",
    ];
    let mut text = format!("{number}:");
    let mut index = number;
    while text.len() < bytes {
        text.push(if index % 13 == 12 { '\n' } else { ' ' });
        text.push_str(WORDS[(index * 7 + index / 5) % WORDS.len()]);
        index += 1;
    }
    text
}

/// Records a turn as the runtime does: a question, a sample that reads a file, and a
/// sample that answers.  `step` is called where the runtime hands events to the writer,
/// with whether they have to be durable.
pub(crate) fn record_turn(
    ledger: &mut Ledger,
    number: usize,
    now: f64,
    step: &mut dyn FnMut(&mut Ledger, bool),
) {
    let new = NewTurn {
        op_id: format!("submission-{number}"),
        words: text(number, 120).into(),
        ..NewTurn::default()
    };
    let (turn, _) = ledger.queue_turn(new, now);
    ledger.start_turn(&turn, now);
    step(ledger, true);
    let sample = begin_sample(ledger, &turn, 1, now);
    stream(
        ledger,
        &turn,
        ItemType::Reasoning,
        &text(number, 400),
        now,
        step,
    );
    end_sample(ledger, sample, now);
    read_file(ledger, &turn, number, now, step);
    let sample = begin_sample(ledger, &turn, 2, now);
    stream(
        ledger,
        &turn,
        ItemType::Message,
        &text(number + 3, 900),
        now,
        step,
    );
    end_sample(ledger, sample, now);
    let usage = json!({"input-tokens": 9_000, "output-tokens": 400});
    ledger.end_turn(&turn, TurnStatus::Completed, usage, now);
    step(ledger, true);
}

fn begin_sample(ledger: &mut Ledger, turn: &TurnId, index: u32, now: f64) -> Item {
    let mut item = Item::new(turn.clone(), ItemType::Sample, now);
    item.status = ItemStatus::InProgress;
    item.phase = Some("single".into());
    let route = json!({"backend": "Mock", "model": "m", "params": {}});
    item.metadata.insert("index".into(), index.into());
    item.metadata.insert("attempts".into(), 1.into());
    item.metadata.insert(
        "header".into(),
        json!({"agent": "build", "route": route, "system": {"same-as": item.id.as_str()},
               "schemas": {"same-as": item.id.as_str()}, "tools": ["read_file", "grep", "bash"]}),
    );
    ledger.start_item(item.clone(), now);
    item.metadata.shift_remove("header");
    item
}

fn end_sample(ledger: &mut Ledger, mut item: Item, now: f64) {
    let usage = json!({"input-tokens": 4_500, "output-tokens": 200});
    item.metadata.insert("usage".into(), usage);
    ledger.complete_item(item, now);
}

/// Streams a text in pieces of the size that the runtime journals.
fn stream(
    ledger: &mut Ledger,
    turn: &TurnId,
    kind: ItemType,
    text: &str,
    now: f64,
    step: &mut dyn FnMut(&mut Ledger, bool),
) {
    let mut item = Item::new(turn.clone(), kind, now);
    item.status = ItemStatus::InProgress;
    item.role = (kind == ItemType::Message).then_some(Role::Assistant);
    ledger.start_item(item.clone(), now);
    // The texts are ASCII, so that any place is one to cut at.
    let (head, tail) = text.split_at(text.len() / 2);
    for piece in [head, tail] {
        ledger.append_content(turn, &item.id, piece.to_owned(), now);
        step(ledger, false);
    }
    item.content = Some(text.to_owned());
    ledger.complete_item(item, now);
    step(ledger, false);
}

fn read_file(
    ledger: &mut Ledger,
    turn: &TurnId,
    number: usize,
    now: f64,
    step: &mut dyn FnMut(&mut Ledger, bool),
) {
    let mut item = Item::new(turn.clone(), ItemType::Tool, now);
    item.status = ItemStatus::InProgress;
    item.name = Some("read_file".into());
    item.call_id = Some(format!("call-{number}").as_str().into());
    item.input = json!({"path": format!("src/module_{number}.rs"), "source": "disk"});
    ledger.start_item(item.clone(), now);
    let read = text(number + 7, 700);
    item.output = json!({"value": {"text": read, "lines": 20}, "content": read});
    ledger.complete_item(item, now);
    step(ledger, true);
}

/// A ledger that has not been saved, and the state before its first event.
pub(crate) fn fresh(id: &SessionId, scope: &Scope) -> (Ledger, Snapshot) {
    let first = Snapshot::before_all(id.clone(), scope.clone(), 1.0);
    (Ledger::new(id.clone(), scope.clone(), 1.0), first)
}

/// Writes a session with so many turns.
pub(crate) fn write(
    directory: &SessionDirectory,
    scope: &Scope,
    id: &SessionId,
    turns: usize,
) -> Result<(), Failure> {
    let writer = StoreWriter::start(|_, _| {})?;
    let (mut ledger, first) = fresh(id, scope);
    let mut header = SessionHeader::new(id.clone(), scope.clone());
    header.summary_title = Some(format!("A session of {turns} turns"));
    let session = writer.open(directory, &header, OpenFrom::New(Box::new(first)));
    for number in 0..turns {
        let now = 1.7e9 + number as f64 * 60.0;
        record_turn(&mut ledger, number, now, &mut |_, _| {});
        append(&session, &mut ledger, false)?;
        if session.checkpoint_due(WriterSettings::default()) {
            session.checkpoint(ledger.snapshot(now));
        }
    }
    append(&session, &mut ledger, true)?;
    if writer.stop(WRITER_END) {
        Ok(())
    } else {
        Err("the session was not written in time".into())
    }
}

/// Appends the new events and waits until that is done.
pub(crate) fn append(
    session: &SessionWriter,
    ledger: &mut Ledger,
    durable: bool,
) -> Result<(), Failure> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let done = Box::new(move |outcome| {
        // Who does not wait any more need not know.
        let _ = sender.send(outcome);
    });
    session.append(&ledger.take_unsaved(), durable, Some(done));
    match receiver.recv_timeout(WRITER_END)? {
        SaveOutcome::Saved => Ok(()),
        SaveOutcome::Pending(problem) => Err(problem.into()),
    }
}

/// Sessions of every length in a temporary folder.
pub(crate) struct Saved {
    pub(crate) directory: SessionDirectory,
    pub(crate) scope: Scope,
    _folder: tempfile::TempDir,
}

impl Saved {
    /// Writes the sessions.
    pub(crate) fn new() -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let directory = SessionDirectory::new(folder.path().join("sessions"));
        let scope = Scope::Project("/home/nobody/project".into());
        for turns in LENGTHS {
            write(&directory, &scope, &session_id(turns), turns)?;
        }
        Ok(Self {
            directory,
            scope,
            _folder: folder,
        })
    }
}

/// Writes the longest session below a folder: `sessions`, for the project `project`.
pub(crate) fn write_for_emacs(folder: &Path) -> Result<(), Failure> {
    let project = folder.join("project");
    std::fs::create_dir_all(&project)?;
    let root = project.canonicalize()?;
    let scope = Scope::Project(root.to_string_lossy().into_owned());
    let directory = SessionDirectory::new(folder.join("sessions"));
    let turns = LENGTHS[LENGTHS.len() - 1];
    write(&directory, &scope, &session_id(turns), turns)
}

/// A value for texts about sizes.
pub(crate) fn megabytes(bytes: u64) -> Value {
    Value::from((bytes as f64 / 1e5).round() / 10.0)
}

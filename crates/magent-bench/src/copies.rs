//! Forking sessions of several lengths, and the view of them that a model gets.

use std::time::{Duration, Instant};

use magent_ledger::{HistoryLimit, Ledger, NewTurn, OpenFrom, StoreWriter, conversation};
use magent_types::SessionId;

use crate::Failure;
use crate::report::{Figure, median};
use crate::sessions::{LENGTHS, Saved, append, session_id};

const REPETITIONS: usize = 5;

/// Forking a saved session, from its files to those of the fork.
pub(crate) fn fork() -> Result<Vec<Figure>, Failure> {
    let saved = Saved::new()?;
    let mut figures = Vec::new();
    for turns in LENGTHS {
        let writer = StoreWriter::start(|_, _| {})?;
        let mut times = Vec::new();
        for number in 0..REPETITIONS {
            let begun = Instant::now();
            let loaded = saved.directory.load(&saved.scope, &session_id(turns))?;
            let id = SessionId::new(format!("fork-{turns}-{number}"));
            let (mut ledger, first) = Ledger::fork(loaded.ledger.thread(), id.clone(), 1.8e9);
            let header = loaded.header.fork(id, "fork", 1.8e9);
            let source = OpenFrom::New(Box::new(first));
            let session = writer.open(&saved.directory, &header, source);
            append(&session, &mut ledger, true)?;
            times.push(begun.elapsed());
        }
        if !writer.stop(Duration::from_secs(30)) {
            return Err("the forks were not written in time".into());
        }
        figures.push(Figure::plain(
            format!("fork a session of {turns} turns"),
            median(times),
        ));
    }
    Ok(figures)
}

/// What a request to a model is made of, when all of the past goes into it.
pub(crate) fn view() -> Result<Vec<Figure>, Failure> {
    let saved = Saved::new()?;
    let mut figures = Vec::new();
    for turns in LENGTHS {
        let loaded = saved.directory.load(&saved.scope, &session_id(turns))?;
        let mut ledger = loaded.ledger;
        let new = NewTurn {
            op_id: "submission".into(),
            words: "go on".into(),
            ..NewTurn::default()
        };
        let (turn, _) = ledger.queue_turn(new, 1.8e9);
        ledger.start_turn(&turn, 1.8e9);
        let limit = HistoryLimit { max_messages: None };
        let mut times = Vec::new();
        let mut entries = 0;
        for _ in 0..REPETITIONS {
            let begun = Instant::now();
            entries = conversation(ledger.thread(), &turn, limit).len();
            times.push(begun.elapsed());
        }
        let name = format!("view of {turns} turns for a model");
        figures.push(Figure::plain(name, median(times)).detail(&format!("{entries} entries")));
    }
    Ok(figures)
}

//! A process killed while it writes: whatever was acknowledged is there afterwards.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use magent_ledger::{OpenFrom, SaveOutcome, SessionDirectory, StoreWriter};
use magent_types::{SessionId, TurnStatus};

use crate::support::{fresh, open_new, project, save, whole_turn};

const ROLE: &str = "MAGENT_LEDGER_CRASH_CHILD";

/// After so many a new session is begun, since a long one takes long to read.
const ROUNDS_OF_A_SESSION: u64 = 40;
/// In microseconds; a prime, so that the delays differ.
const LONGEST_DELAY: u64 = 100_003;

/// Runs as the child: writes turns until it is killed, printing each number only
/// after the turn was acknowledged.
#[test]
fn child_writes_until_killed() {
    let Ok(folder) = std::env::var(ROLE) else {
        return;
    };
    let directory = SessionDirectory::new(folder);
    let writer = StoreWriter::start(|_, _| {}).unwrap();
    let id = SessionId::new("s");
    let (mut ledger, session) = match directory.load(&project(), &id) {
        Ok(loaded) => {
            let session = writer.open(&directory, &loaded.header, OpenFrom::Saved(loaded.report));
            let mut ledger = loaded.ledger;
            ledger.reconcile_after_restart(1.0);
            (ledger, session)
        }
        Err(_) => {
            let (ledger, first) = fresh("s");
            (ledger, open_new(&writer, &directory, "s", first))
        }
    };
    let mut number = completed(&ledger);
    loop {
        whole_turn(
            &mut ledger,
            &format!("prompt {number}"),
            &"text ".repeat(400),
            2.0,
        );
        assert_eq!(save(&session, &mut ledger), SaveOutcome::Saved);
        number += 1;
        let mut out = std::io::stdout();
        writeln!(out, "\nacknowledged {number}").unwrap();
        out.flush().unwrap();
        if number.is_multiple_of(7) {
            session.checkpoint(ledger.snapshot(3.0));
        }
    }
}

fn completed(ledger: &magent_ledger::Ledger) -> usize {
    let turns = &ledger.thread().turns;
    turns
        .iter()
        .filter(|turn| turn.status == TurnStatus::Completed)
        .count()
}

/// E42, C20.
#[test]
fn every_acknowledged_turn_survives_a_kill() {
    let rounds: u64 = std::env::var("MAGENT_CRASH_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(12);
    let mut folder = tempfile::tempdir().unwrap();
    let (mut total, mut most) = (0, 0);
    for round in 0..rounds {
        if round.is_multiple_of(ROUNDS_OF_A_SESSION) {
            folder = tempfile::tempdir().unwrap();
            total = 0;
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["crash::child_writes_until_killed", "--exact", "--nocapture"])
            .env(ROLE, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let killer = std::thread::spawn(move || {
            // Different delays hit different points of a write.
            let delay = 15_000 + round * 3_701 % LONGEST_DELAY;
            std::thread::sleep(std::time::Duration::from_micros(delay));
            child.kill().unwrap();
            child.wait().unwrap();
        });
        let acknowledged = lines
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<usize>().ok())
            .last();
        killer.join().unwrap();
        let directory = SessionDirectory::new(folder.path());
        match directory.load(&project(), &"s".into()) {
            Ok(loaded) => {
                let there = completed(&loaded.ledger);
                let needed = acknowledged.unwrap_or(total);
                assert!(
                    there >= needed,
                    "{there} of {needed} turns in round {round}"
                );
                assert_eq!(directory.list(&project()).unwrap().len(), 1);
                total = there;
                most = most.max(there);
            }
            Err(error) => assert!(acknowledged.is_none() && total == 0, "{error}"),
        }
    }
    assert!(most > 0, "no round got far enough to save a turn");
}

//! Reading what is left of damaged sessions.

use std::fs;
use std::path::PathBuf;

use magent_ledger::{LedgerError, SessionDirectory};

use crate::support::{as_json, project, saved_session};

struct Damaged {
    _keep: tempfile::TempDir,
    directory: SessionDirectory,
    whole: serde_json::Value,
}

impl Damaged {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let directory = SessionDirectory::new(keep.path().join("sessions"));
        let ledger = saved_session(&directory, "s", 3);
        Self {
            _keep: keep,
            directory,
            whole: as_json(&ledger),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        crate::support::file(&self.directory, name)
    }

    fn edit(&self, name: &str, change: impl FnOnce(String) -> String) {
        crate::support::edit(&self.file(name), change);
    }

    /// How many turns come back, whether that is all, and what is said to be missing.
    fn recovered(&self) -> (usize, bool, String) {
        let before: Vec<_> = self.contents();
        let found = self.directory.recover(&project(), &"s".into()).unwrap();
        assert_eq!(self.contents(), before, "nothing is changed");
        let all = as_json(&found.ledger)["turns"] == self.whole["turns"];
        (
            found.ledger.thread().turns.len(),
            all,
            found.lost.join("; "),
        )
    }

    fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let folder = self.file("s.json").parent().unwrap().to_owned();
        let mut files: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    }
}

#[test]
fn what_is_whole_comes_back_whole() {
    assert_eq!(Damaged::new().recovered(), (3, true, String::new()));
}

#[test]
fn one_damaged_file_does_not_take_the_others_with_it() {
    let damaged = Damaged::new();
    damaged.edit("s.json", |_| "{".into());
    let (turns, all, lost) = damaged.recovered();
    assert!(
        (turns, all) == (3, true) && lost.contains("title and options"),
        "{lost}"
    );
    fs::remove_file(damaged.file("s.json")).unwrap();
    damaged.edit("s.snapshot", |_| "no".into());
    let (turns, all, _) = damaged.recovered();
    assert_eq!((turns, all), (3, true), "the log has it all");
    let damaged = Damaged::new();
    damaged.edit("s.snapshot", |text| {
        text.replace("\"last-event-seq\":0", "\"last-event-seq\":999")
    });
    let (turns, all, _) = damaged.recovered();
    assert_eq!((turns, all), (3, true), "it claims more than it has");
}

#[test]
fn bad_lines_cost_what_they_said() {
    let damaged = Damaged::new();
    damaged.edit("s.jsonl", |text| format!("{text}half a li"));
    let (turns, all, lost) = damaged.recovered();
    assert_eq!((turns, all), (3, true));
    assert!(lost.contains("the log's line "), "{lost}");
}

/// Each line in turn is lost, and then each run of three lines: every turn is still there,
/// with the last answer.
#[test]
fn the_lines_after_a_lost_one_bring_back_what_they_can() {
    let lines = fs::read_to_string(Damaged::new().file("s.jsonl")).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    for (lost, damage) in (0..lines.len()).flat_map(|at| [(at, 1), (at, 3)]) {
        let damaged = Damaged::new();
        damaged.edit("s.jsonl", |text| {
            let mut kept: Vec<String> = text.lines().map(str::to_owned).collect();
            for line in kept.iter_mut().skip(lost).take(damage) {
                line.truncate(line.len() / 2);
            }
            kept.join("\n") + "\n"
        });
        let found = damaged.directory.recover(&project(), &"s".into()).unwrap();
        let turns = &found.ledger.thread().turns;
        assert_eq!(turns.len(), 3, "{damage} lines from {lost}");
        let answered = turns.iter().filter(|turn| {
            let mut contents = turn.items.iter().filter_map(|item| item.content.as_deref());
            contents.any(|text| text.contains("answer"))
        });
        let hit = (lost..lines.len().min(lost + damage))
            .any(|line| lines[line].contains("item-completed") && lines[line].contains("answer"));
        let least = if hit { 2 } else { 3 };
        assert!(answered.count() >= least, "{damage} lines from {lost}");
    }
}

#[test]
fn nothing_is_not_called_something() {
    let damaged = Damaged::new();
    damaged.edit("s.jsonl", |_| String::new());
    let error = damaged
        .directory
        .recover(&project(), &"s".into())
        .unwrap_err();
    assert!(matches!(error, LedgerError::Unrecoverable(_)), "{error}");
    for unknown in ["../s", "t"] {
        let found = damaged.directory.recover(&project(), &unknown.into());
        assert!(matches!(found, Err(LedgerError::NotFound(_))), "{unknown}");
    }
}

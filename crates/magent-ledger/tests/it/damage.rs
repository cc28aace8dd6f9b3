//! Whatever happens to the bytes of a session, nothing is lost without a word.

use std::fs;
use std::path::{Path, PathBuf};

use magent_ledger::{LedgerError, SaveOutcome, SessionDirectory, StoreWriter};
use serde_json::Value;

use crate::support::{
    as_json, directory, file, fresh, open_new, project, save, saved_session, whole_turn,
};

fn load(directory: &SessionDirectory) -> Result<Value, String> {
    let loaded = directory.load(&project(), &"s".into());
    loaded
        .map(|loaded| as_json(&loaded.ledger))
        .map_err(|error| error.to_string())
}

/// Where each line begins and where its newline is.
fn lines_of(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut begin = 0;
    let mut lines = Vec::new();
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        lines.push((begin, at));
        begin = at + 1;
    }
    lines
}

/// Calls `check` with every line's number and the file that has one byte of it changed.
fn flip(path: &Path, bit: u8, every: usize, mut check: impl FnMut(usize, usize)) {
    let whole = fs::read(path).unwrap();
    for (index, (begin, end)) in lines_of(&whole).into_iter().enumerate() {
        for at in (begin..end).step_by(every) {
            let mut bytes = whole.clone();
            bytes[at] ^= bit;
            fs::write(path, bytes).unwrap();
            check(index + 1, at - begin);
        }
    }
    fs::write(path, whole).unwrap();
}

/// No text holds a byte with a flipped highest bit, so every such flip is noticed.
#[test]
fn a_flipped_byte_in_any_line_is_named() {
    let (_keep, directory) = directory();
    let turns = as_json(&saved_session(&directory, "s", 2))["turns"].clone();
    flip(&file(&directory, "s.jsonl"), 0x80, 7, |line, at| {
        let error = load(&directory).unwrap_err();
        assert!(error.contains(&format!("s.jsonl:{line}")), "{at}: {error}");
        let found = directory.recover(&project(), &"s".into()).unwrap();
        assert_eq!(found.ledger.thread().turns.len(), 2, "line {line}, {at}");
    });
    for name in ["s.json", "s.snapshot"] {
        let path = file(&directory, name);
        let mut text = fs::read(&path).unwrap();
        text.push(b'\n');
        fs::write(&path, text).unwrap();
        flip(&path, 0x80, 7, |_, at| {
            let error = load(&directory).unwrap_err();
            assert!(error.contains(name), "{at}: {error}");
            let found = directory.recover(&project(), &"s".into()).unwrap();
            assert_eq!(as_json(&found.ledger)["turns"], turns, "{name}, {at}");
        });
    }
}

/// Another flip can make one text into another, and that cannot be known; but it takes no
/// turn and no item away.
#[test]
fn a_flipped_bit_takes_nothing_away_unnoticed() {
    let (_keep, directory) = directory();
    let shape = |thread: &Value| -> Vec<usize> {
        let turns = thread["turns"].as_array().unwrap().iter();
        turns
            .map(|turn| turn["items"].as_array().unwrap().len())
            .collect()
    };
    let whole = shape(&as_json(&saved_session(&directory, "s", 2)));
    let mut noticed = 0;
    for bit in [0x01, 0x02, 0x10] {
        flip(
            &file(&directory, "s.jsonl"),
            bit,
            5,
            |line, at| match load(&directory) {
                Ok(thread) => assert_eq!(shape(&thread), whole, "bit {bit} of {line}:{at}"),
                Err(error) => {
                    noticed += 1;
                    assert!(error.contains("s.jsonl:"), "{error}");
                }
            },
        );
    }
    assert!(noticed > 500, "{noticed}");
}

/// Neither half a snapshot nor half a header is taken for a whole one.
#[test]
fn a_cut_off_snapshot_or_header_is_named_and_recovered() {
    for name in ["s.snapshot", "s.json"] {
        let (_keep, directory) = directory();
        let turns = as_json(&saved_session(&directory, "s", 2))["turns"].clone();
        let path = file(&directory, name);
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let error = load(&directory).unwrap_err();
            assert!(error.contains(name), "{length}: {error}");
            let found = directory.recover(&project(), &"s".into()).unwrap();
            assert_eq!(as_json(&found.ledger)["turns"], turns, "{name}, {length}");
        }
        fs::write(&path, &whole).unwrap();
        load(&directory).unwrap();
    }
}

/// Who reads does not hold the lock; the holder may replace the snapshot and the log
/// between one reading and the next.
#[test]
fn a_session_can_be_read_while_its_holder_writes_it() {
    let (_keep, directory) = directory();
    let writer = StoreWriter::start(|_, _| {}).unwrap();
    let (mut ledger, first) = fresh("s");
    let session = open_new(&writer, &directory, "s", first);
    whole_turn(&mut ledger, "first", "answer", 1.0);
    save(&session, &mut ledger);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..60 {
                for _ in 0..4 {
                    whole_turn(&mut ledger, "more", "answer", 2.0);
                }
                assert_eq!(save(&session, &mut ledger), SaveOutcome::Saved);
                session.checkpoint(ledger.snapshot(f64::from(number)));
            }
            done.store(true, std::sync::atomic::Ordering::SeqCst);
        });
        let mut turns = 0;
        while !done.load(std::sync::atomic::Ordering::SeqCst) {
            let loaded = directory.load(&project(), &"s".into()).unwrap();
            let there = loaded.ledger.thread().turns.len();
            assert!(there >= turns, "{there} turns after {turns}");
            turns = there;
        }
    });
}

/// A file system of a few hundred kilobytes, if this user may make one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"])
            .arg(at)
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = std::process::Command::new("umount").arg(&self.0).status();
        assert!(unmounted.unwrap().success());
    }
}

/// E47, on a disk that is really full: nothing that was saved is lost, nothing that was not
/// saved is called so, and all of it is saved once there is room.
#[test]
fn a_full_disk_costs_nothing_once_there_is_room() {
    let keep = tempfile::tempdir().unwrap();
    let Some(_disk) = SmallDisk::mount(keep.path()) else {
        // Only root may mount, on most machines.
        eprintln!("SKIPPED: no small file system can be mounted here");
        return;
    };
    let directory = SessionDirectory::new(keep.path().join("sessions"));
    let writer = StoreWriter::start(|_, _| {}).unwrap();
    let (mut ledger, first) = fresh("s");
    let session = open_new(&writer, &directory, "s", first);
    let filler = keep.path().join("filler");
    fs::write(&filler, vec![0; 100 * 1024]).unwrap();
    let mut saved = 0;
    let problem = loop {
        whole_turn(&mut ledger, "prompt", &"text ".repeat(800), 1.0);
        match save(&session, &mut ledger) {
            SaveOutcome::Saved => saved += 1,
            SaveOutcome::Pending(problem) => break problem,
        }
        // A checkpoint needs room for two snapshots, and fails earlier.
        session.checkpoint(ledger.snapshot(2.0));
        let loaded = directory.load(&project(), &"s".into()).unwrap();
        assert_eq!(as_json(&loaded.ledger), as_json(&ledger));
        assert!(saved < 1_000, "the disk is never full");
    };
    assert!(problem.contains("space"), "{problem}");
    let loaded = directory.load(&project(), &"s".into()).unwrap();
    assert!(loaded.ledger.thread().turns.len() >= saved);
    fs::remove_file(filler).unwrap();
    assert_eq!(save(&session, &mut ledger), SaveOutcome::Saved);
    let loaded = directory.load(&project(), &"s".into()).unwrap();
    assert_eq!(as_json(&loaded.ledger), as_json(&ledger));
}

/// A disk that is read only: what is there is read, and nothing else is claimed.
#[test]
fn a_session_on_a_read_only_disk_is_read_and_not_called_saved() {
    let keep = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(keep.path()) else {
        eprintln!("SKIPPED: no small file system can be mounted here");
        return;
    };
    let directory = SessionDirectory::new(keep.path().join("sessions"));
    let before = as_json(&saved_session(&directory, "s", 1));
    let remount = |how: &str| {
        let done = std::process::Command::new("mount")
            .args(["-o", how])
            .arg(&disk.0)
            .status();
        assert!(done.unwrap().success());
    };
    remount("remount,ro");
    let locked = directory.lock(&project(), &"s".into(), "Emacs");
    assert!(matches!(locked, Err(LedgerError::Io { .. })), "{locked:?}");
    let loaded = directory.load(&project(), &"s".into()).unwrap();
    assert_eq!(as_json(&loaded.ledger), before);
    let writer = StoreWriter::start(|_, _| {}).unwrap();
    let source = magent_ledger::OpenFrom::Saved(loaded.report);
    let session = writer.open(&directory, &loaded.header, source);
    let mut ledger = loaded.ledger;
    whole_turn(&mut ledger, "prompt", "answer", 2.0);
    let SaveOutcome::Pending(problem) = save(&session, &mut ledger) else {
        panic!("it was called saved");
    };
    assert!(problem.contains("Read-only"), "{problem}");
    remount("remount,rw");
    assert_eq!(save(&session, &mut ledger), SaveOutcome::Saved);
    assert_eq!(load(&directory).unwrap(), as_json(&ledger));
}

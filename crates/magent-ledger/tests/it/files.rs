//! The three files: what is written, what is read back, what is refused.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use magent_ledger::{
    LedgerError, OpenFrom, SaveOutcome, SessionDirectory, SessionHeader, StoreWriter,
    WriterSettings,
};
use magent_types::SessionId;

use crate::support::{
    as_json, directory, edit, file, fresh, open_new, project, save, saved_session, whole_turn,
};

#[test]
fn saving_and_loading_three_times_changes_nothing() {
    let (_keep, directory) = directory();
    let mut expected = as_json(&saved_session(&directory, "s", 3));
    for round in 0..3 {
        let loaded = directory.load(&project(), &SessionId::new("s")).unwrap();
        assert_eq!(as_json(&loaded.ledger), expected);
        let writer = StoreWriter::start(|_, _| {}).unwrap();
        let session = writer.open(&directory, &loaded.header, OpenFrom::Saved(loaded.report));
        let mut ledger = loaded.ledger;
        whole_turn(&mut ledger, "again", "", 50.0 + f64::from(round));
        save(&session, &mut ledger);
        if round == 1 {
            session.checkpoint(ledger.snapshot(60.0));
        }
        expected = as_json(&ledger);
        assert!(writer.stop(Duration::from_secs(5)));
    }
}

#[test]
fn nothing_is_written_before_the_first_event_is() {
    let (_keep, directory) = directory();
    let writer = StoreWriter::start(|_, _| {}).unwrap();
    let (_, first) = fresh("s");
    let session = open_new(&writer, &directory, "s", first);
    session.write_header(SessionHeader::new("s".into(), project()));
    assert!(writer.stop(Duration::from_secs(5)));
    assert!(!directory.root().exists());
}

#[test]
fn files_are_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (_keep, directory) = directory();
    saved_session(&directory, "s", 1);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for name in ["s.json", "s.jsonl", "s.snapshot"] {
        assert_eq!(mode(&file(&directory, name)), 0o600, "{name}");
    }
    assert_eq!(mode(directory.root()), 0o700);
}

/// C17: a log cut at any byte of its last three lines still loads.
#[test]
fn a_torn_tail_costs_only_the_torn_line() {
    let (_keep, directory) = directory();
    saved_session(&directory, "s", 2);
    let log = file(&directory, "s.jsonl");
    let whole = fs::read(&log).unwrap();
    let newlines: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    let from = newlines[newlines.len() - 4];
    for length in from..whole.len() {
        fs::write(&log, &whole[..length]).unwrap();
        let loaded = directory.load(&project(), &SessionId::new("s")).unwrap();
        let kept = whole[..length].iter().filter(|b| **b == b'\n').count() as u64;
        assert_eq!(loaded.report.log_events, kept, "cut at {length}");
        assert_eq!(loaded.ledger.last_seq(), kept);
    }
}

/// After a torn tail the next event must not be glued to the rest of the old line.
#[test]
fn writing_goes_on_after_a_torn_tail() {
    let (_keep, directory) = directory();
    saved_session(&directory, "s", 1);
    let log = file(&directory, "s.jsonl");
    let mut bytes = fs::read(&log).unwrap();
    bytes.truncate(bytes.len() - 5);
    fs::write(&log, &bytes).unwrap();
    let loaded = directory.load(&project(), &SessionId::new("s")).unwrap();
    assert!(loaded.report.torn_bytes > 0);
    let mut ledger = loaded.ledger;
    ledger.reconcile_after_restart(70.0);
    whole_turn(&mut ledger, "next", "fine", 80.0);
    let writer = StoreWriter::start(|_, _| {}).unwrap();
    let session = writer.open(&directory, &loaded.header, OpenFrom::Saved(loaded.report));
    save(&session, &mut ledger);
    let again = directory.load(&project(), &SessionId::new("s")).unwrap();
    assert_eq!(as_json(&again.ledger), as_json(&ledger));
}

#[test]
fn a_bad_middle_line_is_named_and_left_alone() {
    let (_keep, directory) = directory();
    saved_session(&directory, "s", 2);
    let log = file(&directory, "s.jsonl");
    edit(&log, |text| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines[3] = "{\"seq\": nonsense";
        lines.join("\n") + "\n"
    });
    let before = fs::read(&log).unwrap();
    let error = directory
        .load(&project(), &SessionId::new("s"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("s.jsonl:4"), "{error}");
    assert_eq!(fs::read(&log).unwrap(), before);
}

#[test]
fn missing_lines_in_the_middle_are_noticed() {
    let (_keep, directory) = directory();
    saved_session(&directory, "s", 2);
    edit(&file(&directory, "s.jsonl"), |text| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.remove(4);
        lines.join("\n") + "\n"
    });
    let error = directory
        .load(&project(), &SessionId::new("s"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("s.jsonl:5 (field seq)"), "{error}");
}

#[test]
fn unknown_fields_and_other_versions_are_refused_by_name() {
    let (_keep, directory) = directory();
    saved_session(&directory, "s", 1);
    let header = file(&directory, "s.json");
    let good = fs::read_to_string(&header).unwrap();
    let load = || {
        directory
            .load(&project(), &SessionId::new("s"))
            .unwrap_err()
    };
    let check = |from: &str, to: &str, expected: &str| {
        fs::write(&header, good.replace(from, to)).unwrap();
        let error = load().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(
        "\"agent-jobs\"",
        "\"extra\":1,\"agent-jobs\"",
        "field extra",
    );
    check("\"id\":\"s\"", "\"id\":\"t\"", "field id");
    check("\"agent-jobs\":[],", "", "field agent-jobs");
    check(
        "\"schema-version\":8",
        "\"schema-version\":9",
        "schema 9 is not supported",
    );
    fs::write(&header, good.replace("version\":8", "version\":5")).unwrap();
    assert!(matches!(load(), LedgerError::Version { .. }));
    fs::write(&header, &good).unwrap();
    edit(&file(&directory, "s.snapshot"), |text| {
        text.replacen("\"preview\"", "\"review\"", 1)
    });
    assert!(load().to_string().contains("field review"));
}

#[test]
fn a_key_that_is_there_twice_is_damage() {
    let (_keep, directory) = directory();
    saved_session(&directory, "s", 1);
    for name in ["s.json", "s.snapshot", "s.jsonl"] {
        let path = file(&directory, name);
        let before = fs::read_to_string(&path).unwrap();
        let key = &before[1..before.find(':').unwrap()];
        fs::write(&path, before.replacen('{', &format!("{{{key}:0,"), 1)).unwrap();
        let error = directory.load(&project(), &"s".into()).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(name) && error.contains("twice"), "{error}");
        fs::write(&path, before).unwrap();
    }
    directory.load(&project(), &"s".into()).unwrap();
}

#[test]
fn a_kill_between_snapshot_and_log_changes_nothing() {
    let (_keep, directory) = directory();
    let ledger = saved_session(&directory, "s", 2);
    // The newer snapshot is in place, the log still holds everything.
    let snapshot = magent_ledger::encode_snapshot(&ledger.snapshot(99.0)).to_string();
    fs::write(file(&directory, "s.snapshot"), snapshot).unwrap();
    let loaded = directory.load(&project(), &"s".into()).unwrap();
    assert_eq!(as_json(&loaded.ledger), as_json(&ledger));
}

#[test]
fn a_missing_snapshot_is_rebuilt_from_a_whole_log_or_refused() {
    let (_keep, directory) = directory();
    let ledger = saved_session(&directory, "s", 1);
    fs::remove_file(file(&directory, "s.snapshot")).unwrap();
    let loaded = directory.load(&project(), &"s".into()).unwrap();
    assert_eq!(as_json(&loaded.ledger), as_json(&ledger));
    edit(&file(&directory, "s.jsonl"), |text| {
        text.lines()
            .skip(2)
            .map(|line| format!("{line}\n"))
            .collect()
    });
    let error = directory.load(&project(), &"s".into()).unwrap_err();
    assert!(error.to_string().contains("s.snapshot"), "{error}");
}

#[test]
fn checkpoints_keep_a_tail_and_are_due_by_size() {
    let (_keep, directory) = directory();
    let writer = StoreWriter::start(|_, _| {}).unwrap();
    let (mut ledger, first) = fresh("s");
    let session = open_new(&writer, &directory, "s", first);
    let settings = WriterSettings {
        log_max_events: Some(300),
    };
    let mut number = 0.0;
    while !session.checkpoint_due(settings) {
        whole_turn(&mut ledger, "prompt", "answer", number);
        save(&session, &mut ledger);
        number += 1.0;
        assert!(number < 100.0, "never due");
    }
    session.checkpoint(ledger.snapshot(1e6));
    whole_turn(&mut ledger, "after", "more", 2e6);
    save(&session, &mut ledger);
    assert!(!session.checkpoint_due(settings));
    let loaded = directory.load(&project(), &"s".into()).unwrap();
    assert_eq!(as_json(&loaded.ledger), as_json(&ledger));
    assert!(loaded.report.log_events < 300);
}

#[test]
fn a_second_holder_is_refused_and_told_who_has_it() {
    let (_keep, directory) = directory();
    saved_session(&directory, "s", 1);
    let lock = directory.lock(&project(), &"s".into(), "Emacs 1").unwrap();
    match directory.lock(&project(), &"s".into(), "Emacs 2") {
        Err(LedgerError::Locked { holder }) => assert_eq!(holder, "Emacs 1"),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        directory.list(&project()).unwrap()[0].holder.as_deref(),
        Some("Emacs 1")
    );
    drop(lock);
    assert_eq!(directory.list(&project()).unwrap()[0].holder, None);
    directory.lock(&project(), &"s".into(), "Emacs 2").unwrap();
}

/// A folder that cannot be written stands for every kind of failing disk.  What was
/// handed over is written once the disk works again, and both changes are reported.
#[test]
fn a_failing_disk_is_reported_and_loses_nothing() {
    let (keep, directory) = directory();
    let blocker = keep.path().join("sessions");
    fs::write(&blocker, "a file where the folder should be").unwrap();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&reports);
    let writer = StoreWriter::start(move |_, report| {
        log.lock().unwrap().push(format!("{report:?}"));
    })
    .unwrap();
    let (mut ledger, first) = fresh("s");
    let session = open_new(&writer, &directory, "s", first);
    whole_turn(&mut ledger, "one", "two", 1.0);
    assert!(matches!(
        save(&session, &mut ledger),
        SaveOutcome::Pending(_)
    ));
    whole_turn(&mut ledger, "three", "four", 2.0);
    assert!(matches!(
        save(&session, &mut ledger),
        SaveOutcome::Pending(_)
    ));
    fs::remove_file(&blocker).unwrap();
    whole_turn(&mut ledger, "five", "six", 3.0);
    assert_eq!(save(&session, &mut ledger), SaveOutcome::Saved);
    let reports = reports.lock().unwrap();
    assert_eq!(reports.len(), 2, "{reports:?}");
    assert!(reports[0].starts_with("Fails(") && reports[1] == "Works");
    let loaded = directory.load(&project(), &"s".into()).unwrap();
    assert_eq!(as_json(&loaded.ledger), as_json(&ledger));
}

/// What other programs do to the files of a session while it is live.
#[test]
fn files_that_others_removed_or_changed_are_written_again() {
    let log = |directory: &SessionDirectory| file(directory, "s.jsonl");
    let copied = |directory: &SessionDirectory| {
        let (log, copy) = (log(directory), file(directory, "copy"));
        fs::copy(&log, &copy).unwrap();
        fs::rename(&copy, &log).unwrap();
    };
    type Disturb<'a> = &'a dyn Fn(&SessionDirectory);
    let cases: [(&str, Disturb<'_>); 6] = [
        ("folder removed", &|it| {
            fs::remove_dir_all(it.root()).unwrap();
        }),
        ("log removed", &|it| fs::remove_file(log(it)).unwrap()),
        ("log replaced", &copied),
        ("log emptied", &|it| fs::write(log(it), "").unwrap()),
        ("header removed", &|it| {
            fs::remove_file(file(it, "s.json")).unwrap();
        }),
        ("snapshot removed", &|it| {
            fs::remove_file(file(it, "s.snapshot")).unwrap();
        }),
    ];
    for (name, disturb) in cases {
        let (_keep, directory) = directory();
        let (sender, reports) = std::sync::mpsc::channel();
        let writer = StoreWriter::start(move |_, report| {
            sender.send(format!("{report:?}")).unwrap();
        })
        .unwrap();
        let (mut ledger, first) = fresh("s");
        let session = open_new(&writer, &directory, "s", first);
        whole_turn(&mut ledger, "one", "two", 1.0);
        assert_eq!(save(&session, &mut ledger), SaveOutcome::Saved, "{name}");
        disturb(&directory);
        whole_turn(&mut ledger, "three", "four", 2.0);
        let (told, saved) = std::sync::mpsc::channel();
        let done = Box::new(move |outcome| told.send(outcome).unwrap());
        session.append(&ledger.take_unsaved(), true, Some(done));
        assert_eq!(reports.recv().unwrap(), "Disturbed", "{name}");
        session.rewrite(ledger.snapshot(3.0), ledger.journal());
        assert_eq!(saved.recv().unwrap(), SaveOutcome::Saved, "{name}");
        assert_eq!(reports.recv().unwrap(), "Rewritten", "{name}");
        whole_turn(&mut ledger, "five", "six", 4.0);
        assert_eq!(save(&session, &mut ledger), SaveOutcome::Saved, "{name}");
        let loaded = directory.load(&project(), &"s".into()).unwrap();
        assert_eq!(as_json(&loaded.ledger), as_json(&ledger), "{name}");
        let kept = fs::read_dir(log(&directory).parent().unwrap()).unwrap();
        let kept = kept
            .filter(|entry| {
                let name = entry.as_ref().unwrap().file_name();
                name.to_string_lossy().contains(".found-")
            })
            .count();
        let found = ["log replaced", "header removed", "snapshot removed"].contains(&name);
        assert_eq!(kept, usize::from(found), "{name}");
    }
}

#[test]
fn a_log_that_ends_before_its_snapshot_is_damaged() {
    let (_keep, directory) = directory();
    let ledger = saved_session(&directory, "s", 2);
    let damaged = |expected: &str| {
        let error = directory.load(&project(), &"s".into()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    let mut snapshot = ledger.snapshot(99.0);
    snapshot.last_event_seq = 99_999;
    let snapshot = magent_ledger::encode_snapshot(&snapshot).to_string();
    let before = fs::read(file(&directory, "s.snapshot")).unwrap();
    fs::write(file(&directory, "s.snapshot"), snapshot).unwrap();
    damaged("the snapshot includes 99999");
    fs::write(file(&directory, "s.snapshot"), before).unwrap();
    fs::write(file(&directory, "s.jsonl"), "").unwrap();
    damaged("has no event");
}

#[test]
fn what_lies_in_the_place_of_a_file_does_no_harm() {
    let (keep, directory) = directory();
    saved_session(&directory, "s", 1);
    let precious = keep.path().join("precious");
    fs::write(&precious, "mine").unwrap();
    std::os::unix::fs::symlink(&precious, file(&directory, "s.json.tmp")).unwrap();
    let writer = StoreWriter::start(|_, _| {}).unwrap();
    let loaded = directory.load(&project(), &"s".into()).unwrap();
    let session = writer.open(&directory, &loaded.header, OpenFrom::Saved(loaded.report));
    let mut header = loaded.header.clone();
    header.title = Some("new".into());
    session.write_header(header);
    assert!(writer.stop(std::time::Duration::from_secs(5)));
    assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
    let title = directory.list(&project()).unwrap()[0].title.clone();
    assert_eq!(title.as_deref(), Some("new"));
    // A FIFO would be waited at for ever.
    let path = file(&directory, "s.lock");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    assert_eq!(directory.list(&project()).unwrap()[0].holder, None);
    assert!(directory.lock(&project(), &"s".into(), "Emacs").is_err());
}

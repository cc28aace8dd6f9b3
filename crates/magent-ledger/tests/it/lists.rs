//! Lists of saved sessions, and removing one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use magent_ledger::{ImageStore, LedgerError, OpenFrom, SpillSettings, SpillStore, StoreWriter};
use magent_types::{Scope, SessionId};

use crate::support::{directory, edit, file, project, saved_session};

#[test]
fn a_damaged_session_is_listed_as_such_and_hides_no_other() {
    let (_keep, directory) = directory();
    saved_session(&directory, "good", 1);
    saved_session(&directory, "bad", 1);
    fs::write(file(&directory, "bad.json"), "{").unwrap();
    let listed = directory.list(&project()).unwrap();
    assert_eq!(listed.len(), 2);
    let bad = listed.iter().find(|s| s.id.as_str() == "bad").unwrap();
    assert!(bad.damage.as_ref().unwrap().contains("bad.json"));
    assert!(directory.load(&project(), &"good".into()).is_ok());
    assert_eq!(fs::read(file(&directory, "bad.json")).unwrap(), b"{");
}

#[test]
fn lists_show_one_scope_only_and_follow_changes() {
    let (_keep, directory) = directory();
    saved_session(&directory, "s", 1);
    assert_eq!(
        directory.list(&Scope::Project("/other".into())).unwrap(),
        []
    );
    assert!(matches!(
        directory.load(&Scope::Project("/other".into()), &"s".into()),
        Err(LedgerError::NotFound(_))
    ));
    assert_eq!(directory.list(&project()).unwrap()[0].title, None);
    assert_eq!(directory.list_all().unwrap().len(), 1);
    assert_eq!(directory.list_all().unwrap()[0].scope, Some(project()));
    edit(&file(&directory, "s.json"), |text| {
        text.replace("\"scope\"", "\"title\":\"A title\",\"scope\"")
    });
    assert_eq!(
        directory.list(&project()).unwrap()[0].title.as_deref(),
        Some("A title")
    );
}

#[test]
fn a_session_without_its_header_is_missed() {
    let (_keep, directory) = directory();
    saved_session(&directory, "s", 1);
    saved_session(&directory, "other", 1);
    fs::remove_file(file(&directory, "s.json")).unwrap();
    for listed in [directory.list(&project()), directory.list_all()] {
        let listed = listed.unwrap();
        let found = listed.iter().find(|it| it.id.as_str() == "s").unwrap();
        assert_eq!(found.scope, Some(project()));
        let damage = found.damage.as_ref().unwrap();
        assert!(damage.contains("s.json: is missing"), "{damage}");
    }
    let error = directory.load(&project(), &"s".into()).unwrap_err();
    assert!(error.to_string().contains("s.json: is missing"), "{error}");
    assert!(directory.recover(&project(), &"s".into()).is_ok());
}

#[test]
fn lists_tell_how_large_a_session_is_and_who_answered() {
    let (_keep, directory) = directory();
    let ledger = saved_session(&directory, "s", 2);
    let listed = || directory.list(&project()).unwrap().remove(0);
    let sizes =
        ["s.json", "s.jsonl", "s.snapshot"].map(|name| fs::metadata(file(&directory, name)));
    let bytes: u64 = sizes.into_iter().map(|size| size.unwrap().len()).sum();
    assert_eq!(
        (listed().bytes, listed().turns, listed().model),
        (bytes, None, None)
    );
    let loaded = directory.load(&project(), &"s".into()).unwrap();
    let writer = StoreWriter::start(|_, _| {}).unwrap();
    let session = writer.open(&directory, &loaded.header, OpenFrom::Saved(loaded.report));
    let mut header = loaded.header;
    header.note_progress(ledger.thread().turns.len(), Some("demo:small".into()));
    session.write_header(header);
    assert!(writer.stop(Duration::from_secs(5)));
    assert_eq!(
        (listed().turns, listed().model.as_deref()),
        (Some(2), Some("demo:small"))
    );
}

#[test]
fn a_deleted_session_leaves_nothing_and_touches_no_other() {
    let (_keep, directory) = directory();
    let spill = SpillStore::new(directory.root());
    let images = ImageStore::new(directory.root());
    let ids = ["s", "s.jsonl.found-1"].map(SessionId::new);
    for id in &ids {
        saved_session(&directory, id.as_str(), 1);
        let settings = SpillSettings::default();
        spill
            .put(&project(), id, "a long result", settings)
            .unwrap();
        images.put(&project(), id, "image/png", b"bytes").unwrap();
    }
    fs::write(file(&directory, "s.jsonl.found-2"), "set aside").unwrap();
    let held = directory.lock(&project(), &ids[0], "Emacs 1").unwrap();
    let refused = directory
        .delete(&project(), &ids[0], "Emacs 2")
        .unwrap_err();
    assert!(refused.to_string().contains("Emacs 1"), "{refused}");
    assert_eq!(directory.list(&project()).unwrap().len(), 2);
    drop(held);
    directory.delete(&project(), &ids[0], "Emacs 2").unwrap();
    let listed = directory.list(&project()).unwrap();
    assert_eq!(
        listed.iter().map(|it| it.id.clone()).collect::<Vec<_>>(),
        [ids[1].clone()]
    );
    let names = every_file(directory.root());
    assert_eq!(
        names.len(),
        5,
        "three files, a result and a picture: {names:?}"
    );
    assert!(
        names
            .iter()
            .all(|name| name.to_string_lossy().contains("s.jsonl.found-1"))
    );
    for gone in ["s", "../s", "t"] {
        let again = directory.delete(&project(), &gone.into(), "Emacs 2");
        assert!(matches!(again, Err(LedgerError::NotFound(_))), "{gone}");
    }
    // What is damaged can be deleted too, whatever of it is there.
    fs::remove_file(file(&directory, "s.jsonl.found-1.json")).unwrap();
    directory.delete(&project(), &ids[1], "Emacs 2").unwrap();
    assert_eq!(every_file(directory.root()), Vec::<PathBuf>::new());
}

/// Every file below a folder.
fn every_file(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| match path.is_dir() {
        true => every_file(&path),
        false => vec![path],
    };
    entries.flat_map(below).collect()
}

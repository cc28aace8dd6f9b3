use super::*;

fn store() -> (tempfile::TempDir, SpillStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SpillStore::new(folder.path());
    (folder, store)
}

fn project() -> Scope {
    Scope::Project("/p".into())
}

#[test]
fn pages_rebuild_the_text_exactly_whatever_its_characters() {
    let (_keep, store) = store();
    let text: String = "aß漢🚀\n".repeat(5_000);
    let session = SessionId::new("s");
    let settings = SpillSettings::default();
    let id = store.put(&project(), &session, &text, settings).unwrap();
    let mut rebuilt = String::new();
    let mut start = 1;
    loop {
        let page = store
            .read(&project(), &session, &id, start, 8_000, settings)
            .unwrap();
        assert_eq!(page.total_characters, text.chars().count());
        if page.text.is_empty() {
            break;
        }
        start += page.text.chars().count();
        rebuilt.push_str(&page.text);
    }
    assert_eq!(rebuilt, text);
}

#[test]
fn another_session_or_scope_cannot_read_a_result() {
    let (_keep, store) = store();
    let settings = SpillSettings::default();
    let session = SessionId::new("s");
    let id = store.put(&project(), &session, "secret", settings).unwrap();
    let read = |scope: &Scope, session: &str, id: &str| {
        store.read(scope, &SessionId::new(session), id, 1, 10, settings)
    };
    assert!(read(&project(), "s", &id).is_ok());
    assert!(matches!(
        read(&project(), "t", &id),
        Err(SpillError::NotFound)
    ));
    assert!(matches!(
        read(&Scope::Global, "s", &id),
        Err(SpillError::NotFound)
    ));
    for id in ["../s/x", "/etc/passwd", "", "a/b"] {
        assert!(matches!(
            read(&project(), "s", id),
            Err(SpillError::NotFound)
        ));
    }
}

#[test]
fn expired_results_are_gone() {
    let (_keep, store) = store();
    let session = SessionId::new("s");
    let settings = SpillSettings::default();
    let id = store.put(&project(), &session, "old", settings).unwrap();
    let none = SpillSettings {
        time_to_live: Duration::ZERO,
        ..settings
    };
    std::thread::sleep(Duration::from_millis(5));
    assert!(matches!(
        store.read(&project(), &session, &id, 1, 10, none),
        Err(SpillError::NotFound)
    ));
}

#[test]
fn the_oldest_results_make_room_and_a_giant_is_refused() {
    let (_keep, store) = store();
    let session = SessionId::new("s");
    let settings = SpillSettings {
        session_max_bytes: 25,
        ..SpillSettings::default()
    };
    let first = store
        .put(&project(), &session, &"a".repeat(10), settings)
        .unwrap();
    std::thread::sleep(Duration::from_millis(5));
    let second = store
        .put(&project(), &session, &"b".repeat(10), settings)
        .unwrap();
    std::thread::sleep(Duration::from_millis(5));
    store
        .put(&project(), &session, &"c".repeat(10), settings)
        .unwrap();
    let read = |id: &str| store.read(&project(), &session, id, 1, 10, settings);
    assert!(matches!(read(&first), Err(SpillError::NotFound)));
    assert_eq!(read(&second).unwrap().text, "b".repeat(10));
    assert!(matches!(
        store.put(&project(), &session, &"d".repeat(26), settings),
        Err(SpillError::TooLarge(25))
    ));
}

#[test]
fn results_are_private_files() {
    use std::os::unix::fs::PermissionsExt;
    let (keep, store) = store();
    let session = SessionId::new("s");
    store
        .put(&project(), &session, "x", SpillSettings::default())
        .unwrap();
    let directory = store.directory(&project(), &session);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&keep.path().join("tool-results")), 0o700);
    let file = fs::read_dir(&directory).unwrap().next().unwrap().unwrap();
    assert_eq!(mode(&file.path()), 0o600);
}

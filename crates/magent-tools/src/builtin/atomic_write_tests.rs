use std::fs;

use super::*;

fn agree(_path: &Path) -> Result<(), &'static str> {
    Ok(())
}

/// Writes over the file as it is now.
fn overwrite_file(
    path: &Path,
    bytes: &[u8],
    last_check: impl FnOnce(&Path) -> Result<(), &'static str>,
) -> Result<(), WriteError<&'static str>> {
    let metadata = fs::metadata(path).unwrap();
    let old = fs::read(path).unwrap();
    let previous = Previous {
        metadata: &metadata,
        bytes: &old,
    };
    write_atomically(path, bytes, Some(&previous), last_check)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Case 10: a new file below new folders, with the mode that the umask leaves.
#[test]
fn a_new_file_gets_its_folders_and_the_usual_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/new.txt");
    write_atomically(&path, b"text", None, agree).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"text");
    assert_eq!(names(path.parent().unwrap()), ["new.txt"]);
    let usual = folder.path().join("usual");
    File::create(&usual).unwrap();
    assert_eq!(mode(&path), mode(&usual));
    assert_eq!(mode(&path) & 0o111, 0);
}

/// Case 16: the mode of an existing file stays, special bits included.
#[test]
fn an_existing_mode_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script");
    for bits in [0o755, 0o640, 0o4755] {
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(bits)).unwrap();
        overwrite_file(&path, b"new", agree).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(mode(&path), bits);
    }
}

/// Case 15: the old content stays and no temporary file is left when the last
/// step fails.
#[test]
fn a_failed_rename_leaves_everything_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, "old").unwrap();
    let error = overwrite_file(&path, b"new", |_: &Path| {
        // The rename finds its source gone.
        for name in names(folder.path()) {
            if name.starts_with(".magent-") {
                fs::remove_file(folder.path().join(name)).unwrap();
            }
        }
        Ok(())
    });
    assert!(matches!(error, Err(WriteError::Io(_))), "{error:?}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["a"]);
}

#[test]
fn a_refused_write_leaves_no_trace_and_no_folders() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, "old").unwrap();
    let refuse = |_: &Path| Err("changed");
    assert!(matches!(
        overwrite_file(&path, b"new", refuse),
        Err(WriteError::Refused("changed"))
    ));
    assert!(matches!(
        write_atomically(&folder.path().join("x/y/z"), b"new", None, refuse),
        Err(WriteError::Refused("changed"))
    ));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["a"]);
}

#[test]
fn a_new_file_never_replaces_one_that_appeared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let appear = |path: &Path| {
        fs::write(path, "other").unwrap();
        agree(path)
    };
    assert!(matches!(
        write_atomically(&path, b"new", None, appear),
        Err(WriteError::Appeared)
    ));
    assert_eq!(fs::read(&path).unwrap(), b"other");
    assert_eq!(names(folder.path()), ["a"]);
}

/// Taking the place of a file with several names would part them.
#[test]
fn hard_links_stay_together() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("a"), folder.path().join("b"));
    fs::write(&path, "a longer old text").unwrap();
    fs::hard_link(&path, &other).unwrap();
    overwrite_file(&path, b"new", agree).unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().nlink(), 2);
    assert_eq!(names(folder.path()), ["a", "b"]);
}

#[test]
fn a_failed_write_in_place_puts_the_old_bytes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, "old").unwrap();
    let metadata = fs::metadata(&path).unwrap();
    let previous = Previous {
        metadata: &metadata,
        bytes: b"old",
    };
    // A file that is not the one that was read is left alone.
    let other = folder.path().join("b");
    fs::write(&other, "other").unwrap();
    let target = OpenOptions::new().write(true).open(&other).unwrap();
    assert!(write_in_place(target, b"new", &previous).is_err());
    assert_eq!(fs::read(&other).unwrap(), b"other");
    // A file opened for reading refuses every write.
    let target = File::open(&path).unwrap();
    assert!(write_in_place(target, b"new", &previous).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

fn is_root() -> bool {
    let folder = tempfile::tempdir().unwrap();
    fs::metadata(folder.path()).unwrap().uid() == 0
}

#[test]
fn files_in_folders_without_write_permission_are_written_in_place() {
    if is_root() {
        println!("skipped: permissions do not bind root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o555)).unwrap();
    let written = overwrite_file(&path, b"new", agree);
    let new = write_atomically(&folder.path().join("b"), b"new", None, agree);
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    written.unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert!(matches!(new, Err(WriteError::Io(_))));
    assert_eq!(names(folder.path()), ["a"]);
}

#[test]
fn read_only_files_are_not_replaced() {
    if is_root() {
        println!("skipped: permissions do not bind root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    let error = overwrite_file(&path, b"new", agree);
    assert!(matches!(error, Err(WriteError::Io(_))), "{error:?}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["a"]);
}

/// Only root can give a file away, so only root can check that this is kept.
#[test]
fn another_owner_is_kept() {
    if !is_root() {
        println!("skipped: only root can give a file away");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, "old").unwrap();
    std::os::unix::fs::chown(&path, Some(12_345), Some(23_456)).unwrap();
    overwrite_file(&path, b"new", agree).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (12_345, 23_456));
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

/// Case 21: the name leads to another folder by now, which nobody was asked about.
#[cfg(target_os = "linux")]
#[test]
fn a_link_in_the_place_of_a_folder_leads_nowhere_else() {
    let root = tempfile::tempdir().unwrap();
    let (inside, outside) = (root.path().join("inside"), root.path().join("outside"));
    for folder in [&inside, &outside] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("a"), "old").unwrap();
    }
    let moved = root.path().join("moved");
    let swap = |_: &Path| {
        fs::rename(&inside, &moved).unwrap();
        std::os::unix::fs::symlink(&outside, &inside).unwrap();
        Ok(())
    };
    overwrite_file(&inside.join("a"), b"new", swap).unwrap();
    assert_eq!(fs::read(moved.join("a")).unwrap(), b"new");
    // Now the link is there before the write begins.
    assert!(overwrite_file(&inside.join("a"), b"new", agree).is_err());
    let new = write_atomically(&inside.join("b"), b"new", None, agree);
    assert!(matches!(new, Err(WriteError::Io(_))), "{new:?}");
    assert_eq!(fs::read(outside.join("a")).unwrap(), b"old");
    assert_eq!(names(&outside), ["a"]);
    assert_eq!(names(&moved), ["a"]);
}

#[test]
fn errors_do_not_name_the_temporary_file() {
    let folder = tempfile::tempdir().unwrap();
    let permissions = Permissions::from_mode(0o600);
    let missing = folder.path().join("missing");
    let error = super::temporary_file(&missing, permissions).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert_eq!(error.to_string(), "No such file or directory (os error 2)");
}

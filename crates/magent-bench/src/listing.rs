//! Listing many saved sessions.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use magent_ledger::SessionDirectory;
use magent_types::{Scope, SessionId};

use crate::Failure;
use crate::report::{Figure, median};
use crate::sessions;

const SESSIONS: usize = 3_000;
/// The length of one session's log, in bytes.
const HUGE: u64 = 400_000_000;

/// Lists sessions whose headers no cache has.
pub(crate) fn list() -> Result<Vec<Figure>, Failure> {
    let folder = tempfile::tempdir()?;
    let scope = Scope::Project("/home/nobody/project".into());
    let original = SessionId::new("bench-original");
    let directory = SessionDirectory::new(folder.path());
    sessions::write(&directory, &scope, &original, 1)?;
    let files = session_files(folder.path())?;
    for number in 1..SESSIONS {
        for file in &files {
            copy(file, original.as_str(), &format!("bench-{number:04}"))?;
        }
    }
    for file in &files {
        if file
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            // It takes no room on the disk, and whoever reads it finds out how long it is.
            fs::OpenOptions::new()
                .write(true)
                .open(file)?
                .set_len(HUGE)?;
        }
    }
    let mut cold = Vec::new();
    let mut warm = Vec::new();
    for _ in 0..3 {
        let directory = SessionDirectory::new(folder.path());
        for times in [&mut cold, &mut warm] {
            let begun = Instant::now();
            let listed = directory.list(&scope)?;
            times.push(begun.elapsed());
            let whole = listed.iter().filter(|session| session.damage.is_none());
            if whole.count() != SESSIONS {
                return Err(format!("{} of {SESSIONS} sessions were listed", listed.len()).into());
            }
        }
    }
    Ok(vec![
        Figure::within(
            format!("list {SESSIONS} sessions, one of 400 MB, cold"),
            median(cold),
            100.0,
        ),
        Figure::plain(format!("list {SESSIONS} sessions again"), median(warm)),
    ])
}

/// The files of the only session in a folder.
fn session_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(session_files(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

/// Copies a file of a session for another session.
fn copy(file: &Path, from: &str, to: &str) -> Result<(), Failure> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let text = fs::read_to_string(file)?;
    let copy = file.with_file_name(name.replace(from, to));
    fs::write(copy, text.replace(from, to))?;
    Ok(())
}

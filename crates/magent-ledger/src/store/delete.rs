//! Removing a session's files.

use std::fs;
use std::io;
use std::path::Path;

use super::files::sync_directory;
use super::list::entries_of;
use super::{SET_ASIDE, SessionFiles};
use crate::LedgerError;

/// Removes the files of a session, and logs of it that were found and set aside.
pub(super) fn delete(files: &SessionFiles) -> Result<(), LedgerError> {
    // The header goes first: what is left by a failure is not listed as a session.
    let old_header = files.kept_old_header();
    for file in [&files.header, &files.log, &files.snapshot, &old_header] {
        remove(file)?;
    }
    let set_aside = format!("{}{SET_ASIDE}", files.log.display());
    for file in entries_of(&files.directory)? {
        let name = file.to_string_lossy();
        let number = name.strip_prefix(&set_aside);
        if number.is_some_and(|number| number.parse::<u32>().is_ok()) {
            remove(&file)?;
        }
    }
    sync_directory(&files.directory).map_err(|error| LedgerError::io(&files.directory, error))
}

fn remove(path: &Path) -> Result<(), LedgerError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(LedgerError::io(path, error)),
        _ => Ok(()),
    }
}

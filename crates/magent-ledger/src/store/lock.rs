//! One live holder per session.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::files::{create_private_directory, is_same_file, open_private, open_regular};
use crate::LedgerError;

/// The right to write a session, given back when dropped.
///
/// The system frees the lock when the process ends, however it ends; the file that
/// is left then is taken over by the next holder.
#[derive(Debug)]
pub struct SessionLock {
    file: File,
    path: PathBuf,
}

/// How often a lock is tried again because its file was just removed by its last holder.
const ATTEMPTS: u32 = 16;

impl SessionLock {
    /// Takes the lock, or tells who has it.  `holder` is the text others will read.
    pub(crate) fn acquire(path: &Path, holder: &str) -> Result<Self, LedgerError> {
        if let Some(directory) = path.parent() {
            create_private_directory(directory)
                .map_err(|error| LedgerError::io(directory, error))?;
        }
        for _ in 0..ATTEMPTS {
            let mut file = open_private(path).map_err(|error| LedgerError::io(path, error))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(LedgerError::Locked {
                        holder: read_holder(path),
                    });
                }
                // A file system without locks: one Emacs is still safe, and refusing
                // to work there at all would help nobody.
                Err(TryLockError::Error(_)) => {}
            }
            if !is_same_file(&file, path) {
                continue;
            }
            let text = holder.lines().next().unwrap_or_default();
            file.set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| writeln!(file, "{text}"))
                .map_err(|error| LedgerError::io(path, error))?;
            return Ok(Self {
                file,
                path: path.to_owned(),
            });
        }
        Err(LedgerError::Locked {
            holder: read_holder(path),
        })
    }

    /// Who has the lock now, if somebody has.
    pub(crate) fn holder(path: &Path) -> Option<String> {
        let file = open_regular(OpenOptions::new().read(true), path).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(read_holder(path)),
            Ok(()) | Err(TryLockError::Error(_)) => None,
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // Removed while still locked, so that whoever opened the old file notices.  If it
        // was removed before, the file of that name is another's lock.
        if is_same_file(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

fn read_holder(path: &Path) -> String {
    let mut text = String::new();
    let read = open_regular(OpenOptions::new().read(true), path)
        .and_then(|file| file.take(400).read_to_string(&mut text));
    match (read, text.trim()) {
        (Ok(_), holder) if !holder.is_empty() => holder.to_owned(),
        _ => "another process".to_owned(),
    }
}

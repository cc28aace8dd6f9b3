//! Writing a file so that it has either its old or its new content.
//!
//! The new content goes to a temporary file in the same folder, which then takes
//! the place of the old file.  Three kinds of files are written in place instead,
//! because taking their place would lose what they are: files with more than one
//! hard link, files whose owner cannot be given to another file, and files in
//! folders that take no new entry.  A failed write in place puts the old bytes
//! back; only a crash in the middle of it can leave a mixture.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::anchored_folder::AnchoredFolder;

/// The file that is replaced.
#[derive(Debug)]
pub(crate) struct Previous<'a> {
    /// Its metadata.
    pub(crate) metadata: &'a Metadata,
    /// Its bytes, put back when a write in place fails.
    pub(crate) bytes: &'a [u8],
}

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError<E> {
    /// The last check before the write refused it.
    #[error("refused")]
    Refused(E),
    /// A new file was to be made, but one has appeared meanwhile.
    #[error("the file exists meanwhile")]
    Appeared,
    /// The system refuses.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Writes the file of a canonical path, a new one if there is no previous one.
///
/// `last_check` runs directly before the content becomes visible, when all slow
/// work is done, and can still refuse; it gets the name to look at.  On every failure the old content stays and
/// nothing is left behind.
pub(crate) fn write_atomically<E>(
    path: &Path,
    bytes: &[u8],
    previous: Option<&Previous<'_>>,
    last_check: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), WriteError<E>> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    };
    let Some(previous) = previous else {
        let made = make_folders(folder)?;
        let written = AnchoredFolder::open(folder)
            .map_err(WriteError::Io)
            .and_then(|folder| create(&folder.path().join(name), bytes, last_check));
        if written.is_err() {
            remove_folders(&made);
        }
        return written;
    };
    let anchor = AnchoredFolder::open(folder)?;
    let folder = anchor.path();
    let path = &folder.join(name);
    // A file without write permission could still be replaced, but whoever took
    // the permission away did not want that.
    let target = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    match replacement(folder, bytes, previous)? {
        Some(temporary) => {
            last_check(path).map_err(WriteError::Refused)?;
            temporary.persist(path).map_err(|error| error.error)?;
            sync_folder(folder);
            Ok(())
        }
        None => {
            last_check(path).map_err(WriteError::Refused)?;
            Ok(write_in_place(target, bytes, previous)?)
        }
    }
}

/// Makes a new file.
fn create<E>(
    path: &Path,
    bytes: &[u8],
    last_check: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), WriteError<E>> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    // The process's umask takes its bits from these.
    let mut temporary = temporary_file(folder, Permissions::from_mode(0o666))?;
    temporary.as_file_mut().write_all(bytes)?;
    temporary.as_file().sync_all()?;
    last_check(path).map_err(WriteError::Refused)?;
    temporary
        .persist_noclobber(path)
        .map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => WriteError::Appeared,
            _ => WriteError::Io(error.error),
        })?;
    sync_folder(folder);
    Ok(())
}

/// A temporary file that can take the place of the previous one, or `None` if
/// only a write in place keeps what that is.
fn replacement(
    folder: &Path,
    bytes: &[u8],
    previous: &Previous<'_>,
) -> io::Result<Option<NamedTempFile>> {
    if previous.metadata.nlink() > 1 {
        return Ok(None);
    }
    let mut temporary = match temporary_file(folder, Permissions::from_mode(0o600)) {
        Ok(temporary) => temporary,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        Err(error) => return Err(error),
    };
    let (uid, gid) = (previous.metadata.uid(), previous.metadata.gid());
    let own = temporary.as_file().metadata()?;
    if (own.uid() != uid || own.gid() != gid)
        && fchown(temporary.as_file(), Some(uid), Some(gid)).is_err()
    {
        return Ok(None);
    }
    temporary.as_file_mut().write_all(bytes)?;
    // A change of the owner takes some mode bits away, so the mode comes after it.
    let mode = previous.metadata.mode() & 0o7777;
    temporary
        .as_file()
        .set_permissions(Permissions::from_mode(mode))?;
    temporary.as_file().sync_all()?;
    Ok(Some(temporary))
}

fn temporary_file(folder: &Path, permissions: Permissions) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".magent-")
        .suffix(".tmp")
        .permissions(permissions)
        .tempfile_in(folder)
        .map_err(without_path)
}

/// The error without the name of the temporary file, which nobody else knows.
fn without_path(error: io::Error) -> io::Error {
    // The library wraps the system's error in one of its own and does not give it out.
    match error.to_string().split_once(" at path ") {
        Some((told, _)) => io::Error::new(error.kind(), told),
        None => error,
    }
}

fn write_in_place(mut target: File, bytes: &[u8], previous: &Previous<'_>) -> io::Result<()> {
    let opened = target.metadata()?;
    if (opened.dev(), opened.ino()) != (previous.metadata.dev(), previous.metadata.ino()) {
        return Err(io::Error::other(
            "it was replaced by another file meanwhile",
        ));
    }
    let written = overwrite(&mut target, bytes);
    if written.is_err() {
        // Its blocks are still allocated, so this works on a full disk, too.
        overwrite(&mut target, previous.bytes)?;
    }
    written
}

/// The length changes last, so that a failed write has given no blocks back.
fn overwrite(target: &mut File, bytes: &[u8]) -> io::Result<()> {
    target.seek(SeekFrom::Start(0))?;
    target.write_all(bytes)?;
    target.set_len(bytes.len() as u64)?;
    target.sync_all()
}

/// Makes the missing folders of a path, and returns them from the outermost on.
fn make_folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut names: Vec<OsString> = Vec::new();
    let mut present = folder.to_owned();
    while !present.exists() {
        let Some(name) = present.file_name() else {
            break;
        };
        names.push(name.to_owned());
        present.pop();
    }
    let mut made = Vec::new();
    for name in names.into_iter().rev() {
        present.push(name);
        match std::fs::create_dir(&present) {
            Ok(()) => made.push(present.clone()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                remove_folders(&made);
                return Err(error);
            }
        }
    }
    Ok(made)
}

/// Removes folders that were made for nothing; one that holds something by now
/// stays, since only an empty folder can be removed.
fn remove_folders(made: &[PathBuf]) {
    for folder in made.iter().rev() {
        let _ = std::fs::remove_dir(folder);
    }
}

/// Makes the rename durable.  The content is in its place already, so a file
/// system that cannot do this is no failure.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
#[path = "atomic_write_tests.rs"]
mod tests;

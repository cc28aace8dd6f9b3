//! The names of a session's files, and writing one so that it is whole or not there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What follows the name of a log that another program left in the place of ours, before
/// its number.
pub(crate) const SET_ASIDE: &str = ".found-";

/// The files of one session.
#[derive(Clone, Debug)]
pub(crate) struct SessionFiles {
    /// The folder of its scope.
    pub(crate) directory: PathBuf,
    /// What lists read.
    pub(crate) header: PathBuf,
    /// The events.
    pub(crate) log: PathBuf,
    /// The state at some event.
    pub(crate) snapshot: PathBuf,
    /// Who has the session live.
    pub(crate) lock: PathBuf,
}

impl SessionFiles {
    pub(crate) fn new(directory: PathBuf, id: &str) -> Self {
        let file = |extension: &str| directory.join(format!("{id}.{extension}"));
        Self {
            header: file("json"),
            log: file("jsonl"),
            snapshot: file("snapshot"),
            lock: file("lock"),
            directory,
        }
    }

    /// Where migration keeps a header of schema 6, which was the whole session.
    pub(crate) fn kept_old_header(&self) -> PathBuf {
        let mut path = self.header.as_os_str().to_owned();
        path.push(".v6");
        PathBuf::from(path)
    }
}

/// Reads a file.
pub(crate) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(OpenOptions::new().read(true), path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a file.  A FIFO or device in its place, which might never end, is an error.
pub(crate) fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        let problem = "it is no regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    Ok(file)
}

/// What tells one state of a file from another.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileState(Option<(u64, u64, u64, SystemTime)>);

impl FileState {
    /// The state of a file; that it is not there is one, too.
    pub(super) fn of(path: &Path) -> Self {
        let state = fs::metadata(path)
            .and_then(|found| Ok((found.dev(), found.ino(), found.len(), found.modified()?)));
        Self(state.ok())
    }
}

/// Whether the path still leads to this file.
pub(crate) fn is_same_file(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => open.ino() == named.ino() && open.dev() == named.dev(),
        _ => false,
    }
}

/// A digest as part of a file's name.
pub(crate) fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes a folder and its parents for the user alone.
pub(crate) fn create_private_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

/// Options for a file that only the user can read.
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Opens a file that only the user can read for reading and writing, made if it is not there.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    let options = &mut private_file();
    options.read(true).write(true).create(true).truncate(false);
    open_regular(options, path)
}

/// Replaces a file: after a crash there is the old text or the new one, never a part.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = PathBuf::from(temporary);
    let result = write_and_rename(&temporary, path, bytes);
    if result.is_err() {
        // The half-written copy is of no use; that it cannot be removed changes nothing.
        let _ = fs::remove_file(&temporary);
    }
    result?;
    sync_directory(directory)
}

fn write_and_rename(temporary: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    // What a crash left there is of no use, and a link must not be followed.
    match fs::remove_file(temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = private_file()
        .write(true)
        .create_new(true)
        .open(temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(temporary, path)
}

/// Makes a rename or a new file in a folder durable.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        // Some network file systems cannot sync a folder; the data itself is synced.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        result => result,
    }
}

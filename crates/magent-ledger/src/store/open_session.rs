//! The files of one session that is open for writing.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::files::{
    create_private_directory, is_same_file, open_private, replace_file, sync_directory,
};
use super::write_worker::Done;
use super::{LoadReport, SET_ASIDE, SessionFiles};
use crate::codec::encode_snapshot;
use crate::{SessionHeader, Snapshot};

/// Sizes that tell whether a checkpoint is due.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    pub(super) log_events: AtomicU64,
    pub(super) log_bytes: AtomicU64,
    pub(super) snapshot_bytes: AtomicU64,
}

impl Sizes {
    /// Those of a session that was loaded.
    pub(super) fn of(report: &LoadReport) -> Self {
        Self {
            log_events: report.log_events.into(),
            log_bytes: report.log_length.into(),
            snapshot_bytes: report.snapshot_length.into(),
        }
    }
}

/// A session as the thread knows it.
pub(super) struct OpenSession {
    files: SessionFiles,
    /// The state before the first event, until the files exist.
    first: Option<Snapshot>,
    log: Option<File>,
    /// The log's length up to its last whole line.
    good_length: u64,
    pending: Vec<u8>,
    pending_events: u64,
    header: SessionHeader,
    header_written: Option<String>,
    /// Why writing fails at present.
    pub(super) failing: Option<String>,
    /// Whether another program removed or changed the files.  Nothing more is written to
    /// what is left of them, until all is written again.
    pub(super) disturbed: bool,
    /// Who waits for that.
    pub(super) waiting: Vec<Done>,
    sizes: Arc<Sizes>,
}

/// Another program removed or changed the files of a session.
#[derive(Debug, thiserror::Error)]
#[error("another program removed or changed the files of the session")]
struct Disturbed;

/// Whether writing failed because of what another program did to the files.
pub(super) fn is_disturbed(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Disturbed>())
}

/// How many events a log keeps, for inspection, when a checkpoint cuts it down.
const KEPT_EVENTS: usize = 200;

impl OpenSession {
    /// A session whose log has whole lines up to `good_length`.  `first` is the state
    /// before its first event, if it was never saved.
    pub(super) fn new(
        files: SessionFiles,
        header: &SessionHeader,
        first: Option<Snapshot>,
        good_length: u64,
        sizes: Arc<Sizes>,
    ) -> Self {
        Self {
            files,
            first,
            log: None,
            good_length,
            pending: Vec::new(),
            pending_events: 0,
            header: header.clone(),
            header_written: None,
            failing: None,
            disturbed: false,
            waiting: Vec::new(),
            sizes,
        }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.files.directory
    }

    /// Takes lines that are to be written.
    pub(super) fn append(&mut self, lines: &[u8], events: u64) {
        self.pending.extend_from_slice(lines);
        self.pending_events += events;
    }

    /// Whether there are lines to write.
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Writes the lines that wait; `durable` forces all that was written to the disk.
    pub(super) fn write_pending(&mut self, durable: bool) -> io::Result<()> {
        if durable || self.disturbed {
            self.check()?;
        }
        if self.pending.is_empty() {
            return match (&self.log, durable) {
                (Some(log), true) => log.sync_data(),
                _ => Ok(()),
            };
        }
        let fresh = self.prepare()?;
        let good_length = self.good_length;
        let log = open_log(&mut self.log, &self.files.log)?;
        if let Err(error) = append_at(log, good_length, &self.pending) {
            if is_disturbed(&error) {
                self.disturbed = true;
            } else {
                // A part of a line may be there; the next attempt must not follow it.
                let _ = log.set_len(good_length);
            }
            return Err(error);
        }
        // The header must not outlive a power failure that the first lines do not.
        if durable || fresh {
            log.sync_data()?;
        }
        self.good_length += self.pending.len() as u64;
        self.sizes
            .log_bytes
            .store(self.good_length, Ordering::Relaxed);
        self.sizes
            .log_events
            .fetch_add(self.pending_events, Ordering::Relaxed);
        self.pending.clear();
        self.pending_events = 0;
        if fresh {
            // The header comes last: a session is listed once it can be loaded.
            self.first = None;
            self.write_header()?;
        }
        Ok(())
    }

    /// Finds out whether the files are still the ones that were written: synchronizing
    /// tools, restored backups and people replace and remove them.
    fn check(&mut self) -> io::Result<()> {
        if self.first.is_some() {
            return Ok(());
        }
        let files = &self.files;
        let is_whole = match (&self.log, fs::metadata(&files.log)) {
            (_, Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            (_, Err(_)) => false,
            (Some(log), Ok(_)) if !is_same_file(log, &files.log) => false,
            (_, Ok(found)) => found.len() >= self.good_length,
        };
        self.disturbed |= !is_whole || !files.header.exists() || !files.snapshot.exists();
        if self.disturbed {
            return Err(io::Error::other(Disturbed));
        }
        Ok(())
    }

    /// Writes everything again.  A log that is found is another program's and kept.
    pub(super) fn rewrite(&mut self, snapshot: &Snapshot, lines: &[u8]) -> io::Result<()> {
        create_private_directory(&self.files.directory)?;
        set_aside(&self.files.log)?;
        let text = encode_snapshot(snapshot).to_string();
        replace_file(&self.files.snapshot, text.as_bytes())?;
        replace_file(&self.files.log, lines)?;
        self.log = None;
        self.header_written = None;
        self.write_header()?;
        self.first = None;
        self.pending.clear();
        self.pending_events = 0;
        self.disturbed = false;
        self.kept(lines, text.len());
        Ok(())
    }

    /// Notes how large the log and the snapshot are now.
    fn kept(&mut self, log: &[u8], snapshot_length: usize) {
        self.good_length = log.len() as u64;
        let events = log.iter().filter(|byte| **byte == b'\n').count() as u64;
        let sizes = &self.sizes;
        sizes.log_events.store(events, Ordering::Relaxed);
        sizes.log_bytes.store(self.good_length, Ordering::Relaxed);
        let length = snapshot_length as u64;
        sizes.snapshot_bytes.store(length, Ordering::Relaxed);
    }

    /// Makes the folder and first snapshot of a session that was never saved.
    fn prepare(&mut self) -> io::Result<bool> {
        let Some(first) = &self.first else {
            return Ok(false);
        };
        create_private_directory(&self.files.directory)?;
        let text = encode_snapshot(first).to_string();
        replace_file(&self.files.snapshot, text.as_bytes())?;
        self.sizes
            .snapshot_bytes
            .store(text.len() as u64, Ordering::Relaxed);
        Ok(true)
    }

    /// Writes the header at once, or with the first event if nothing was saved yet.
    pub(super) fn replace_header(&mut self, header: SessionHeader) -> io::Result<()> {
        self.header = header;
        if self.first.is_some() {
            return Ok(());
        }
        self.write_header()
    }

    fn write_header(&mut self) -> io::Result<()> {
        let text = self.header.to_json().to_string();
        if self.header_written.as_deref() != Some(text.as_str()) {
            replace_file(&self.files.header, text.as_bytes())?;
            self.header_written = Some(text);
        }
        Ok(())
    }

    /// Writes a snapshot of all events so far and cuts the log down to a tail.
    /// First the snapshot, then the shorter log: a crash in between leaves events that
    /// the snapshot already includes, which loading skips.
    pub(super) fn checkpoint(&mut self, snapshot: &Snapshot) -> io::Result<()> {
        self.write_pending(true)?;
        if self.first.is_some() {
            return Ok(());
        }
        let text = encode_snapshot(snapshot).to_string();
        replace_file(&self.files.snapshot, text.as_bytes())?;
        let log = fs::read(&self.files.log)?;
        let tail = last_lines(&log, KEPT_EVENTS);
        replace_file(&self.files.log, tail)?;
        self.log = None;
        self.kept(tail, text.len());
        Ok(())
    }
}

fn open_log<'file>(log: &'file mut Option<File>, path: &Path) -> io::Result<&'file mut File> {
    if log.is_none() {
        let file = open_private(path)?;
        if let Some(directory) = path.parent() {
            sync_directory(directory)?;
        }
        *log = Some(file);
    }
    log.as_mut()
        .ok_or_else(|| io::Error::other("the log is not open"))
}

/// Gives a file that is to be replaced another name, unless there is nothing in it.
fn set_aside(path: &Path) -> io::Result<()> {
    if !fs::metadata(path).is_ok_and(|found| found.len() > 0) {
        return Ok(());
    }
    let mut number = 1;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("{SET_ASIDE}{number}"));
        if !fs::exists(&name)? {
            return fs::rename(path, name);
        }
        number += 1;
    }
}

/// Writes at the end of the last whole line, over what a crash may have left there.
fn append_at(log: &mut File, position: u64, bytes: &[u8]) -> io::Result<()> {
    use std::io::{Seek, SeekFrom};
    let length = log.metadata()?.len();
    if length < position {
        return Err(io::Error::other(Disturbed));
    }
    if length > position {
        log.set_len(position)?;
    }
    log.seek(SeekFrom::Start(position))?;
    log.write_all(bytes)
}

fn last_lines(bytes: &[u8], count: usize) -> &[u8] {
    let mut starts = bytes
        .iter()
        .enumerate()
        .rev()
        .filter(|(index, byte)| **byte == b'\n' && index + 1 < bytes.len())
        .map(|(index, _)| index + 1);
    match starts.nth(count.saturating_sub(1)) {
        Some(start) => &bytes[start..],
        None => bytes,
    }
}

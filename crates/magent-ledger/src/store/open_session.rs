//! The files of one session that is open for writing.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::files::{create_private_directory, private_file, replace_file, sync_directory};
use super::{LoadReport, SessionFiles};
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
    sizes: Arc<Sizes>,
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
            // A part of a line may be there; the next attempt must not follow it.
            let _ = log.set_len(good_length);
            return Err(error);
        }
        if durable {
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
        let log = std::fs::read(&self.files.log)?;
        let tail = last_lines(&log, KEPT_EVENTS);
        replace_file(&self.files.log, tail)?;
        self.log = None;
        self.good_length = tail.len() as u64;
        let kept = tail.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.sizes.log_events.store(kept, Ordering::Relaxed);
        self.sizes
            .log_bytes
            .store(self.good_length, Ordering::Relaxed);
        self.sizes
            .snapshot_bytes
            .store(text.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

fn open_log<'file>(log: &'file mut Option<File>, path: &Path) -> io::Result<&'file mut File> {
    if log.is_none() {
        let file = private_file()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        if let Some(directory) = path.parent() {
            sync_directory(directory)?;
        }
        *log = Some(file);
    }
    log.as_mut()
        .ok_or_else(|| io::Error::other("the log is not open"))
}

/// Writes at the end of the last whole line, over what a crash may have left there.
fn append_at(log: &mut File, position: u64, bytes: &[u8]) -> io::Result<()> {
    use std::io::{Seek, SeekFrom};
    if log.metadata()?.len() != position {
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

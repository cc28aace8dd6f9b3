//! Writing sessions on a thread of its own.
//!
//! Callers hand over events and go on; the thread appends them, makes them durable
//! when asked, replaces headers and takes checkpoints.  What could not be written
//! (a full disk) is kept in memory and tried again, so nothing is lost while the
//! process lives.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use magent_types::{Event, SessionId};

use super::files::{create_private_directory, private_file, replace_file, sync_directory};
use super::{LoadReport, SessionDirectory, SessionFiles};
use crate::codec::{encode_event, encode_snapshot};
use crate::{LedgerError, SessionHeader, Snapshot};

/// When checkpoints are taken.
#[derive(Clone, Copy, Debug)]
pub struct WriterSettings {
    /// Events in the log that make a checkpoint due; `None` is never.
    pub log_max_events: Option<u64>,
}

impl Default for WriterSettings {
    fn default() -> Self {
        Self {
            log_max_events: Some(2_000),
        }
    }
}

/// What became of a request to save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaveOutcome {
    /// It is on the disk.
    Saved,
    /// It is in memory only, for this reason; it will be tried again.
    Pending(String),
}

type Done = Box<dyn FnOnce(SaveOutcome) + Send>;
type ProblemReport = Box<dyn Fn(&SessionId, Option<&str>) + Send>;

enum Job {
    Append {
        id: SessionId,
        lines: Vec<u8>,
        events: u64,
        durable: bool,
        done: Option<Done>,
    },
    Header(SessionId, Box<SessionHeader>),
    Checkpoint(SessionId, Box<Snapshot>),
    Close(SessionId, Done),
    Stop,
    Open(SessionId, Box<OpenSession>),
}

/// How long a failed write waits before it is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The writing thread.
#[derive(Debug)]
pub struct StoreWriter {
    sender: Sender<Job>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Sizes that tell whether a checkpoint is due.
#[derive(Debug, Default)]
struct Sizes {
    log_events: AtomicU64,
    log_bytes: AtomicU64,
    snapshot_bytes: AtomicU64,
}

/// The way to write one session.
#[derive(Clone, Debug)]
pub struct SessionWriter {
    id: SessionId,
    sender: Sender<Job>,
    sizes: Arc<Sizes>,
}

impl StoreWriter {
    /// Starts the thread.  `report` is called on it with the reason when writing a
    /// session begins to fail, and with `None` when it works again.
    pub fn start(
        report: impl Fn(&SessionId, Option<&str>) + Send + 'static,
    ) -> Result<Self, LedgerError> {
        let (sender, receiver) = mpsc::channel();
        let report: ProblemReport = Box::new(report);
        let thread = std::thread::Builder::new()
            .name("magent-store".into())
            .spawn(move || Worker::new(report).run(&receiver))
            .map_err(|error| LedgerError::io("magent-store", error))?;
        Ok(Self {
            sender,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Opens a session for writing.  For a session that was never saved, `first` is
    /// the state before its first event; its files are made with the first append.
    pub fn open(
        &self,
        directory: &SessionDirectory,
        header: &SessionHeader,
        source: OpenFrom,
    ) -> SessionWriter {
        let sizes = Arc::new(Sizes::default());
        let (first, good_length) = match source {
            OpenFrom::Saved(report) => {
                sizes.log_events.store(report.log_events, Ordering::Relaxed);
                sizes.log_bytes.store(report.log_length, Ordering::Relaxed);
                sizes
                    .snapshot_bytes
                    .store(report.snapshot_length, Ordering::Relaxed);
                (None, report.log_length)
            }
            OpenFrom::New(snapshot) => (Some(*snapshot), 0),
        };
        let session = OpenSession {
            files: directory.files(&header.scope, &header.id),
            first,
            log: None,
            good_length,
            pending: Vec::new(),
            pending_events: 0,
            header: header.clone(),
            header_written: None,
            failing: None,
            sizes: Arc::clone(&sizes),
        };
        self.send(Job::Open(header.id.clone(), Box::new(session)));
        SessionWriter {
            id: header.id.clone(),
            sender: self.sender.clone(),
            sizes,
        }
    }

    /// Writes what is left and ends the thread, waiting at most `deadline`.
    /// Returns whether everything was written.
    pub fn stop(&self, deadline: Duration) -> bool {
        self.send(Job::Stop);
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(thread) = thread else { return true };
        let end = Instant::now() + deadline;
        while !thread.is_finished() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
        thread.is_finished() && thread.join().is_ok()
    }

    fn send(&self, job: Job) {
        // After the thread has ended there is nobody to tell.
        let _ = self.sender.send(job);
    }
}

/// What a session that is opened for writing starts from.
#[derive(Debug)]
pub enum OpenFrom {
    /// It was loaded; the report tells how long its log is.
    Saved(LoadReport),
    /// It was never saved; the state before its first event.
    New(Box<Snapshot>),
}

impl SessionWriter {
    /// Appends events.  When `durable`, they are forced to the disk; `done` is called
    /// on the writing thread once that is settled.
    pub fn append(
        &self,
        events: &[Arc<Event>],
        durable: bool,
        done: Option<Box<dyn FnOnce(SaveOutcome) + Send>>,
    ) {
        let mut lines = Vec::new();
        for event in events {
            lines.extend_from_slice(encode_event(event).to_string().as_bytes());
            lines.push(b'\n');
        }
        let job = Job::Append {
            id: self.id.clone(),
            lines,
            events: events.len() as u64,
            durable,
            done,
        };
        self.send(job);
    }

    /// Replaces the header, if its text changes.
    pub fn write_header(&self, header: SessionHeader) {
        self.send(Job::Header(self.id.clone(), Box::new(header)));
    }

    /// Writes a snapshot that includes every event handed over before, and cuts the
    /// log down to a tail.
    pub fn checkpoint(&self, snapshot: Snapshot) {
        self.send(Job::Checkpoint(self.id.clone(), Box::new(snapshot)));
    }

    /// Whether the log has grown so much that a checkpoint is worth it.  A log may
    /// grow with its session, so that the cost of checkpoints stays a fraction of
    /// the cost of the events themselves.
    pub fn checkpoint_due(&self, settings: WriterSettings) -> bool {
        let Some(most) = settings.log_max_events else {
            return false;
        };
        let snapshot = self.sizes.snapshot_bytes.load(Ordering::Relaxed);
        self.sizes.log_events.load(Ordering::Relaxed) >= most
            && self.sizes.log_bytes.load(Ordering::Relaxed) >= snapshot
    }

    /// Writes what is left and forgets the session.
    pub fn close(&self, done: impl FnOnce(SaveOutcome) + Send + 'static) {
        self.send(Job::Close(self.id.clone(), Box::new(done)));
    }

    fn send(&self, job: Job) {
        if let Err(mpsc::SendError(job)) = self.sender.send(job) {
            // The thread has ended with the process's shutdown; whoever waits must hear.
            let done = match job {
                Job::Append { done, .. } => done,
                Job::Close(_, done) => Some(done),
                _ => None,
            };
            if let Some(done) = done {
                done(SaveOutcome::Pending("the session store has stopped".into()));
            }
        }
    }
}

struct Worker {
    sessions: HashMap<SessionId, OpenSession>,
    report: ProblemReport,
}

impl Worker {
    fn new(report: ProblemReport) -> Self {
        Self {
            sessions: HashMap::new(),
            report,
        }
    }

    fn run(mut self, receiver: &Receiver<Job>) {
        loop {
            let waiting = self.sessions.values().any(OpenSession::has_pending);
            let job = if waiting {
                match receiver.recv_timeout(RETRY_AFTER) {
                    Ok(job) => job,
                    Err(RecvTimeoutError::Timeout) => {
                        self.retry();
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            } else {
                match receiver.recv() {
                    Ok(job) => job,
                    Err(_) => break,
                }
            };
            if matches!(job, Job::Stop) {
                break;
            }
            self.handle(job);
        }
        for (_, mut session) in self.sessions.drain() {
            // Nobody is left to hear of a failure here.
            let _ = session.write_pending(true);
        }
    }

    fn retry(&mut self) {
        let ids: Vec<SessionId> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.has_pending())
            .map(|(id, _)| id.clone())
            .collect();
        for id in ids {
            self.settle(&id, |session| session.write_pending(true));
        }
    }

    fn handle(&mut self, job: Job) {
        match job {
            Job::Open(id, session) => {
                self.sessions.insert(id, *session);
            }
            Job::Append {
                id,
                lines,
                events,
                durable,
                done,
            } => {
                let outcome = self.settle(&id, |session| {
                    session.pending.extend_from_slice(&lines);
                    session.pending_events += events;
                    session.write_pending(durable)
                });
                if let Some(done) = done {
                    done(outcome);
                }
            }
            Job::Header(id, header) => {
                self.settle(&id, |session| {
                    session.header = *header;
                    session.write_header_if_saved()
                });
            }
            Job::Checkpoint(id, snapshot) => {
                self.settle(&id, |session| session.checkpoint(&snapshot));
            }
            Job::Close(id, done) => {
                let outcome = self.settle(&id, |session| session.write_pending(true));
                self.sessions.remove(&id);
                done(outcome);
            }
            Job::Stop => {}
        }
    }

    /// Does something with a session and reports when failing begins or ends.
    fn settle(
        &mut self,
        id: &SessionId,
        work: impl FnOnce(&mut OpenSession) -> io::Result<()>,
    ) -> SaveOutcome {
        let Some(session) = self.sessions.get_mut(id) else {
            return SaveOutcome::Pending("the session is closed".into());
        };
        match work(session) {
            Ok(()) => {
                // A header that needs no writing yet proves nothing.
                if !session.has_pending() && session.failing.take().is_some() {
                    (self.report)(id, None);
                }
                SaveOutcome::Saved
            }
            Err(error) => {
                let problem = format!("{}: {error}", session.files.directory.display());
                if session.failing.as_deref() != Some(problem.as_str()) {
                    (self.report)(id, Some(&problem));
                    session.failing = Some(problem.clone());
                }
                SaveOutcome::Pending(problem)
            }
        }
    }
}

/// A session as the thread knows it.
struct OpenSession {
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
    failing: Option<String>,
    sizes: Arc<Sizes>,
}

/// How many events a log keeps, for inspection, when a checkpoint cuts it down.
const KEPT_EVENTS: usize = 200;

impl OpenSession {
    fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    fn write_pending(&mut self, durable: bool) -> io::Result<()> {
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

    fn write_header_if_saved(&mut self) -> io::Result<()> {
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

    /// First the snapshot, then the shorter log: a crash in between leaves events that
    /// the snapshot already includes, which loading skips.
    fn checkpoint(&mut self, snapshot: &Snapshot) -> io::Result<()> {
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

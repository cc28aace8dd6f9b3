//! Writing sessions on a thread of its own: what callers hold.
//!
//! Callers hand over events and go on; the thread appends them, makes them durable
//! when asked, replaces headers and takes checkpoints.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use magent_types::{Event, SessionId};

use super::open_session::{OpenSession, Sizes};
use super::write_worker::{Job, Worker};
use super::{LoadReport, SessionDirectory};
use crate::codec::encode_lines;
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

/// How writing a session goes, when that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageReport<'a> {
    /// It fails, for this reason.
    Fails(&'a str),
    /// Another program removed or changed the files; nothing is written before
    /// [`SessionWriter::rewrite`].
    Disturbed,
    /// All files were written again.
    Rewritten,
    /// It works again.
    Works,
}

/// The writing thread.
#[derive(Debug)]
pub struct StoreWriter {
    sender: Sender<Job>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The way to write one session.
#[derive(Clone, Debug)]
pub struct SessionWriter {
    id: SessionId,
    sender: Sender<Job>,
    sizes: Arc<Sizes>,
}

impl StoreWriter {
    /// Starts the thread, which calls `report`.
    pub fn start(
        report: impl Fn(&SessionId, StorageReport<'_>) + Send + 'static,
    ) -> Result<Self, LedgerError> {
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("magent-store".into())
            .spawn(move || Worker::new(Box::new(report)).run(&receiver))
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
        let (sizes, first, good_length) = match source {
            OpenFrom::Saved(report) => (Sizes::of(&report), None, report.log_length),
            OpenFrom::New(snapshot) => (Sizes::default(), Some(*snapshot), 0),
        };
        let sizes = Arc::new(sizes);
        let files = directory.files(&header.scope, &header.id);
        let session = OpenSession::new(files, header, first, good_length, Arc::clone(&sizes));
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
        let job = Job::Append {
            id: self.id.clone(),
            lines: encode_lines(events.iter().map(AsRef::as_ref)),
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

    /// Writes all files again, after another program removed or changed them.  The
    /// snapshot includes every event handed over before; `journal` has the newest of them.
    pub fn rewrite<'a>(
        &self,
        snapshot: Snapshot,
        journal: impl IntoIterator<Item = &'a Arc<Event>>,
    ) {
        let lines = encode_lines(journal.into_iter().map(AsRef::as_ref));
        self.send(Job::Rewrite(self.id.clone(), Box::new(snapshot), lines));
    }

    /// Tells why [`SessionWriter::rewrite`] is not called for now.
    pub fn cannot_rewrite(&self, problem: String) {
        self.send(Job::CannotRewrite(self.id.clone(), problem));
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

//! The thread that writes sessions.
//!
//! What could not be written (a full disk) is kept in memory and tried again, so nothing
//! is lost while the process lives.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use magent_types::SessionId;

use super::open_session::{OpenSession, is_disturbed};
use super::writer::{SaveOutcome, StorageReport};
use crate::{SessionHeader, Snapshot};

/// Hears what became of a request, on the thread.
pub(super) type Done = Box<dyn FnOnce(SaveOutcome) + Send>;
/// Hears how writing a session goes, when that changes.
pub(super) type ProblemReport = Box<dyn Fn(&SessionId, StorageReport<'_>) + Send>;

/// What the thread is asked to do.
pub(super) enum Job {
    Append {
        id: SessionId,
        lines: Vec<u8>,
        events: u64,
        durable: bool,
        done: Option<Done>,
    },
    Header(SessionId, Box<SessionHeader>),
    Checkpoint(SessionId, Box<Snapshot>),
    Rewrite(SessionId, Box<Snapshot>, Vec<u8>),
    CannotRewrite(SessionId, String),
    Close(SessionId, Done),
    Stop,
    Open(SessionId, Box<OpenSession>),
}

/// How long a failed write waits before it is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The thread's state.
pub(super) struct Worker {
    sessions: HashMap<SessionId, OpenSession>,
    report: ProblemReport,
}

impl Worker {
    pub(super) fn new(report: ProblemReport) -> Self {
        Self {
            sessions: HashMap::new(),
            report,
        }
    }

    /// Works until it is stopped or nobody is left to ask, then writes what is left.
    pub(super) fn run(mut self, receiver: &Receiver<Job>) {
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
                    session.append(&lines, events);
                    session.write_pending(durable)
                });
                match (done, self.sessions.get_mut(&id)) {
                    // It is not settled before all is written again.
                    (Some(done), Some(session)) if session.disturbed => session.waiting.push(done),
                    (Some(done), _) => done(outcome),
                    (None, _) => {}
                }
            }
            Job::Rewrite(id, snapshot, lines) => {
                let outcome = self.settle(&id, |session| session.rewrite(&snapshot, &lines));
                if outcome == SaveOutcome::Saved {
                    (self.report)(&id, StorageReport::Rewritten);
                }
                self.tell_waiting(&id, &outcome);
            }
            Job::CannotRewrite(id, problem) => {
                let outcome = self.settle(&id, |_| Err(io::Error::other(problem)));
                self.tell_waiting(&id, &outcome);
            }
            Job::Header(id, header) => {
                self.settle(&id, |session| session.replace_header(*header));
            }
            Job::Checkpoint(id, snapshot) => {
                self.settle(&id, |session| session.checkpoint(&snapshot));
            }
            Job::Close(id, done) => {
                let outcome = self.settle(&id, |session| session.write_pending(true));
                self.tell_waiting(&id, &outcome);
                self.sessions.remove(&id);
                done(outcome);
            }
            Job::Stop => {}
        }
    }

    fn tell_waiting(&mut self, id: &SessionId, outcome: &SaveOutcome) {
        if let Some(session) = self.sessions.get_mut(id) {
            for done in session.waiting.drain(..) {
                done(outcome.clone());
            }
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
                    (self.report)(id, StorageReport::Works);
                }
                SaveOutcome::Saved
            }
            Err(error) => {
                let problem = format!("{}: {error}", session.directory().display());
                if is_disturbed(&error) {
                    (self.report)(id, StorageReport::Disturbed);
                } else if session.failing.as_deref() != Some(problem.as_str()) {
                    (self.report)(id, StorageReport::Fails(&problem));
                    session.failing = Some(problem.clone());
                }
                SaveOutcome::Pending(problem)
            }
        }
    }
}

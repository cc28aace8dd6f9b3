//! The files of a live session: opening them, saving, writing them again, closing.
//!
//! Nothing here waits for the disk but [`Session::flush`].

use std::time::Duration;

use magent_ledger::{
    LedgerError, LoadReport, OpenFrom, SaveOutcome, SessionDirectory, StoreWriter, WriterSettings,
};
use tokio::sync::oneshot;

use crate::session::{Session, Writing, now};

impl Session {
    /// Makes sure that the session can be written: takes its lock and opens its files.
    /// Returns what is wrong with the lock, if anything; writing goes on regardless,
    /// and what cannot be written is kept and tried again.
    pub(crate) fn open_for_writing(
        &self,
        directory: &SessionDirectory,
        writer: &StoreWriter,
        holder: &str,
    ) -> Option<String> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let (source, lock) = match &mut state.writing {
            Writing::Open(..) => return None,
            Writing::Unsaved(first) => (OpenFrom::New(first.clone()), None),
            Writing::Loaded(report, lock) => (OpenFrom::Saved(*report), lock.take()),
        };
        let mut problem = None;
        let lock = lock.or_else(|| {
            directory
                .lock(&self.scope, &self.id, holder)
                .map_err(|error| problem = Some(error.to_string()))
                .ok()
        });
        let files = writer.open(directory, &state.header, source);
        state.writing = Writing::Open(files, lock);
        state.hand_over(false, None);
        problem
    }

    /// Forces everything recorded so far to the disk and waits for it, at most
    /// `deadline`.  Returns why it is not there, if it is not.
    pub(crate) async fn flush(&self, deadline: Duration) -> Option<String> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.state.lock();
            if !matches!(state.writing, Writing::Open(..)) {
                return None;
            }
            let done = Box::new(move |outcome| {
                // Nobody waits any more when the deadline has passed.
                let _ = sender.send(outcome);
            });
            state.hand_over(true, Some(done));
        }
        match tokio::time::timeout(deadline, receiver).await {
            Ok(Ok(SaveOutcome::Saved)) => None,
            Ok(Ok(SaveOutcome::Pending(problem))) => Some(problem),
            Ok(Err(_)) => Some("the session store has stopped".to_owned()),
            Err(_) => Some("the disk does not answer".to_owned()),
        }
    }

    /// Asks for everything recorded so far to be forced to the disk, without waiting.
    pub(crate) fn flush_later(&self) {
        self.state.lock().hand_over(true, None);
    }

    /// Takes a checkpoint if one is due.
    pub(crate) fn checkpoint_if_due(&self, settings: WriterSettings) {
        let state = self.state.lock();
        if let Writing::Open(writer, _) = &state.writing
            && writer.checkpoint_due(settings)
        {
            writer.checkpoint(state.ledger.snapshot(now()));
        }
    }

    /// Writes all files again, after another program removed or changed them, and takes
    /// the lock again, which may be gone with them.  If another Emacs has it by now, the
    /// files are that one's.
    pub(crate) fn rewrite(&self, directory: &SessionDirectory, holder: &str) {
        let mut state = self.state.lock();
        let state = &mut *state;
        if let Writing::Open(writer, lock) = &mut state.writing {
            *lock = None;
            match directory.lock(&self.scope, &self.id, holder) {
                Err(error @ LedgerError::Locked { .. }) => {
                    return writer.cannot_rewrite(error.to_string());
                }
                taken => *lock = taken.ok(),
            }
        }
        state.hand_over(false, None);
        if let Writing::Open(writer, _) = &state.writing {
            writer.rewrite(state.ledger.snapshot(now()), state.ledger.journal());
        }
    }

    /// Ends writing and gives the lock back once everything is on the disk, which
    /// `closed` tells.
    pub(crate) fn close(&self, closed: impl FnOnce() + Send + 'static) {
        let mut state = self.state.lock();
        state.hand_over(true, None);
        let report = LoadReport::default();
        let writing = std::mem::replace(&mut state.writing, Writing::Loaded(report, None));
        match writing {
            Writing::Open(writer, lock) => writer.close(move |_| {
                drop(lock);
                closed();
            }),
            Writing::Loaded(_, lock) => {
                drop(lock);
                closed();
            }
            Writing::Unsaved(_) => closed(),
        }
    }
}

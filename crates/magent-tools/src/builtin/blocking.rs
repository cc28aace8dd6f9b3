//! Work on the disk, away from the threads that drive everything else.
//!
//! This module owns how such work is stopped: a flag that the work looks at, set
//! when the call is cancelled and also when its future is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use magent_types::ToolError;
use tokio_util::sync::CancellationToken;

/// Tells blocking work that nobody waits for it any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Whether the work should end.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Asks the work to end.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// An error once the work should end.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        if self.is_set() {
            Err(ToolError::Cancelled)
        } else {
            Ok(())
        }
    }
}

/// Sets the flag when the future that waits for the work goes away.
struct SetOnDrop(StopFlag);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Runs work that changes nothing, on the disk or just long for a processor.  A cancel is answered at once; the work itself
/// ends when it next looks at its flag.
pub(crate) async fn read_in_background<T, F>(
    cancel: &CancellationToken,
    work: F,
) -> Result<T, ToolError>
where
    T: Send + 'static,
    F: FnOnce(&StopFlag) -> Result<T, ToolError> + Send + 'static,
{
    if cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    let stop = StopFlag::default();
    let _guard = SetOnDrop(stop.clone());
    let task = tokio::task::spawn_blocking(move || work(&stop));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ToolError::Cancelled),
        joined = task => joined.unwrap_or_else(|error| Err(broken(&error))),
    }
}

/// Runs work that changes a file.  A cancel asks the work to end and then waits
/// for it, so that "cancelled" never hides a change that was made after all.
pub(crate) async fn write_in_background<T, F>(
    cancel: &CancellationToken,
    work: F,
) -> Result<T, ToolError>
where
    T: Send + 'static,
    F: FnOnce(&StopFlag) -> Result<T, ToolError> + Send + 'static,
{
    if cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    let stop = StopFlag::default();
    let guard = SetOnDrop(stop.clone());
    let mut task = tokio::task::spawn_blocking(move || work(&stop));
    let joined = tokio::select! {
        biased;
        joined = &mut task => joined,
        () = cancel.cancelled() => {
            guard.0.set();
            task.await
        }
    };
    joined.unwrap_or_else(|error| Err(broken(&error)))
}

/// A panic in the work, or a runtime that shuts down.
fn broken(error: &tokio::task::JoinError) -> ToolError {
    if error.is_cancelled() {
        return ToolError::Cancelled;
    }
    ToolError::failed(
        "internal",
        "the tool failed unexpectedly; this is a bug in Magent, another call may work",
    )
}

#[cfg(test)]
#[path = "blocking_tests.rs"]
mod tests;

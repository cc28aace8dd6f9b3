//! The pipe that wakes Emacs.

use std::any::Any;
use std::io::{PipeWriter, Write};
use std::os::fd::AsRawFd;

use emacs::{Env, Result, Value};
use parking_lot::Mutex;

/// Wakes Emacs by one byte; the events themselves are fetched by Lisp.
pub(crate) struct PipeWaker(Mutex<PipeWriter>);

impl PipeWaker {
    /// Opens the writing end of a pipe process.
    pub(crate) fn open(env: &Env, process: Value<'_>) -> Result<Self> {
        // The crate returns an opaque writer; the concrete type is known, and through it
        // the descriptor.
        let channel: Box<dyn Any> = Box::new(env.open_channel(process)?);
        let writer = channel
            .downcast::<PipeWriter>()
            .map_err(|_| emacs::Error::msg("the channel is no pipe"))?;
        let descriptor = writer.as_raw_fd();
        // SAFETY: The descriptor is open for as long as the writer, and these calls only
        // change its flags: Emacs's children must not inherit it, and a full pipe must
        // not block a thread (one waiting byte wakes as well as many).
        unsafe {
            libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
            let flags = libc::fcntl(descriptor, libc::F_GETFL);
            libc::fcntl(descriptor, libc::F_SETFL, flags | libc::O_NONBLOCK);
        }
        Ok(Self(Mutex::new(*writer)))
    }

    /// Wakes Emacs.  That the pipe is full, or gone with its process, is no error.
    pub(crate) fn wake(&self) {
        let _ = self.0.lock().write(b"!");
    }
}

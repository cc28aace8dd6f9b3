//! What concerns the whole process: signals, threads, child processes.

use std::fs::File;
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use magent_types::{Failure, FailureKind};
use tokio::signal::unix::{SignalKind, signal};

/// Batch Emacs dies of a write to a pipe that nobody reads; interactive Emacs ignores the
/// signal.  This does in batch what Emacs itself does otherwise.  Child processes start
/// with the default again, because the standard library sees to it.
pub(crate) fn ignore_sigpipe() {
    // SAFETY: `signal` is called with a valid signal number and the constants the C
    // library defines for this; no handler of ours is installed.
    unsafe {
        let before = libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        if before != libc::SIG_DFL {
            libc::signal(libc::SIGPIPE, before);
        }
    }
}

/// Signals are Emacs's business and are handled on its main thread only.
pub(crate) fn block_signals() {
    // SAFETY: The set is initialized by `sigfillset` before it is used, and only the
    // calling thread's mask changes.  Signals of the thread's own faults stay unblocked.
    unsafe {
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(set.as_mut_ptr());
        let mut set = set.assume_init();
        for signal in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGABRT,
            libc::SIGTRAP,
            libc::SIGSYS,
        ] {
            libc::sigdelset(&raw mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Starts a thread for work that may wait for the outside as long as it likes.
pub(crate) fn start_thread(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<std::thread::JoinHandle<()>, Failure> {
    let work = move || {
        block_signals();
        work();
    };
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| {
            let message = format!("A thread cannot be started: {error}.");
            Failure::new(FailureKind::Internal, "threads", message)
        })
}

/// How many interrupts are left to Lisp; the next one ends the process whatever it does.
const INTERRUPTS_FOR_LISP: usize = 2;
/// The status that shells give to a command that an interrupt ended.
const INTERRUPTED_STATUS: libc::c_int = 130;

/// Calls `interrupted` at every interrupt, until somebody must want the process to end
/// and Lisp is in no state to do it.
pub(crate) async fn watch_interrupts(interrupted: impl Fn() + Send) {
    // The handler that is there would be called as well, and Emacs's ends the process.
    // SAFETY: `signal` is called with a valid signal number and a constant.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
    }
    let Ok(mut interrupts) = signal(SignalKind::interrupt()) else {
        // SAFETY: As above.  An interrupt ends Emacs then.
        unsafe {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
        }
        return;
    };
    for _ in 0..INTERRUPTS_FOR_LISP {
        if interrupts.recv().await.is_none() {
            return;
        }
        interrupted();
    }
    if interrupts.recv().await.is_some() {
        // SAFETY: The call does not return, and nothing of this process runs after it.
        unsafe {
            libc::_exit(INTERRUPTED_STATUS);
        }
    }
}

/// Takes over a descriptor that this process was started with, if it is open; programs
/// that are started later do not get it.
pub(crate) fn take_descriptor(descriptor: RawFd) -> Option<File> {
    // SAFETY: `fcntl` checks the descriptor itself and changes nothing but its flag.  Only
    // the one who started the process can have named it, for this use alone.
    unsafe {
        if libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) == -1 {
            return None;
        }
        Some(File::from_raw_fd(descriptor))
    }
}

/// Gives a child process a session of its own: it cannot reach the terminal that Emacs
/// draws on, so a password prompt fails at once instead of garbling the screen.  And it
/// gets signals as in a terminal: our threads block them all, Emacs ignores some, and a
/// child would inherit both.  Emacs and whoever started it may have left descriptors open
/// that a child has no business with, and that a server in the background would hold.
pub(crate) fn start_afresh(command: &mut Command) {
    // SAFETY: The closure runs between fork and exec and calls only functions that are
    // async-signal-safe; the set is initialized by `sigemptyset` before it is used.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            for signal in [
                libc::SIGPIPE,
                libc::SIGINT,
                libc::SIGQUIT,
                libc::SIGHUP,
                libc::SIGTERM,
                libc::SIGTSTP,
                libc::SIGTTIN,
                libc::SIGTTOU,
                libc::SIGCHLD,
                libc::SIGPROF,
                libc::SIGALRM,
                libc::SIGUSR1,
                libc::SIGUSR2,
            ] {
                libc::signal(signal, libc::SIG_DFL);
            }
            let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
            close_inherited();
            Ok(())
        });
    }
}

/// Lets `exec` close every descriptor beyond the standard three.
#[cfg(target_os = "linux")]
fn close_inherited() {
    // Before Linux 5.11 this fails and they stay open, as they do for Emacs's children.
    // SAFETY: The call touches no memory, and marks descriptors of this child alone.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}

#[cfg(not(target_os = "linux"))]
fn close_inherited() {}

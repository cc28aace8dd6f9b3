//! A shell command as a process group of its own.
//!
//! This module owns the group's life: however a call ends, no process of the group
//! outlives it.  What its output means is the business of the tool.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use crate::ProcessSetup;

/// How long a group may take to end by itself when its time is up.
const TIMEOUT_GRACE: Duration = Duration::from_millis(200);

/// The same when the user waits for the cancel; enough to remove a lock file.
const CANCEL_GRACE: Duration = Duration::from_millis(50);

/// How long output is read after the end of the shell.  All that the group wrote is
/// in the pipe by then; only a process that left the group keeps the pipe open.
const DRAIN: Duration = Duration::from_millis(100);

/// What pagers and prompts must find, so that no command waits for a person.
const FIXED_ENVIRONMENT: [(&str, &str); 6] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By itself.
    Exited(ExitStatus),
    /// Its time was up.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
}

/// What a command finds around it, from Emacs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// The whole environment; `None` is this process's own.
    pub(crate) environment: Option<Arc<[(String, String)]>>,
    /// How the process is prepared.
    pub(crate) setup: Option<ProcessSetup>,
}

/// A running command.  Dropping it kills the whole group.
#[derive(Debug)]
pub(crate) struct ShellProcess {
    // Dropped first: as long as the shell is not reaped, its id is its own.
    group: ProcessGroup,
    child: Child,
    output: pipe::Receiver,
}

impl ShellProcess {
    /// Starts `PROGRAM -o pipefail -c COMMAND` in a folder.  Must be called within
    /// a runtime; blocks until the program runs.
    pub(crate) fn start(
        program: &OsStr,
        command: &str,
        folder: &Path,
        surroundings: &Surroundings,
    ) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let mut shell = std::process::Command::new(program);
        if let Some(variables) = &surroundings.environment {
            let variables = variables.iter().map(|(name, value)| (name, value));
            shell.env_clear().envs(variables);
        }
        shell
            .args(["-o", "pipefail", "-c", command])
            .current_dir(folder)
            .env_remove("BASH_ENV")
            .envs(FIXED_ENVIRONMENT)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        match surroundings.setup {
            // A session of its own makes the shell the leader of a group, too.
            Some(setup) => setup(&mut shell),
            None => {
                shell.process_group(0);
            }
        }
        let mut shell = Command::from(shell);
        let child = shell.kill_on_drop(true).spawn()?;
        // The builder holds the writing ends, and while they are open here the
        // pipe never ends.
        drop(shell);
        let group = ProcessGroup::led_by(&child);
        let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
        Ok(Self {
            group,
            child,
            output,
        })
    }

    /// Waits for the end of the command, or brings it about when the time is up or
    /// the call is cancelled.  Hands all output to `sink` as it comes.
    pub(crate) async fn supervise(
        mut self,
        timeout: Duration,
        cancel: &CancellationToken,
        sink: &mut (dyn FnMut(&[u8]) + Send),
    ) -> io::Result<Ending> {
        let interrupted = async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Ending::Cancelled,
                () = tokio::time::sleep(timeout) => Ending::TimedOut,
            }
        };
        let ending = match self.run_until(interrupted, sink).await? {
            Pumped::Exited(status) => Ending::Exited(status),
            Pumped::Interrupted(ending) => ending,
        };
        if !matches!(ending, Ending::Exited(_)) {
            let grace = match ending {
                Ending::Cancelled => CANCEL_GRACE,
                _ => TIMEOUT_GRACE,
            };
            self.group.signal(Signal::SIGTERM);
            self.run_until(tokio::time::sleep(grace), sink).await?;
        }
        // Children in the background end with the call.
        self.group.kill();
        if ending != Ending::Cancelled {
            self.drain(sink).await;
        }
        // After the kill this takes no time, unless the kernel itself is stuck; the
        // rest is then left to the runtime.
        let _ = tokio::time::timeout(DRAIN, self.child.wait()).await;
        Ok(ending)
    }

    /// Passes output on until the shell exits or the other future is done.
    async fn run_until<T>(
        &mut self,
        other: impl Future<Output = T>,
        sink: &mut (dyn FnMut(&[u8]) + Send),
    ) -> io::Result<Pumped<T>> {
        let mut buffer = vec![0; 64 * 1024];
        let mut open = true;
        tokio::pin!(other);
        loop {
            tokio::select! {
                // Looked at in this order, so that endless output delays no cancel.
                biased;
                done = &mut other => return Ok(Pumped::Interrupted(done)),
                status = self.child.wait() => return Ok(Pumped::Exited(status?)),
                read = self.output.read(&mut buffer), if open => match read {
                    // A command may close its output and go on.
                    Ok(0) | Err(_) => open = false,
                    Ok(count) => sink(&buffer[..count]),
                },
            }
        }
    }

    /// Passes on what is still in the pipe.
    async fn drain(&mut self, sink: &mut (dyn FnMut(&[u8]) + Send)) {
        let mut buffer = vec![0; 64 * 1024];
        let rest = async {
            while let Ok(count) = self.output.read(&mut buffer).await
                && count > 0
            {
                sink(&buffer[..count]);
            }
        };
        let _ = tokio::time::timeout(DRAIN, rest).await;
    }
}

enum Pumped<T> {
    Exited(ExitStatus),
    Interrupted(T),
}

/// A process group that is killed when this is dropped.
#[derive(Debug)]
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn led_by(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.map(Pid::from_raw))
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // The group may be gone already.
            let _ = killpg(group, signal);
        }
    }

    /// Kills what is left.  Only once: later the id may belong to somebody else.
    fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
        self.0 = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
#[path = "shell_process_tests.rs"]
mod tests;

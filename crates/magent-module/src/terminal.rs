//! Standard input and output for batch Emacs, whose own way to read makes everything
//! else wait, and whose own way to write tells no failure before it ends.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use magent_types::Failure;
use serde_json::json;

use crate::core::Core;
use crate::outbox::Event;
use crate::process::start_thread;

/// The longest answer; what comes after it belongs to no question.
const LONGEST_LINE: usize = 4_096;

/// How long to wait for a reader that does not keep up with a pipe that nobody waits for.
const FULL_PIPE: Duration = Duration::from_millis(5);

/// Writes to standard output and returns why that failed, `closed` if nobody reads it.
pub(crate) fn print(bytes: &[u8]) -> Option<String> {
    // The library's own handle hides that there is no standard output.
    let written = io::stdout()
        .as_fd()
        .try_clone_to_owned()
        .and_then(|output| write_all(&mut File::from(output), bytes));
    match written {
        Ok(()) => None,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Some("closed".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

fn write_all(output: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match output.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(FULL_PIPE),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads a line on a thread of its own and returns the number of the reply that will hold
/// it.
pub(crate) fn read_line(core: &'static Core) -> Result<u64, Failure> {
    // SAFETY: The call touches no memory, and fails where there is no terminal.
    unsafe {
        libc::tcflush(libc::STDIN_FILENO, libc::TCIFLUSH);
    }
    let id = core.fresh();
    start_thread("magent-terminal", move || {
        let line = line_of(&mut io::stdin().lock());
        core.outbox.push(Event::Reply {
            id,
            result: Ok(json!({ "line": line }).to_string()),
        });
    })?;
    Ok(id)
}

/// The next line without its end, or none at the end of the input.
fn line_of(input: &mut impl Read) -> Option<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match input.read(&mut byte) {
            Ok(1) if byte[0] != b'\n' => line.push(byte[0]),
            Ok(1) => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            _ if line.is_empty() => return None,
            _ => break,
        }
        if line.len() == LONGEST_LINE {
            break;
        }
    }
    Some(String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind, Write};

    use super::{line_of, write_all};

    /// Takes two bytes at a time, once it has failed as it is told to.
    struct Slow(Vec<u8>, Vec<ErrorKind>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(kind) = self.1.pop() {
                return Err(kind.into());
            }
            let count = bytes.len().min(2);
            self.0.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn everything_is_written_or_the_failure_told() {
        let mut output = Slow(
            Vec::new(),
            vec![ErrorKind::WouldBlock, ErrorKind::Interrupted],
        );
        write_all(&mut output, b"answer").unwrap();
        assert_eq!(output.0, b"answer");
        output.1.push(ErrorKind::BrokenPipe);
        let error = write_all(&mut output, b"more").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }

    #[test]
    fn lines_are_taken_one_by_one_up_to_the_end() {
        let mut input = "yes\n\n\u{6f22}".as_bytes();
        let lines: Vec<_> = std::iter::from_fn(|| line_of(&mut input)).collect();
        assert_eq!(lines, ["yes", "", "\u{6f22}"]);
        assert_eq!(line_of(&mut &b"\xff\n"[..]).as_deref(), Some("\u{fffd}"));
    }
}

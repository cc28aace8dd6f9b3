//! Answers of somebody at a terminal, for batch Emacs, whose own way to read them makes
//! everything else wait.

use std::io::Read;

use magent_types::Failure;
use serde_json::json;

use crate::core::Core;
use crate::outbox::Event;
use crate::process::start_thread;

/// The longest answer; what comes after it belongs to no question.
const LONGEST_LINE: usize = 4_096;

/// Reads a line on a thread of its own and returns the number of the reply that will hold
/// it.
pub(crate) fn read_line(core: &'static Core) -> Result<u64, Failure> {
    // SAFETY: The call touches no memory, and fails where there is no terminal.
    unsafe {
        libc::tcflush(libc::STDIN_FILENO, libc::TCIFLUSH);
    }
    let id = core.fresh();
    start_thread("magent-terminal", move || {
        let line = line_of(&mut std::io::stdin().lock());
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
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
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
    use super::line_of;

    #[test]
    fn lines_are_taken_one_by_one_up_to_the_end() {
        let mut input = "yes\n\n\u{6f22}".as_bytes();
        let lines: Vec<_> = std::iter::from_fn(|| line_of(&mut input)).collect();
        assert_eq!(lines, ["yes", "", "\u{6f22}"]);
        assert_eq!(line_of(&mut &b"\xff\n"[..]).as_deref(), Some("\u{fffd}"));
    }
}

//! ACP over standard input and output, for clients that start Magent as a program.

use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use magent_acp::{LineSink, Pace};
use magent_runtime::RuntimeConfig;
use magent_types::Failure;
use parking_lot::Mutex;

use crate::core::{Core, outbox};
use crate::outbox::Event;
use crate::process::{start_thread, take_descriptor};

/// Programs draw on their own; they get frames as often as a quick screen.
const FRAME: Duration = Duration::from_millis(40);

/// Writes lines on a thread of its own: a client that does not read must not hold up
/// the runtime.
struct OutputSink(Mutex<Sender<Vec<String>>>);

impl LineSink for OutputSink {
    fn send(&self, lines: Vec<String>) -> bool {
        self.0.lock().send(lines).is_ok()
    }

    fn notice(&self, _text: &str) -> bool {
        false
    }

    fn pace(&self) -> Pace {
        Pace { frame: FRAME }
    }
}

/// Serves a client on standard input and output.  When its input ends, its turns are
/// cancelled and Lisp is told, after what was written has reached it.
pub(crate) fn serve(core: &'static Core, config: Arc<RuntimeConfig>) -> Result<u64, Failure> {
    let (input, mut out) = streams();
    let (sender, lines) = mpsc::channel::<Vec<String>>();
    let writer = start_thread("magent-stdout", move || {
        for batch in lines {
            let mut text = batch.join("\n");
            text.push('\n');
            if out
                .write_all(text.as_bytes())
                .and_then(|()| out.flush())
                .is_err()
            {
                // The client has closed its end, which its input will tell, too.
                return;
            }
        }
    })?;
    let id = core.fresh();
    let connection = core.open(id, config, Arc::new(OutputSink(Mutex::new(sender))));
    start_thread("magent-stdin", move || {
        for line in input.split(b'\n') {
            let Ok(line) = line else { break };
            connection.receive(&String::from_utf8_lossy(&line));
        }
        drop(connection);
        core.end(id);
        // The connection's tasks hold the sender; when the last one ends, so does the
        // writer, and everything has been written.
        let end = std::time::Instant::now() + Duration::from_secs(1);
        while !writer.is_finished() && std::time::Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        outbox().push(Event::StdioClosed);
    })?;
    Ok(id)
}

/// The client's input and output.
///
/// `bin/magent` moves them away from standard input and output, so that Lisp that prints
/// or reads in batch Emacs neither writes between the lines nor takes one of them, and
/// names the two descriptors in MAGENT_STDIO.
fn streams() -> (Box<dyn BufRead + Send>, Box<dyn Write + Send>) {
    let named = std::env::var("MAGENT_STDIO").unwrap_or_default();
    let moved = named.split_once(' ').and_then(|(input, output)| {
        let input = take_descriptor(input.parse().ok()?)?;
        let output = take_descriptor(output.parse().ok()?)?;
        Some((input, output))
    });
    match moved {
        Some((input, output)) => (Box::new(BufReader::new(input)), Box::new(output)),
        None => (
            Box::new(BufReader::new(std::io::stdin())),
            Box::new(std::io::stdout()),
        ),
    }
}

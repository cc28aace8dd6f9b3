//! Output of a running call, on its way to the screen.

use std::sync::Arc;
use std::time::Duration;

use magent_tools::{LiveOutput, clip_lines};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// How often the screen gets more.  Drawing costs a user interface far more than
/// sending does.
const FRAME: Duration = Duration::from_millis(100);
/// How much of a call's output is shown while it runs; the whole of it goes to the
/// model and to the spill store.
const SHOWN_LIMIT: usize = 48 * 1024;
/// Longer lines freeze displays.
const LINE_LIMIT: usize = 400;
/// How much may wait for the next frame.
const WAITING_LIMIT: usize = 256 * 1024;

#[derive(Default)]
struct Buffer {
    waiting: String,
    shown: usize,
    omitted: usize,
    closed: bool,
}

/// Collects what a call puts out and passes it on in frames, up to a limit.
#[derive(Clone)]
pub(crate) struct LiveRelay {
    buffer: Arc<Mutex<Buffer>>,
    wake: Arc<Notify>,
}

impl LiveRelay {
    /// Starts a relay that shows text with `show`, which must not block.
    pub(crate) fn start(show: impl Fn(String) + Send + 'static) -> Self {
        let relay = Self {
            buffer: Arc::default(),
            wake: Arc::default(),
        };
        let task = relay.clone();
        tokio::spawn(async move {
            while let Some(text) = task.next_frame().await {
                if !text.is_empty() {
                    show(text);
                }
                tokio::time::sleep(FRAME).await;
            }
        });
        relay
    }

    /// Ends the relay and returns what was not shown yet, so that it can be shown
    /// before the call's end is.
    pub(crate) fn finish(&self) -> String {
        let mut buffer = self.buffer.lock();
        buffer.closed = true;
        let mut text = take(&mut buffer);
        if buffer.omitted > 0 {
            let omitted = buffer.omitted;
            text.push_str(&format!(
                "\n[{omitted} more bytes of output are not shown here]\n"
            ));
        }
        drop(buffer);
        self.wake.notify_one();
        text
    }

    async fn next_frame(&self) -> Option<String> {
        loop {
            let wait = self.wake.notified();
            {
                let mut buffer = self.buffer.lock();
                if buffer.closed {
                    return None;
                }
                if !buffer.waiting.is_empty() {
                    return Some(take(&mut buffer));
                }
            }
            wait.await;
        }
    }
}

impl LiveOutput for LiveRelay {
    fn write(&self, text: &str) {
        let mut buffer = self.buffer.lock();
        if buffer.waiting.len() + text.len() > WAITING_LIMIT {
            buffer.omitted += text.len();
            return;
        }
        buffer.waiting.push_str(text);
        drop(buffer);
        self.wake.notify_one();
    }
}

fn take(buffer: &mut Buffer) -> String {
    let waiting = std::mem::take(&mut buffer.waiting);
    let room = SHOWN_LIMIT.saturating_sub(buffer.shown);
    if room == 0 {
        buffer.omitted += waiting.len();
        return String::new();
    }
    let mut text = clip_lines(&strip_controls(&waiting), LINE_LIMIT);
    if text.len() > room {
        let mut end = room;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        buffer.omitted += text.len() - end;
        text.truncate(end);
    }
    buffer.shown += text.len();
    text
}

/// Takes terminal control sequences out: a text display can only show them as noise.
/// A carriage return that redraws a line (progress bars) becomes a new line.
pub(crate) fn strip_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_sequence(&mut characters),
            '\r' => {
                if characters.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\n' | '\t' => out.push(character),
            '\u{8}' => {
                out.pop();
            }
            character if character.is_control() => {}
            character => out.push(character),
        }
    }
    out
}

/// Skips the rest of an escape sequence: CSI up to its final byte, OSC up to its
/// terminator, anything else one character.
fn skip_sequence(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match characters.next() {
        Some('[') => {
            for character in characters.by_ref() {
                if ('\u{40}'..='\u{7e}').contains(&character) {
                    break;
                }
            }
        }
        Some(']') => {
            while let Some(character) = characters.next() {
                if character == '\u{7}' {
                    break;
                }
                if character == '\u{1b}' {
                    characters.next();
                    break;
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_gone_and_text_stays() {
        assert_eq!(strip_controls("\u{1b}[31mred\u{1b}[0m 漢"), "red 漢");
        assert_eq!(
            strip_controls("\u{1b}]0;title\u{7}a\u{1b}]8;;x\u{1b}\\b"),
            "ab"
        );
        assert_eq!(strip_controls("10%\r20%\r\ndone\n"), "10%\n20%\ndone\n");
        assert_eq!(strip_controls("ab\u{8}c\u{0}\u{1b}"), "ac");
    }

    #[tokio::test]
    async fn a_flood_is_shown_in_part_and_said_so() {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&shown);
        let relay = LiveRelay::start(move |text| log.lock().push(text));
        for _ in 0..2_000 {
            relay.write(&"x".repeat(10_000));
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
        let rest = relay.finish();
        let total: usize = shown.lock().iter().map(String::len).sum();
        assert!(total + rest.len() < SHOWN_LIMIT + 200);
        assert!(shown.lock().len() <= 2);
        assert!(
            rest.contains("more bytes of output are not shown"),
            "{rest}"
        );
        assert!(
            shown
                .lock()
                .iter()
                .flat_map(|text| text.lines())
                .all(|line| line.chars().count() < LINE_LIMIT + 80)
        );
    }

    #[tokio::test]
    async fn what_waits_at_the_end_is_given_back() {
        let relay = LiveRelay::start(|_| {});
        assert_eq!(relay.finish(), "");
        let relay = LiveRelay::start(|_| {});
        relay.write("tail");
        assert_eq!(relay.finish(), "tail");
    }
}

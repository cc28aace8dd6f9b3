//! Output of a running call, on its way to the screen.

use std::sync::Arc;
use std::time::Duration;

use magent_tools::{LiveOutput, clip_lines};
use magent_types::strip_controls;
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
/// How much of the end is shown, once more than the limit has come: that is where a
/// build or a test run says how it went.
const TAIL_LIMIT: usize = 8 * 1024;
/// Longer control sequences are not waited for.
const SEQUENCE_LIMIT: usize = 256;

#[derive(Default)]
struct Buffer {
    waiting: String,
    shown: usize,
    /// What came after the limit: its end, and how many bytes came before that.
    tail: String,
    omitted: usize,
    closed: bool,
}

impl Buffer {
    fn write(&mut self, text: &str) {
        if self.shown + self.waiting.len() < SHOWN_LIMIT {
            self.waiting.push_str(text);
        } else {
            self.keep_tail(text);
        }
    }

    fn keep_tail(&mut self, text: &str) {
        self.tail.push_str(text);
        // Cut seldom: every cut moves the rest.
        if self.tail.len() > 2 * TAIL_LIMIT {
            self.cut_tail();
        }
    }

    fn cut_tail(&mut self) {
        let mut start = self.tail.len().saturating_sub(TAIL_LIMIT);
        while !self.tail.is_char_boundary(start) {
            start += 1;
        }
        self.omitted += start;
        self.tail.drain(..start);
    }

    /// What is shown with the next frame.  The beginning of a control sequence waits for
    /// its end, unless this is the `last` frame.
    fn take(&mut self, last: bool) -> String {
        let end = if last {
            self.waiting.len()
        } else {
            whole_sequences(&self.waiting)
        };
        let rest = self.waiting.split_off(end);
        let text = std::mem::replace(&mut self.waiting, rest);
        let mut text = clip_lines(&strip_controls(&text), LINE_LIMIT);
        let room = SHOWN_LIMIT.saturating_sub(self.shown);
        if text.len() > room {
            let mut end = room;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            // It came before whatever is kept as the end already.
            let cut = text.split_off(end);
            self.tail.insert_str(0, &cut);
        }
        self.shown += text.len();
        text
    }

    /// What is shown last.
    fn take_rest(&mut self) -> String {
        let mut text = self.take(true);
        if self.tail.len() > TAIL_LIMIT {
            self.cut_tail();
        }
        if self.omitted > 0 {
            let omitted = self.omitted;
            text.push_str(&format!(
                "\n[{omitted} bytes of output are not shown here]\n"
            ));
        }
        let tail = std::mem::take(&mut self.tail);
        text.push_str(&clip_lines(&strip_controls(&tail), LINE_LIMIT));
        text
    }
}

/// How much of a text does not end within a control sequence, or between the two
/// characters that end a line.
fn whole_sequences(text: &str) -> usize {
    if text.ends_with('\r') {
        return text.len() - 1;
    }
    let Some(start) = text.rfind('\u{1b}') else {
        return text.len();
    };
    let sequence = &text[start..];
    let mut characters = sequence.chars().skip(1);
    let ended = match characters.next() {
        None => false,
        Some('[') => characters.any(|end| ('\u{40}'..='\u{7e}').contains(&end)),
        Some(']') => characters.any(|end| end == '\u{7}'),
        Some(_) => true,
    };
    if ended || sequence.len() > SEQUENCE_LIMIT {
        text.len()
    } else {
        start
    }
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
        let text = buffer.take_rest();
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
                if whole_sequences(&buffer.waiting) > 0 {
                    return Some(buffer.take(false));
                }
            }
            wait.await;
        }
    }
}

impl LiveOutput for LiveRelay {
    fn write(&self, text: &str) {
        self.buffer.lock().write(text);
        self.wake.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(total + rest.len() < SHOWN_LIMIT + TAIL_LIMIT + 200);
        assert!(shown.lock().len() <= 2);
        assert!(rest.contains("bytes of output are not shown"), "{rest}");
        assert!(
            shown
                .lock()
                .iter()
                .flat_map(|text| text.lines())
                .all(|line| line.chars().count() < LINE_LIMIT + 80)
        );
    }

    #[test]
    fn the_end_of_a_flood_is_shown_last() {
        let mut buffer = Buffer::default();
        for number in 0..20_000 {
            buffer.write(&format!("line {number}\n"));
        }
        let first = buffer.take(false);
        assert!(first.starts_with("line 0\nline 1\n"));
        let rest = buffer.take_rest();
        assert!(rest.ends_with("line 19998\nline 19999\n"), "{rest}");
        assert!(rest.contains("bytes of output are not shown"));
        assert!(first.len() + rest.len() < SHOWN_LIMIT + TAIL_LIMIT + 100);
    }

    #[test]
    fn what_just_fits_is_shown_whole() {
        let mut buffer = Buffer::default();
        let text = "0123456789\n".repeat((SHOWN_LIMIT + TAIL_LIMIT / 2) / 11);
        for piece in text.as_bytes().chunks(1000) {
            buffer.write(std::str::from_utf8(piece).unwrap());
        }
        let shown = buffer.take(false) + &buffer.take_rest();
        assert_eq!(shown, text);
    }

    #[test]
    fn a_sequence_that_frames_cut_is_still_gone() {
        let text = "a\u{1b}[31mred\u{1b}]0;t\u{7}b\r\nc";
        for cut in 0..=text.len() {
            let mut buffer = Buffer::default();
            buffer.write(&text[..cut]);
            let mut shown = buffer.take(false);
            buffer.write(&text[cut..]);
            shown.push_str(&buffer.take_rest());
            assert_eq!(shown, "aredb\nc", "cut at {cut}");
        }
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

//! Server-sent events without IO: bytes in, events out.
//!
//! The format is that of the WHATWG HTML standard.  Four things differ from a
//! browser, because a lost event here is a lost tool call: an event that the stream
//! ends without its blank line is still given by [`SseDecoder::finish`], bytes that
//! are no UTF-8 become replacement characters and end nothing, a stream without any
//! event is given as one, and reading is linear whatever the size of the pieces.

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its data, lines joined by newlines.
    pub data: String,
}

/// Decodes a stream of events.
#[derive(Debug, Default)]
pub struct SseDecoder {
    /// The line that is not yet whole.
    line: Vec<u8>,
    /// Whether the last byte was a CR, so that a LF now belongs to it.
    after_cr: bool,
    /// Whether the first line was seen; a BOM can only precede it.
    started: bool,
    name: String,
    data: String,
    has_data: bool,
    /// Whether an event was given.
    given: bool,
    /// The lines before the first event that are no part of one.  If there is none at all
    /// they are what the server says instead: a page, an error, or an answer in one piece.
    stray: String,
}

impl SseDecoder {
    /// Decodes more bytes and appends the events that are whole.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<SseEvent>) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let is_cr = rest[end] == b'\r';
            if end == 0 && !is_cr && self.after_cr {
                // The LF of a CRLF whose CR ended the line already.
                self.after_cr = false;
            } else {
                self.line.extend_from_slice(&rest[..end]);
                self.after_cr = is_cr;
                self.end_line(events);
            }
            rest = &rest[end + 1..];
        }
        if !rest.is_empty() {
            self.after_cr = false;
            self.line.extend_from_slice(rest);
        }
    }

    /// Ends the stream and gives what it left unfinished.
    pub fn finish(&mut self, events: &mut Vec<SseEvent>) {
        if !self.line.is_empty() {
            self.end_line(events);
        }
        self.dispatch(events);
        let stray = std::mem::take(&mut self.stray);
        if !self.given && !is_beginning(&stray) {
            events.push(SseEvent {
                name: String::new(),
                data: stray,
            });
        }
    }

    fn end_line(&mut self, events: &mut Vec<SseEvent>) {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let mut line: &str = &text;
        if !self.started {
            self.started = true;
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(events);
        } else {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut self.name),
                "data" => self.add_data(value),
                // No field of the format, but how llama.cpp tells errors.
                "error" => {
                    field.clone_into(&mut self.name);
                    self.add_data(value);
                }
                // Comments have an empty field; ids and retry times are of no use here.
                "" | "id" | "retry" => {}
                _ if self.given => {}
                _ => {
                    self.stray.push_str(line);
                    self.stray.push('\n');
                }
            }
        }
        drop(text);
        // The buffer is used again, so that a stream of small lines allocates once.
        self.line = bytes;
        self.line.clear();
    }

    fn add_data(&mut self, value: &str) {
        if self.has_data {
            self.data.push('\n');
        }
        self.data.push_str(value);
        self.has_data = true;
    }

    fn dispatch(&mut self, events: &mut Vec<SseEvent>) {
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) {
            self.given = true;
            self.stray.clear();
            events.push(SseEvent { name, data });
        }
    }
}

/// Whether a text can be how a stream of events begins, and so says nothing.
fn is_beginning(text: &str) -> bool {
    let text = text.trim_matches(['\n', char::REPLACEMENT_CHARACTER]);
    ["data", "event", "id", "retry"]
        .iter()
        .any(|field| field.starts_with(text))
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;

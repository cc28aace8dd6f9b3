//! How a stream of bytes is cut into the events that a decoder reads.

use crate::{SseDecoder, SseEvent};

/// How a protocol marks where its events end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON value a line.
    Lines,
}

/// Cuts a stream of bytes into events, however the bytes come.
pub enum EventDecoder {
    /// Server-sent events.
    Events(SseDecoder),
    /// Lines; what is given is the line that is not yet whole.
    Lines(Vec<u8>),
}

impl EventDecoder {
    /// A decoder for one stream.
    pub fn new(framing: Framing) -> Self {
        match framing {
            Framing::Events => Self::Events(SseDecoder::default()),
            Framing::Lines => Self::Lines(Vec::new()),
        }
    }

    /// Decodes more bytes and appends the events that are whole.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<SseEvent>) {
        match self {
            Self::Events(decoder) => decoder.push(bytes, events),
            Self::Lines(line) => {
                let mut pieces = bytes.split(|byte| *byte == b'\n');
                if let Some(first) = pieces.next() {
                    line.extend_from_slice(first);
                }
                for piece in pieces {
                    end_line(line, events);
                    line.extend_from_slice(piece);
                }
            }
        }
    }

    /// Ends the stream and gives what it left unfinished.
    pub fn finish(&mut self, events: &mut Vec<SseEvent>) {
        match self {
            Self::Events(decoder) => decoder.finish(events),
            Self::Lines(line) => end_line(line, events),
        }
    }
}

/// Gives a line as the data of an event without a name.  Blank lines mean nothing.
fn end_line(line: &mut Vec<u8>, events: &mut Vec<SseEvent>) {
    let bytes = std::mem::take(line);
    let text = String::from_utf8_lossy(&bytes);
    // A BOM means nothing either.
    let data = text.trim_start_matches('\u{feff}').trim().to_owned();
    if !data.is_empty() {
        events.push(SseEvent {
            name: String::new(),
            data,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let stream = "\u{feff}{\"a\":\"漢\"}\r\n\n {\"b\":1}\n{\"c\":2}".as_bytes();
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                let mut decoder = EventDecoder::new(Framing::Lines);
                let mut events = Vec::new();
                decoder.push(&stream[..first], &mut events);
                decoder.push(&stream[first..second], &mut events);
                decoder.push(&stream[second..], &mut events);
                decoder.finish(&mut events);
                let data: Vec<&str> = events.iter().map(|event| event.data.as_str()).collect();
                assert_eq!(data, ["{\"a\":\"漢\"}", "{\"b\":1}", "{\"c\":2}"]);
            }
        }
    }
}

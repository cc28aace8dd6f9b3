//! The output of a process, bounded: its beginning and its end.

use std::collections::VecDeque;

/// Bytes of the beginning that are kept.
const HEAD_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of the end that are kept.
const TAIL_BYTES: usize = 12 * 1024 * 1024;

/// Keeps the first and the last bytes of a stream of any length.
#[derive(Debug)]
pub(crate) struct OutputBuffer {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    dropped: u64,
}

impl Default for OutputBuffer {
    fn default() -> Self {
        Self::with_limits(HEAD_BYTES, TAIL_BYTES)
    }
}

impl OutputBuffer {
    fn with_limits(head_limit: usize, tail_limit: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_limit,
            tail_limit,
            dropped: 0,
        }
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = self.head_limit - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let (lost, rest) = rest.split_at(rest.len().saturating_sub(self.tail_limit));
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..excess);
        self.tail.extend(rest);
        self.dropped += (lost.len() + excess) as u64;
    }

    /// The text that was kept, with a marker where something was dropped.  Bytes
    /// that are not UTF-8 are replaced.
    pub(crate) fn into_text(self) -> String {
        let (mut bytes, mut tail) = (self.head, Vec::from(self.tail));
        if self.dropped == 0 {
            bytes.append(&mut tail);
            return String::from_utf8(bytes)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        }
        // The cut may have gone through a character.
        let whole = bytes.len() - incomplete_end(&bytes);
        let first = tail
            .iter()
            .take(3)
            .take_while(|byte| **byte & 0xc0 == 0x80)
            .count();
        let dropped = self.dropped + (bytes.len() - whole + first) as u64;
        format!(
            "{}\n[... {dropped} bytes of output dropped ...]\n{}",
            String::from_utf8_lossy(&bytes[..whole]),
            String::from_utf8_lossy(&tail[first..])
        )
    }
}

/// Turns a stream of bytes into text piece by piece, whatever the pieces are.
#[derive(Debug, Default)]
pub(crate) struct StreamDecoder {
    /// The beginning of a character whose end has not come yet.
    pending: Vec<u8>,
}

impl StreamDecoder {
    /// The text that is complete with these bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let whole = self.pending.len() - incomplete_end(&self.pending);
        let rest = self.pending.split_off(whole);
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending = rest;
        text
    }

    /// What is left at the end of the stream.
    pub(crate) fn finish(self) -> String {
        String::from_utf8_lossy(&self.pending).into_owned()
    }
}

/// The number of bytes at the end that begin a character without ending it.
fn incomplete_end(bytes: &[u8]) -> usize {
    for length in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - length];
        if byte & 0xc0 == 0x80 {
            continue;
        }
        let needed = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        return if needed > length { length } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn output_within_the_limits_is_whole() {
        let mut buffer = OutputBuffer::with_limits(4, 6);
        buffer.push(b"0123");
        buffer.push(b"456789");
        assert_eq!(buffer.into_text(), "0123456789");
    }

    #[test]
    fn the_middle_of_long_output_is_dropped_and_counted() {
        let mut buffer = OutputBuffer::with_limits(4, 6);
        for piece in ["ab", "cdefghijkl", "mnopqrstuvwxyz"] {
            buffer.push(piece.as_bytes());
        }
        assert_eq!(
            buffer.into_text(),
            "abcd\n[... 16 bytes of output dropped ...]\nuvwxyz"
        );
    }

    #[test]
    fn a_cut_character_is_left_out() {
        let mut buffer = OutputBuffer::with_limits(4, 4);
        buffer.push("aé€€€bé".as_bytes());
        assert_eq!(
            buffer.into_text(),
            "aé\n[... 9 bytes of output dropped ...]\nbé"
        );
    }

    proptest! {
        /// E34: any split of the bytes gives the same text.
        #[test]
        fn decoding_does_not_depend_on_the_pieces(
            bytes in proptest::collection::vec(
                prop_oneof![
                    any::<u8>().prop_map(|byte| vec![byte]),
                    Just("•".as_bytes().to_vec()),
                    Just("🚀".as_bytes().to_vec()),
                ],
                0..40,
            ),
            size in 1_usize..7,
        ) {
            let bytes = bytes.concat();
            let mut decoder = StreamDecoder::default();
            let mut text: String = bytes.chunks(size).map(|piece| decoder.push(piece)).collect();
            text.push_str(&decoder.finish());
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn nothing_is_lost_unseen(
            pieces in proptest::collection::vec("[a-z]{0,9}", 0..20),
            head in 0_usize..20,
            tail in 0_usize..20,
        ) {
            let whole = pieces.concat();
            let mut buffer = OutputBuffer::with_limits(head, tail);
            for piece in &pieces {
                buffer.push(piece.as_bytes());
            }
            let text = buffer.into_text();
            if whole.len() <= head + tail {
                prop_assert_eq!(text, whole);
            } else {
                let expected = format!(
                    "{}\n[... {} bytes of output dropped ...]\n{}",
                    &whole[..head],
                    whole.len() - head - tail,
                    &whole[whole.len() - tail..],
                );
                prop_assert_eq!(text, expected);
            }
        }
    }
}

//! Any split of a stream gives the same events.
#![no_main]

use libfuzzer_sys::fuzz_target;
use magent_sampling::{SseDecoder, SseEvent};

fn events(pieces: &[&[u8]]) -> Vec<SseEvent> {
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece, &mut events);
    }
    decoder.finish(&mut events);
    events
}

fuzz_target!(|input: (u8, &[u8])| {
    let (at, bytes) = input;
    let whole = events(&[bytes]);
    let (head, tail) = bytes.split_at(usize::from(at).min(bytes.len()));
    assert_eq!(events(&[head, tail]), whole);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(events(&single), whole);
});

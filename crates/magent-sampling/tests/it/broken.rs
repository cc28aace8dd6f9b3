//! Whatever is done to a stream, it is an answer or an error, the same however it is cut.

use magent_types::Dialect;
use proptest::prelude::*;

use crate::corpus::{DIALECTS, Fixture, fixtures};
use crate::play::play_every_way;

/// Larger streams take long and show nothing that smaller ones do not.
const MOST: usize = 8 * 1024;

/// Something done to a stream.  Places are shares of its length.
#[derive(Clone, Debug)]
enum Change {
    Flip(u16, u8),
    Delete(u16, u16),
    Double(u16, u16),
    Swap(u16, u16),
    Break(u16),
    Insert(u16, &'static str),
}

/// What decoders trip over.
const PIECES: [&str; 16] = [
    "null",
    "\"\"",
    "[]",
    "{}",
    "-1",
    "1e999",
    "18446744073709551615",
    "\\ud800",
    "\u{feff}",
    "\r",
    "\n\n",
    "data: [DONE]\n\n",
    "data: {\"error\":{\"message\":\"x\"}}\n\n",
    "event: error\n",
    "\"index\":0,",
    "{\"done\":true}\n",
];

fn change() -> impl Strategy<Value = Change> {
    let place = any::<u16>;
    prop_oneof![
        (place(), any::<u8>()).prop_map(|(at, bits)| Change::Flip(at, bits)),
        (place(), 0..40_u16).prop_map(|(at, size)| Change::Delete(at, size)),
        (place(), 0..200_u16).prop_map(|(at, size)| Change::Double(at, size)),
        (place(), place()).prop_map(|(one, other)| Change::Swap(one, other)),
        place().prop_map(Change::Break),
        (place(), proptest::sample::select(PIECES.as_slice()))
            .prop_map(|(at, piece)| Change::Insert(at, piece)),
    ]
}

fn place(share: u16, length: usize) -> usize {
    usize::from(share) * length / (usize::from(u16::MAX) + 1)
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    let length = bytes.len();
    let range = |at: u16, size: u16| {
        let at = place(at, length);
        at..(at + usize::from(size)).min(length)
    };
    match *change {
        Change::Flip(at, bits) => {
            if let Some(byte) = bytes.get_mut(place(at, length)) {
                *byte ^= bits;
            }
        }
        Change::Delete(at, size) => drop(bytes.drain(range(at, size))),
        Change::Double(at, size) => {
            let range = range(at, size);
            let again = bytes[range.clone()].to_vec();
            bytes.splice(range.end..range.end, again);
        }
        Change::Swap(one, other) => {
            let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
            if !lines.is_empty() {
                let (one, other) = (place(one, lines.len()), place(other, lines.len()));
                lines.swap(one, other);
            }
            *bytes = lines.concat();
        }
        Change::Break(at) => bytes.truncate(place(at, length)),
        Change::Insert(at, piece) => {
            let at = place(at, length);
            bytes.splice(at..at, piece.bytes());
        }
    }
}

fn small(dialect: Dialect) -> Vec<Fixture> {
    let all = fixtures(dialect).into_iter();
    all.filter(|fixture| fixture.stream.len() <= MOST).collect()
}

#[test]
fn broken_streams_are_answers_or_errors_however_they_are_cut() {
    let all: Vec<Fixture> = DIALECTS.into_iter().flat_map(small).collect();
    let which = 0..all.len();
    let changes = proptest::collection::vec(change(), 1..6);
    let config = ProptestConfig {
        cases: 4_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(which in which, changes in changes, cut in any::<u16>())| {
        let fixture = &all[which];
        let mut bytes = fixture.stream.clone();
        for change in &changes {
            apply(&mut bytes, change);
        }
        // An event may well be read by a decoder that it was not written for.
        for dialect in [fixture.route.dialect, DIALECTS[which % DIALECTS.len()]] {
            let mut route = fixture.route.clone();
            route.dialect = dialect;
            play_every_way(&route, &bytes, place(cut, bytes.len() + 1));
        }
    });
}

//! Plays an answer of a provider as the transport does, from bytes to what a turn sees of it.
//! The fuzz targets use this file too.

use magent_sampling::{EventDecoder, ProviderError, ProxyChoice, Route, Secret, codec_for};
use magent_types::{Dialect, ModelEvent, StopReason};

/// What came of an answer.  Neighbouring deltas are joined, since their borders mean nothing.
#[derive(Debug, PartialEq)]
pub struct Played {
    pub events: Vec<ModelEvent>,
    pub result: Result<(), ProviderError>,
}

pub fn route(dialect: Dialect, model: &str, url: &str) -> Route {
    Route {
        backend: "test".into(),
        model: model.into(),
        dialect,
        url: Secret::new(url),
        headers: Vec::new(),
        extra: serde_json::Map::new(),
        proxy: ProxyChoice::Direct,
        ca_bundle: None,
        stream: true,
        context_window: None,
        capabilities: Vec::new(),
    }
}

/// Plays an answer that comes in these pieces.
pub fn play<'a>(route: &Route, pieces: impl IntoIterator<Item = &'a [u8]>) -> Played {
    let mut out = Vec::new();
    let result = decode(route, pieces, &mut out);
    Played {
        events: join(out),
        result,
    }
}

fn decode<'a>(
    route: &Route,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    out: &mut Vec<ModelEvent>,
) -> Result<(), ProviderError> {
    let codec = codec_for(route.dialect);
    let mut frames = EventDecoder::new(codec.framing());
    let mut decoder = codec.decoder(route);
    let mut raw = Vec::new();
    for piece in pieces {
        frames.push(piece, &mut raw);
        for event in raw.drain(..) {
            decoder.event(&event, out)?;
        }
        if decoder.is_complete() {
            return decoder.finish(out);
        }
    }
    frames.finish(&mut raw);
    for event in raw.drain(..) {
        decoder.event(&event, out)?;
    }
    decoder.finish(out)
}

fn join(events: Vec<ModelEvent>) -> Vec<ModelEvent> {
    let mut joined: Vec<ModelEvent> = Vec::new();
    for event in events {
        match (joined.last_mut(), event) {
            (Some(ModelEvent::TextDelta(known)), ModelEvent::TextDelta(more))
            | (Some(ModelEvent::ReasoningDelta(known)), ModelEvent::ReasoningDelta(more)) => {
                known.push_str(&more);
            }
            (_, event) => joined.push(event),
        }
    }
    joined
}

/// Checks what holds for every answer, however broken.
pub fn check(played: &Played) {
    let ends = |event: &ModelEvent| matches!(event, ModelEvent::Completed(_));
    let ended = played.events.iter().filter(|event| ends(event)).count();
    let ends_last = played.events.last().is_some_and(ends);
    assert_eq!(ended, usize::from(played.result.is_ok()), "{played:?}");
    assert_eq!(ends_last, played.result.is_ok(), "{played:?}");
    let calls = played
        .events
        .iter()
        .any(|event| matches!(event, ModelEvent::ToolCall(_)));
    let stopped_for_calls =
        played.events.last() == Some(&ModelEvent::Completed(StopReason::ToolCalls));
    assert_eq!(calls, stopped_for_calls, "{played:?}");
}

/// Plays an answer whole, cut in two and byte by byte, and checks that it is the same.
pub fn play_every_way(route: &Route, bytes: &[u8], cut: usize) -> Played {
    let whole = play(route, [bytes]);
    check(&whole);
    let (head, tail) = bytes.split_at(cut.min(bytes.len()));
    assert_eq!(play(route, [head, tail]), whole, "cut at {cut}");
    assert_eq!(play(route, bytes.chunks(1)), whole, "byte by byte");
    whole
}

/// Where the fuzz targets cut an answer: anywhere, but with every byte of the input still a
/// byte of the answer, so that the streams of the tests are seeds as they are.
#[allow(dead_code, reason = "the tests choose the place themselves")]
pub fn some_cut(bytes: &[u8]) -> usize {
    let sum: usize = bytes.iter().map(|byte| usize::from(*byte)).sum();
    sum % (bytes.len() + 1)
}

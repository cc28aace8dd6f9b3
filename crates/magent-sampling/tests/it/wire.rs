//! Every stream that a provider can send is read right or refused with a clear error,
//! however it is cut, and wherever it breaks off.

use magent_sampling::{EventDecoder, Framing, SseEvent, codec_for};
use magent_types::{Dialect, ModelEvent};
use serde_json::Value;

use crate::corpus::{DIALECTS, Fixture, fixtures, folder, said};
use crate::play::{Played, check, play};

/// Above this size not every place is tried.
const LARGE: usize = 64 * 1024;

const MARKER: &str = "data: [DONE]\n\n";

fn framing(fixture: &Fixture) -> Framing {
    codec_for(fixture.route.dialect).framing()
}

fn frames(framing: Framing, pieces: &[&[u8]]) -> Vec<SseEvent> {
    let mut decoder = EventDecoder::new(framing);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece, &mut events);
    }
    decoder.finish(&mut events);
    events
}

/// Where in a stream an event is whole.
fn borders(framing: Framing, bytes: &[u8]) -> Vec<usize> {
    let mut decoder = EventDecoder::new(framing);
    let mut events = Vec::new();
    let mut borders = vec![0];
    for (at, byte) in bytes.chunks(1).enumerate() {
        let before = events.len();
        decoder.push(byte, &mut events);
        if events.len() > before {
            borders.push(at + 1);
        }
    }
    borders
}

/// Checks that every cut gives the same events of the framing, hence of the decoder, which
/// sees nothing else of the bytes.
fn check_cuts(fixture: &Fixture, bytes: &[u8], cuts: impl Iterator<Item = usize>) {
    let whole = frames(framing(fixture), &[bytes]);
    for cut in cuts {
        let (head, tail) = bytes.split_at(cut);
        let parts = frames(framing(fixture), &[head, tail]);
        assert!(parts == whole, "{} cut at {cut}", fixture.name);
    }
}

fn check_every_way(fixture: &Fixture) {
    let bytes = fixture.stream.as_slice();
    let whole = play(&fixture.route, [bytes]);
    check(&whole);
    fixture.check(&whole);
    for size in [1, 7, 1_400, LARGE] {
        let pieces = play(&fixture.route, bytes.chunks(size));
        assert_eq!(pieces, whole, "{} in pieces of {size}", fixture.name);
    }
    let step = bytes.len() / 64;
    let step = if bytes.len() > LARGE { step } else { 1 };
    check_cuts(fixture, bytes, (0..=bytes.len()).step_by(step));
}

/// The same events with every line end.
fn check_line_ends(fixture: &Fixture) {
    let whole = play(&fixture.route, [fixture.stream.as_slice()]);
    if fixture.stream.contains(&b'\r') {
        return;
    }
    for line_end in ["\r\n", "\r"] {
        if line_end == "\r" && framing(fixture) == Framing::Lines {
            continue;
        }
        let pieces: Vec<&[u8]> = fixture.stream.split(|byte| *byte == b'\n').collect();
        let bytes = pieces.join(line_end.as_bytes());
        let played = play(&fixture.route, [bytes.as_slice()]);
        assert_eq!(played, whole, "{} with {line_end:?}", fixture.name);
        let ends = (0..bytes.len()).filter(|at| bytes[*at] == b'\r');
        let around = ends.flat_map(|at| [at, at + 1, (at + 2).min(bytes.len())]);
        check_cuts(fixture, &bytes, around);
    }
}

/// The same events with and without the marker that ends a stream, if the stream has an end
/// of its own.
fn check_end_marker(fixture: &Fixture) {
    if framing(fixture) == Framing::Lines {
        return;
    }
    let whole = play(&fixture.route, [fixture.stream.as_slice()]);
    let stream = fixture.stream.as_slice();
    let marker = MARKER.as_bytes();
    if let Some(bare) = stream.strip_suffix(marker)
        && !fixture.is("needs-end-marker")
    {
        let played = play(&fixture.route, [bare]);
        assert_eq!(played, whole, "{} without its marker", fixture.name);
    }
    // Behind half an event it would be part of that.
    if whole.result.is_ok() && stream.ends_with(b"\n\n") {
        let more = [stream, marker].concat();
        let played = play(&fixture.route, [more.as_slice()]);
        assert_eq!(played, whole, "{} with one more marker", fixture.name);
    }
}

fn text(played: &Played) -> String {
    let text = |event: &ModelEvent| match event {
        ModelEvent::TextDelta(text) => Some(text.clone()),
        _ => None,
    };
    played.events.iter().filter_map(text).collect()
}

/// A stream that breaks off says nothing that the whole one does not, and is an answer only
/// if nothing of it but numbers is lost.
fn check_breaking_off(fixture: &Fixture) {
    let whole = play(&fixture.route, [fixture.stream.as_slice()]);
    let borders = borders(framing(fixture), &fixture.stream);
    let last_call = |played: &Played| -> Vec<Value> {
        let told = said(&played.events);
        told.into_iter()
            .filter(|event| event.get("call").is_some())
            .collect()
    };
    for border in borders {
        let cut = play(&fixture.route, [&fixture.stream[..border]]);
        let name = format!("{} broken off at {border}", fixture.name);
        check(&cut);
        assert!(text(&whole).starts_with(&text(&cut)), "{name}");
        if cut.result.is_err() {
            assert!(last_call(&cut).is_empty(), "{name}");
        } else if !fixture.is("ends-early") {
            assert_eq!(said(&cut.events), said(&whole.events), "{name}");
            assert_eq!(whole.result, Ok(()), "{name}");
        }
    }
}

fn check_all(dialect: Dialect, least: usize) {
    let fixtures = fixtures(dialect);
    assert!(fixtures.len() >= least, "there are {}", fixtures.len());
    for fixture in &fixtures {
        check_every_way(fixture);
        check_line_ends(fixture);
        check_end_marker(fixture);
        check_breaking_off(fixture);
    }
}

#[test]
fn streams_of_chat_completions() {
    check_all(Dialect::OpenAiChat, 100);
}

#[test]
fn streams_of_responses() {
    check_all(Dialect::OpenAiResponses, 30);
}

#[test]
fn streams_of_anthropic() {
    check_all(Dialect::Anthropic, 30);
}

#[test]
fn streams_of_gemini() {
    check_all(Dialect::Gemini, 25);
}

#[test]
fn streams_of_ollama() {
    check_all(Dialect::Ollama, 20);
}

/// The readme names every stream once, in the order of their names.
#[test]
fn the_readme_lists_the_streams() {
    let readme = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let listed: Vec<&str> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    let mut names = Vec::new();
    for dialect in DIALECTS {
        names.extend(fixtures(dialect).into_iter().map(|it| it.name));
    }
    assert_eq!(listed, names);
}

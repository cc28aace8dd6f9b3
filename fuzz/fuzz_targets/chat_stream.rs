//! Any split of an answer gives the same events and the same end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use magent_sampling::{ProxyChoice, Route, Secret, SseDecoder, codec_for};
use magent_types::{Dialect, ModelEvent};

fn route() -> Route {
    Route {
        backend: "fuzz".into(),
        model: "m".into(),
        dialect: Dialect::OpenAiChat,
        url: Secret::new("http://localhost/v1/chat/completions"),
        headers: Vec::new(),
        extra: serde_json::Map::new(),
        proxy: ProxyChoice::Direct,
        ca_bundle: None,
        stream: true,
        context_window: None,
        capabilities: Vec::new(),
    }
}

fn play(pieces: &[&[u8]]) -> (Vec<ModelEvent>, bool) {
    let codec = codec_for(Dialect::OpenAiChat);
    let mut decoder = codec.decoder(&route());
    let mut sse = SseDecoder::default();
    let (mut found, mut out) = (Vec::new(), Vec::new());
    for piece in pieces {
        sse.push(piece, &mut found);
    }
    sse.finish(&mut found);
    for event in &found {
        if decoder.event(event, &mut out).is_err() {
            return (out, false);
        }
    }
    let ended = decoder.finish(&mut out).is_ok();
    (out, ended)
}

fuzz_target!(|input: (u8, &[u8])| {
    let (at, bytes) = input;
    let (head, tail) = bytes.split_at(usize::from(at).min(bytes.len()));
    assert_eq!(play(&[bytes]), play(&[head, tail]));
});

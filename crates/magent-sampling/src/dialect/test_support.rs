//! What the tests of the codecs have in common.

use std::sync::Arc;

use magent_types::{
    ConversationEntry, Dialect, ModelCall, ModelEvent, NativeAnswer, SamplingParams, StopReason,
    ToolExchange, UserImage,
};
use serde_json::{Map, Value};

use super::{Codec, EventDecoder};
use crate::{ProviderError, ProxyChoice, Route, SampleRequest, Secret};

/// A route to the model `model` in a dialect.
pub(crate) fn route(dialect: Dialect, model: &str) -> Route {
    Route {
        backend: "test".into(),
        model: model.into(),
        dialect,
        url: Secret::new("http://host/v1/endpoint"),
        headers: Vec::new(),
        extra: Map::new(),
        proxy: ProxyChoice::System,
        ca_bundle: None,
        stream: true,
        context_window: None,
        capabilities: Vec::new(),
    }
}

/// A request without tools.
pub(super) fn request(conversation: Vec<ConversationEntry>) -> SampleRequest {
    SampleRequest {
        model: "m".into(),
        system: "be good".into(),
        conversation,
        tools: Vec::new(),
        params: SamplingParams::default(),
        stream: true,
    }
}

/// Decodes a stream with every line end, in one piece and in two at every place, and
/// checks that the events are the same each time.
pub(super) fn decode(
    codec: &dyn Codec,
    route: &Route,
    stream: &str,
) -> Result<Vec<ModelEvent>, ProviderError> {
    let whole = decode_pieces(codec, route, &[stream.as_bytes()]);
    for line_end in ["\n", "\r\n", "\r"] {
        // A lone CR ends lines of server-sent events only.
        if line_end == "\r" && codec.framing() == super::Framing::Lines {
            continue;
        }
        let stream = stream.replace('\n', line_end);
        for cut in 0..=stream.len() {
            let (head, tail) = stream.as_bytes().split_at(cut);
            let cut_in_two = decode_pieces(codec, route, &[head, tail]);
            assert_eq!(cut_in_two, whole, "cut at {cut} of {stream:?}");
        }
    }
    whole
}

/// Decodes a stream that comes in these pieces.
pub(super) fn decode_pieces(
    codec: &dyn Codec,
    route: &Route,
    pieces: &[&[u8]],
) -> Result<Vec<ModelEvent>, ProviderError> {
    let mut frames = EventDecoder::new(codec.framing());
    let mut raw = Vec::new();
    for piece in pieces {
        frames.push(piece, &mut raw);
    }
    frames.finish(&mut raw);
    let mut decoder = codec.decoder(route);
    let mut out = Vec::new();
    for event in &raw {
        decoder.event(event, &mut out)?;
    }
    decoder.finish(&mut out)?;
    Ok(merge(out))
}

/// Server-sent events with these data.
pub(super) fn events(data: &[&str]) -> String {
    data.iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect()
}

/// Joins neighbouring deltas, whose borders mean nothing.
fn merge(events: Vec<ModelEvent>) -> Vec<ModelEvent> {
    let mut merged: Vec<ModelEvent> = Vec::new();
    for event in events {
        match (merged.last_mut(), event) {
            (Some(ModelEvent::TextDelta(known)), ModelEvent::TextDelta(more))
            | (Some(ModelEvent::ReasoningDelta(known)), ModelEvent::ReasoningDelta(more)) => {
                known.push_str(&more);
            }
            (_, event) => merged.push(event),
        }
    }
    merged
}

/// The events without the native form.
pub(super) fn portable(events: Vec<ModelEvent>) -> Vec<ModelEvent> {
    events
        .into_iter()
        .filter(|event| !matches!(event, ModelEvent::Native(_)))
        .collect()
}

/// The native form among the events.
pub(super) fn native(events: &[ModelEvent]) -> Option<Value> {
    events.iter().find_map(|event| match event {
        ModelEvent::Native(answer) => Some(answer.clone()),
        _ => None,
    })
}

/// A native form as the conversation holds it, with the origin of `route`.
pub(super) fn native_entry(route: &Route, answer: Value) -> ConversationEntry {
    ConversationEntry::Native(NativeAnswer {
        origin: route.origin(),
        answer,
    })
}

pub(super) fn text(text: &str) -> ModelEvent {
    ModelEvent::TextDelta(text.into())
}

pub(super) fn reasoning(text: &str) -> ModelEvent {
    ModelEvent::ReasoningDelta(text.into())
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> ModelEvent {
    ModelEvent::ToolCall(ModelCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    })
}

pub(super) fn end(reason: StopReason) -> ModelEvent {
    ModelEvent::Completed(reason)
}

pub(super) fn user(text: &str) -> ConversationEntry {
    ConversationEntry::User(text.into())
}

pub(super) fn assistant(text: &str) -> ConversationEntry {
    ConversationEntry::Assistant {
        text: text.into(),
        phase: None,
    }
}

/// A call of the tool `grep` with its result.
pub(super) fn exchange(id: &str, input: Value, output: &str) -> ConversationEntry {
    ConversationEntry::Tool(ToolExchange {
        call_id: id.into(),
        name: "grep".into(),
        input,
        output: output.into(),
        failed: false,
    })
}

/// A PNG that the user showed.
pub(super) fn picture(name: &str, data: Option<&str>) -> ConversationEntry {
    ConversationEntry::Image(UserImage {
        name: name.into(),
        mime_type: "image/png".into(),
        file: "f.png".into(),
        data: data.map(Arc::from),
    })
}

//! Reading answers and building requests, in every protocol.

use std::time::{Duration, Instant};

use magent_sampling::{
    EventDecoder, Framing, ProxyChoice, Route, SampleRequest, Secret, WireTool, codec_for,
};
use magent_types::{
    CallId, ConversationEntry, Dialect, ModelEvent, NativeAnswer, SamplingParams, ToolExchange,
};
use serde_json::{Map, Value, json};

use crate::Failure;
use crate::report::{Figure, median};

const DIALECTS: [Dialect; 5] = [
    Dialect::OpenAiChat,
    Dialect::OpenAiResponses,
    Dialect::Anthropic,
    Dialect::Gemini,
    Dialect::Ollama,
];

/// Pieces of a long answer.
const PIECES: usize = 40_000;

/// What a network gives at once.
const READ: usize = 16 * 1024;

const ROUNDS: usize = 5;

/// No model writes a hundredth of this.
const LEAST_MB_PER_SECOND: f64 = 20.0;

const TURNS: usize = 2_000;

/// A route to a model that speaks `dialect`.
pub(crate) fn route(dialect: Dialect, url: &str) -> Route {
    Route {
        backend: "b".into(),
        model: "m".into(),
        dialect,
        url: Secret::new(url),
        headers: Vec::new(),
        extra: Map::new(),
        proxy: ProxyChoice::Direct,
        ca_bundle: None,
        stream: true,
        context_window: None,
        capabilities: Vec::new(),
    }
}

/// A piece of a text as a provider sends it, with the fields that come with each.
fn piece(dialect: Dialect, text: &str) -> Value {
    match dialect {
        Dialect::OpenAiChat => json!({"id": "chatcmpl-0123456789", "created": 1_700_000_000,
            "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0,
            "delta": {"content": text}, "logprobs": null, "finish_reason": null}]}),
        Dialect::OpenAiResponses => json!({"type": "response.output_text.delta",
            "sequence_number": 7, "item_id": "msg_0123456789", "output_index": 0,
            "content_index": 0, "delta": text, "logprobs": []}),
        Dialect::Anthropic => json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": text}}),
        Dialect::Gemini => json!({"candidates": [{"content": {"parts": [{"text": text}],
            "role": "model"}, "index": 0}], "modelVersion": "m", "responseId": "0123456789"}),
        Dialect::Ollama => json!({"model": "m", "created_at": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": text}, "done": false}),
        Dialect::Gptel => json!({"type": "text", "text": text}),
    }
}

/// What ends an answer.
fn end(dialect: Dialect) -> Value {
    match dialect {
        Dialect::OpenAiChat => {
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        }
        Dialect::OpenAiResponses => {
            json!({"type": "response.completed", "response": {"status": "completed"}})
        }
        Dialect::Anthropic => {
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
        }
        Dialect::Gemini => json!({"candidates": [{"finishReason": "STOP", "index": 0}]}),
        Dialect::Ollama => json!({"done": true, "done_reason": "stop"}),
        Dialect::Gptel => json!({"type": "end", "stop": "stop"}),
    }
}

fn stream(dialect: Dialect) -> Vec<u8> {
    let mut bytes = Vec::new();
    let framing = codec_for(dialect).framing();
    let mut add = |event: Value| {
        let line = match framing {
            Framing::Lines => format!("{event}\n"),
            Framing::Events => format!("data: {event}\n\n"),
        };
        bytes.extend_from_slice(line.as_bytes());
    };
    for number in 0..PIECES {
        add(piece(dialect, &format!(" token 漢字 \"{number}\"\n")));
    }
    add(end(dialect));
    bytes
}

fn read(route: &Route, bytes: &[u8]) -> Result<Duration, Failure> {
    let codec = codec_for(route.dialect);
    let begun = Instant::now();
    let mut frames = EventDecoder::new(codec.framing());
    let mut decoder = codec.decoder(route);
    let (mut raw, mut out) = (Vec::new(), Vec::new());
    let mut pieces = 0;
    for part in bytes.chunks(READ) {
        frames.push(part, &mut raw);
        for event in raw.drain(..) {
            decoder.event(&event, &mut out)?;
        }
        let is_text = |event: &ModelEvent| matches!(event, ModelEvent::TextDelta(_));
        pieces += out.drain(..).filter(is_text).count();
    }
    frames.finish(&mut raw);
    for event in raw.drain(..) {
        decoder.event(&event, &mut out)?;
    }
    decoder.finish(&mut out)?;
    let took = begun.elapsed();
    if pieces != PIECES {
        return Err(format!("{pieces} of {PIECES} pieces were read").into());
    }
    Ok(took)
}

/// How fast a long answer is read.
pub(crate) fn decode() -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for dialect in DIALECTS {
        let bytes = stream(dialect);
        let route = route(dialect, "http://localhost/");
        let times: Result<Vec<Duration>, Failure> =
            (0..ROUNDS).map(|_| read(&route, &bytes)).collect();
        let megabytes = bytes.len() as f64 / 1e6;
        let speed = megabytes / median(times?).as_secs_f64();
        let name = format!("read a stream of {}", dialect.as_str());
        figures.push(Figure::at_least(name, speed, LEAST_MB_PER_SECOND, " MB/s"));
    }
    Ok(figures)
}

/// The answer of a turn that called a tool, as its provider told it.
fn native(dialect: Dialect, number: usize) -> Value {
    let input = json!({"path": format!("src/file_{number}.rs")});
    let words = format!("I look at file {number}.");
    match dialect {
        Dialect::OpenAiChat => json!({"reasoning_details": [{"type": "reasoning.text",
            "text": words, "signature": "c2lnbmF0dXJl", "index": 0}]}),
        Dialect::OpenAiResponses => json!([
            {"type": "reasoning", "id": format!("rs_{number}"), "summary": [],
                "encrypted_content": "gAAAAAB0123456789"},
            {"type": "function_call", "id": format!("fc_{number}"), "name": "read_file",
                "call_id": format!("call_{number}"), "arguments": input.to_string()}]),
        Dialect::Anthropic => json!([
            {"type": "thinking", "thinking": words, "signature": "c2lnbmF0dXJl"},
            {"type": "tool_use", "id": format!("call_{number}"), "name": "read_file",
                "input": input}]),
        Dialect::Gemini => json!([{"functionCall": {"name": "read_file", "args": input},
            "thoughtSignature": "c2lnbmF0dXJl"}]),
        Dialect::Ollama => json!({"role": "assistant", "content": "", "thinking": words,
            "tool_calls": [{"function": {"name": "read_file", "arguments": input}}]}),
        // It has no form of its own.
        Dialect::Gptel => Value::Null,
    }
}

/// A session of many turns, each of them a question, a call, its result and an answer.
fn conversation(route: &Route) -> Vec<ConversationEntry> {
    let mut entries = Vec::with_capacity(TURNS * 6);
    for number in 0..TURNS {
        entries.push(ConversationEntry::User(format!(
            "What is in file {number}?"
        )));
        entries.push(ConversationEntry::SampleStart);
        entries.push(ConversationEntry::Native(NativeAnswer {
            origin: route.origin(),
            answer: native(route.dialect, number),
        }));
        entries.push(ConversationEntry::Tool(ToolExchange {
            call_id: CallId::new(format!("call_{number}")),
            name: "read_file".into(),
            input: json!({"path": format!("src/file_{number}.rs")}),
            output: "a line of the file with some \"words\" in it\n".repeat(20),
            failed: false,
        }));
        entries.push(ConversationEntry::SampleStart);
        entries.push(ConversationEntry::Assistant {
            text: "It has twenty lines that are all the same. ".repeat(5),
            phase: None,
        });
    }
    entries.push(ConversationEntry::User("And now?".into()));
    entries
}

fn request(route: &Route) -> SampleRequest {
    SampleRequest {
        model: "m".into(),
        system: "Be good. ".repeat(500),
        conversation: conversation(route),
        tools: vec![WireTool {
            name: "read_file".into(),
            description: "Reads a file.".into(),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        }],
        params: SamplingParams::default(),
        stream: true,
    }
}

/// How long the body of a request takes in a very long session.
pub(crate) fn encode() -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for dialect in DIALECTS {
        let route = route(dialect, "http://localhost/");
        let request = request(&route);
        let mut times = Vec::new();
        let mut size = 0;
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            size = codec_for(dialect)
                .encode(&route, &request)
                .to_string()
                .len();
            times.push(begun.elapsed());
        }
        let name = format!("body of {TURNS} turns for {}", dialect.as_str());
        let detail = format!("{:.1} MB", size as f64 / 1e6);
        figures.push(Figure::within(name, median(times), 100.0).detail(&detail));
    }
    Ok(figures)
}

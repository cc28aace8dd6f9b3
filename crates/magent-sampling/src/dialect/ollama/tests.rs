use magent_types::{Dialect, ModelEvent, StopReason, Usage};
use serde_json::{Value, json};

use super::Ollama;
use crate::dialect::test_support::{self, call, end, native, portable, reasoning, text};
use crate::dialect::{Codec, Decoder};
use crate::{ProviderError, Route, SseEvent};

fn route() -> Route {
    test_support::route(Dialect::Ollama, "qwen3")
}

fn stream(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn decode(lines: &[Value]) -> Result<Vec<ModelEvent>, ProviderError> {
    test_support::decode(&Ollama, &route(), &stream(lines))
}

fn whole(body: &Value) -> Result<Vec<ModelEvent>, ProviderError> {
    let mut out = Vec::new();
    Ollama.decode_body(&route(), body, &mut out).map(|()| out)
}

/// A line with a piece of the message.
fn piece(mut message: Value) -> Value {
    message["role"] = "assistant".into();
    json!({"model": "qwen3", "created_at": "2026-01-01T00:00:00Z", "message": message,
        "done": false})
}

/// The last line.
fn done(reason: &str) -> Value {
    json!({"model": "qwen3", "created_at": "2026-01-01T00:00:01Z",
        "message": {"role": "assistant", "content": ""}, "done_reason": reason, "done": true,
        "total_duration": 1, "prompt_eval_count": 11, "eval_count": 5, "eval_duration": 1})
}

fn usage() -> ModelEvent {
    ModelEvent::Usage(Usage {
        input: Some(11),
        output: Some(5),
        ..Usage::default()
    })
}

fn reported(message: &str, code: Option<&str>) -> ProviderError {
    ProviderError::Reported {
        message: message.into(),
        code: code.map(str::to_owned),
    }
}

#[test]
fn text_and_usage() {
    let decoded = decode(&[
        piece(json!({"content": "héllo "})),
        piece(json!({"content": "漢"})),
        done("stop"),
    ]);
    // Words alone need no native form.
    assert_eq!(
        decoded.unwrap(),
        [text("héllo 漢"), usage(), end(StopReason::EndTurn)]
    );
}

#[test]
fn thinking_text_and_calls_in_several_lines() {
    let calls = [
        json!({"function": {"name": "grep", "arguments": {"b": "", "a": null}}}),
        json!({"id": "call_2", "function": {"index": 1, "name": "grep", "arguments": {}}}),
    ];
    let decoded = decode(&[
        piece(json!({"content": "", "thinking": "Let me "})),
        piece(json!({"content": "", "thinking": "see."})),
        piece(json!({"content": "I look."})),
        piece(json!({"content": "", "tool_calls": [calls[0]]})),
        piece(json!({"content": "", "tool_calls": [calls[1]]})),
        done("stop"),
    ])
    .unwrap();
    assert_eq!(
        portable(decoded.clone()),
        [
            reasoning("Let me see."),
            text("I look."),
            usage(),
            // The runtime gives ids to calls that have none.
            call("", "grep", "{\"b\":\"\",\"a\":null}"),
            call("call_2", "grep", "{}"),
            end(StopReason::ToolCalls)
        ]
    );
    assert_eq!(
        native(&decoded).unwrap(),
        json!({"role": "assistant", "content": "I look.", "thinking": "Let me see.",
            "tool_calls": calls})
    );
}

#[test]
fn thoughts_without_a_call_have_a_native_form_too() {
    let lines = [
        piece(json!({"thinking": "hm"})),
        piece(json!({"content": "Hi"})),
    ];
    let decoded = decode(&[&lines[..], &[done("stop")]].concat()).unwrap();
    assert_eq!(
        native(&decoded).unwrap(),
        json!({"role": "assistant", "content": "Hi", "thinking": "hm"})
    );
}

#[test]
fn text_and_calls_in_the_last_line_are_not_lost_and_nothing_comes_after_it() {
    let mut last = done("stop");
    last["message"] = json!({"role": "assistant", "content": "Hi", "thinking": "hm",
        "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]});
    let decoded = decode(&[last, piece(json!({"content": "late"}))]);
    assert_eq!(
        portable(decoded.unwrap()),
        [
            reasoning("hm"),
            text("Hi"),
            usage(),
            call("", "f", "{\"x\":1}"),
            end(StopReason::ToolCalls)
        ]
    );
}

#[test]
fn arguments_that_are_missing_are_none_and_others_are_passed_on_for_the_check() {
    let calls = json!([
        {"function": {"name": "a"}},
        {"function": {"name": "b", "arguments": null}},
        {"function": {"name": "c", "arguments": [1]}},
        {"function": {"name": "d", "arguments": "{\"x\":1}"}},
    ]);
    let decoded = decode(&[piece(json!({"tool_calls": calls})), done("stop")]).unwrap();
    assert_eq!(
        portable(decoded.clone())[1..5],
        [
            call("", "a", "{}"),
            call("", "b", "{}"),
            call("", "c", "[1]"),
            call("", "d", "{\"x\":1}"),
        ]
    );
    // The server takes nothing but objects back.
    let native = native(&decoded).unwrap();
    let arguments = |index: usize| native["tool_calls"][index]["function"]["arguments"].clone();
    assert_eq!(arguments(0), json!({}));
    assert_eq!(arguments(1), json!({}));
    assert_eq!(arguments(2), json!({"invalid_arguments": "[1]"}));
    assert_eq!(arguments(3), json!({"x": 1}));
}

#[test]
fn a_stream_that_ends_anywhere_before_its_last_line_is_truncated_and_gives_no_call() {
    let lines = [
        piece(json!({"thinking": "hm"})),
        piece(json!({"content": "par"})),
        piece(json!({"tool_calls": [{"function": {"name": "f", "arguments": {}}}]})),
        piece(json!({"content": ""})),
    ];
    for length in 0..=lines.len() {
        let mut decoder = Ollama.decoder(&route());
        let mut out = feed(&mut *decoder, &lines[..length]);
        assert!(!decoder.is_complete());
        assert!(matches!(
            decoder.finish(&mut out),
            Err(ProviderError::Truncated { .. })
        ));
        assert!(!out.iter().any(|event| matches!(
            event,
            ModelEvent::ToolCall(_) | ModelEvent::Native(_) | ModelEvent::Completed(_)
        )));
    }
    let mut decoder = Ollama.decoder(&route());
    feed(&mut *decoder, &[done("stop")]);
    assert!(decoder.is_complete());
}

fn feed(decoder: &mut dyn Decoder, lines: &[Value]) -> Vec<ModelEvent> {
    let mut out = Vec::new();
    for line in lines {
        let event = SseEvent {
            name: String::new(),
            data: line.to_string(),
        };
        decoder.event(&event, &mut out).unwrap();
    }
    out
}

#[test]
fn stop_reasons() {
    let stopped = |last: Value| {
        let decoded = decode(&[piece(json!({"content": "x"})), last]);
        decoded.unwrap().pop().unwrap()
    };
    for (reason, expected) in [
        ("stop", StopReason::EndTurn),
        ("", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("load", StopReason::Other("load".into())),
        ("unload", StopReason::Other("unload".into())),
        ("new", StopReason::Other("new".into())),
    ] {
        assert_eq!(stopped(done(reason)), end(expected), "{reason}");
    }
    assert_eq!(stopped(json!({"done": true})), end(StopReason::EndTurn));
}

#[test]
fn errors_inside_the_stream_are_errors_however_they_look() {
    let said = piece(json!({"content": "par"}));
    for (error, message, code) in [
        (
            json!({"error": "model 'x' not found"}),
            "model 'x' not found",
            None,
        ),
        (
            json!({"error": {"message": "no", "type": "server_error"}}),
            "no",
            Some("server_error"),
        ),
        (json!({"error": "gone", "done": true}), "gone", None),
    ] {
        let expected = Err(reported(message, code));
        assert_eq!(decode(&[said.clone(), error.clone()]), expected);
        assert_eq!(whole(&error), expected);
    }
}

#[test]
fn nulls_and_unknown_fields_mean_nothing() {
    let decoded = decode(&[
        json!({"error": null, "message": null, "done": null}),
        json!({"message": {"content": null, "thinking": null, "tool_calls": null, "images": null}}),
        json!({"message": {"content": "a", "tool_calls": [], "new": 1}, "new": {}}),
        json!({"done": true, "done_reason": null, "prompt_eval_count": null}),
    ]);
    assert_eq!(decoded.unwrap(), [text("a"), end(StopReason::EndTurn)]);
}

#[test]
fn what_nobody_asked_for_is_an_error_and_so_is_a_line_that_is_no_json() {
    for (message, problem) in [
        (json!({"images": ["aGk="]}), "picture"),
        (
            json!({"tool_calls": [{"function": {"arguments": {}}}]}),
            "without a name",
        ),
        (json!({"tool_calls": [{}]}), "without a name"),
    ] {
        let error = decode(&[piece(message), done("stop")]).unwrap_err();
        assert!(matches!(error, ProviderError::Protocol { .. }));
        assert!(error.to_string().contains(problem), "{error}");
    }
    let result = test_support::decode(&Ollama, &route(), "{\"message\":\n");
    assert!(matches!(result, Err(ProviderError::Protocol { .. })));
}

#[test]
fn a_whole_body_is_decoded_like_a_stream() {
    let mut body = done("stop");
    body["message"] = json!({"role": "assistant", "content": "I look.", "thinking": "hm",
        "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]});
    let out = whole(&body).unwrap();
    assert_eq!(native(&out).unwrap(), body["message"]);
    assert_eq!(
        portable(out),
        [
            reasoning("hm"),
            text("I look."),
            usage(),
            call("", "f", "{\"x\":1}"),
            end(StopReason::ToolCalls)
        ]
    );
    assert!(matches!(
        whole(&json!({"x": 1})),
        Err(ProviderError::Protocol { .. })
    ));
    assert_eq!(
        whole(&json!({"message": {"content": "x"}})).unwrap(),
        [text("x"), end(StopReason::EndTurn)]
    );
}

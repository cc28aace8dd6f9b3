use magent_types::{Dialect, ModelEvent, StopReason, Usage};
use serde_json::json;

use super::*;
use crate::ProviderError;
use crate::dialect::test_support::{
    self, call, end, events as stream, native, portable, reasoning, text,
};

fn route() -> Route {
    test_support::route(Dialect::OpenAiResponses, "m")
}

/// Decodes a stream given as event data, each way of cutting it the same.
fn decode(events: &[&str]) -> Result<Vec<ModelEvent>, ProviderError> {
    test_support::decode(&OpenAiResponses, &route(), &stream(events))
}

/// What is decoded without the native form.
fn said(events: &[&str]) -> Vec<ModelEvent> {
    portable(decode(events).unwrap())
}

fn body(body: &Value) -> Result<Vec<ModelEvent>, ProviderError> {
    let mut out = Vec::new();
    OpenAiResponses
        .decode_body(&route(), body, &mut out)
        .map(|()| out)
}

fn reported(events: &[&str]) -> (String, Option<String>) {
    match decode(events) {
        Err(ProviderError::Reported { message, code }) => (message, code),
        other => panic!("{other:?}"),
    }
}

const CREATED: &str = r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","error":null,"incomplete_details":null,"output":[],"usage":null}}"#;
const PROGRESS: &str = r#"{"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1","status":"in_progress","error":null,"output":[]}}"#;
/// The end as servers give it that tell of the items only once.
const COMPLETED: &str = r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed","error":null,"output":[]}}"#;
const MESSAGE_ADDED: &str = r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}"#;
const HELLO_DELTA: &str = r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"héllo"}"#;
const HELLO_DONE: &str = r#"{"type":"response.output_text.done","item_id":"msg_1","output_index":0,"content_index":0,"text":"héllo 漢"}"#;
const CALL_A_ADDED: &str = r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"a","name":"f"}}"#;
const CALL_A_DONE: &str = r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"x\":1}","call_id":"a","name":"f"}}"#;

fn message(id: &str, text: &str) -> Value {
    json!({"id": id, "type": "message", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": text}]})
}

fn call_item(id: &str, call_id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function_call", "status": "completed",
        "arguments": arguments, "call_id": call_id, "name": name})
}

fn completed(output: &[Value]) -> String {
    let usage = json!({"input_tokens": 7, "input_tokens_details": {"cached_tokens": 2},
        "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 10});
    json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed",
        "error": null, "incomplete_details": null, "output": output, "usage": usage}})
    .to_string()
}

fn usage() -> ModelEvent {
    ModelEvent::Usage(Usage {
        input: Some(7),
        output: Some(3),
        reasoning: Some(1),
        cached_read: Some(2),
        cached_write: None,
    })
}

fn arguments_delta(index: u64, id: &str, delta: &str) -> String {
    json!({"type": "response.function_call_arguments.delta", "item_id": id,
        "output_index": index, "delta": delta})
    .to_string()
}

#[test]
fn text_that_is_told_three_times_is_given_once_with_usage_and_native_form() {
    let item = message("msg_1", "héllo 漢");
    let done =
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}).to_string();
    let end_event = completed(std::slice::from_ref(&item));
    let events = decode(&[
        CREATED,
        PROGRESS,
        MESSAGE_ADDED,
        r#"{"type":"response.content_part.added","item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":""}}"#,
        HELLO_DELTA,
        r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":" 漢","logprobs":[],"obfuscation":"x"}"#,
        HELLO_DONE,
        r#"{"type":"response.content_part.done","item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":"héllo 漢"}}"#,
        &done,
        &end_event,
    ]);
    assert_eq!(
        events.unwrap(),
        [
            text("héllo 漢"),
            usage(),
            ModelEvent::Native(json!([item])),
            end(StopReason::EndTurn)
        ]
    );
}

#[test]
fn text_that_came_in_one_piece_at_whatever_end_is_neither_lost_nor_doubled() {
    let item_done =
        json!({"type": "response.output_item.done", "output_index": 0, "item": message("msg_1", "héllo 漢")})
            .to_string();
    let all = completed(&[message("msg_1", "héllo 漢")]);
    let expected = [text("héllo 漢"), end(StopReason::EndTurn)];
    assert_eq!(said(&[MESSAGE_ADDED, HELLO_DONE, COMPLETED]), expected);
    assert_eq!(said(&[HELLO_DONE, &item_done, COMPLETED]), expected);
    assert_eq!(said(&[&item_done, COMPLETED]), expected);
    // A delta was lost.
    assert_eq!(said(&[HELLO_DELTA, HELLO_DONE, COMPLETED]), expected);
    for first in [HELLO_DELTA, HELLO_DONE, CREATED, &item_done] {
        let events = said(&[first, &all]);
        let words: String = events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::TextDelta(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(words, "héllo 漢", "after {first}");
    }
}

#[test]
fn messages_are_apart_and_parts_of_one_are_not() {
    let mut two_parts = message("msg_1", "a");
    two_parts["content"] =
        json!([{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}]);
    let all = completed(&[two_parts, message("msg_2", "c")]);
    let expected = [
        text("ab"),
        ModelEvent::MessageEnd(None),
        text("c"),
        usage(),
        end(StopReason::EndTurn),
    ];
    assert_eq!(said(&[&all]), expected);
    // The same with pieces that do not tell their part.
    let piece = |index: u64, delta: &str| {
        json!({"type": "response.output_text.delta", "output_index": index, "delta": delta})
            .to_string()
    };
    let pieces = [piece(0, "a"), piece(0, "b"), piece(1, "c")];
    let part_done =
        r#"{"type":"response.output_text.done","output_index":0,"content_index":1,"text":"b"}"#;
    let events = [&pieces[0], &pieces[1], part_done, &pieces[2], &all];
    assert_eq!(said(&events), expected);
}

#[test]
fn parts_of_a_reasoning_summary_are_apart_by_an_empty_line() {
    let item = json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "gAAA", "summary": [
        {"type": "summary_text", "text": "**Look**\nI look."}, {"type": "summary_text", "text": "Done."}]});
    let done =
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}).to_string();
    let all = completed(&[item.clone(), message("msg_1", "hi")]);
    let events = decode(&[
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gA"}}"#,
        r#"{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"**Look**\n"}"#,
        r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"I look."}"#,
        r#"{"type":"response.reasoning_summary_text.done","item_id":"rs_1","output_index":0,"summary_index":0,"text":"**Look**\nI look."}"#,
        r#"{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":1,"delta":"Done."}"#,
        &done,
        &all,
    ])
    .unwrap();
    assert_eq!(events[0], reasoning("**Look**\nI look.\n\nDone."));
    assert_eq!(events[1], text("hi"));
    // The encrypted form is the one of the end, not the half of the beginning.
    assert_eq!(native(&events).unwrap()[0], item);
    // Without any piece the summary is taken from the end.
    assert_eq!(
        said(&[&done, &all])[0],
        reasoning("**Look**\nI look.\n\nDone.")
    );
}

#[test]
fn reasoning_in_plain_text_and_parts_without_an_index_are_given() {
    let added = r#"{"type":"response.reasoning_summary_part.added","summary_index":null}"#;
    let events = said(&[
        added,
        r#"{"type":"response.reasoning_text.delta","item_id":"rs_1","output_index":0,"content_index":0,"delta":"one"}"#,
        added,
        r#"{"type":"response.reasoning_text.delta","item_id":"rs_1","output_index":0,"content_index":0,"delta":"two"}"#,
        r#"{"type":"response.reasoning_text.done","item_id":"rs_1","output_index":0,"content_index":1,"text":"three"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"onetwo"}]}}"#,
        COMPLETED,
    ]);
    assert_eq!(
        events,
        [reasoning("one\n\ntwo\n\nthree"), end(StopReason::EndTurn)]
    );
}

#[test]
fn one_call_is_given_when_the_answer_is_whole() {
    let events = decode(&[
        CREATED,
        CALL_A_ADDED,
        &arguments_delta(0, "fc_1", "{\"x\":"),
        &arguments_delta(0, "fc_1", "1}"),
        r#"{"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":0,"arguments":"{\"x\":1}"}"#,
        CALL_A_DONE,
        &completed(&[call_item("fc_1", "a", "f", "{\"x\":1}")]),
        "[DONE]",
    ]);
    assert_eq!(
        events.unwrap(),
        [
            usage(),
            call("a", "f", "{\"x\":1}"),
            ModelEvent::Native(json!([call_item("fc_1", "a", "f", "{\"x\":1}")])),
            end(StopReason::ToolCalls)
        ]
    );
}

#[test]
fn interleaved_parallel_calls_keep_their_arguments_and_order() {
    let added = |index: u64, id: &str, call_id: &str, name: &str| {
        let mut item = call_item(id, call_id, name, "");
        item["status"] = "in_progress".into();
        json!({"type": "response.output_item.added", "output_index": index, "item": item})
            .to_string()
    };
    let expected = [
        call("a", "f", "{\"x\":1}"),
        call("b", "g", "{\"y\":2}"),
        end(StopReason::ToolCalls),
    ];
    // The second begins first; or all are at the index 0; or the ids change every time.
    for (first, second, ids) in [(0, 1, ["i", "j"]), (0, 0, ["i", "j"]), (0, 1, ["k", "l"])] {
        let events = [
            added(second, "j", "b", "g"),
            added(first, "i", "a", "f"),
            arguments_delta(first, ids[0], "{\"x\""),
            arguments_delta(second, ids[1], "{\"y\""),
            arguments_delta(first, ids[0], ":1}"),
            arguments_delta(second, ids[1], ":2}"),
            COMPLETED.to_owned(),
        ];
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let mut given = said(&events);
        if first == second {
            given.swap(0, 1);
        }
        assert_eq!(given, expected, "{first} {second} {ids:?}");
    }
}

#[test]
fn a_call_that_only_the_whole_answer_tells_is_given() {
    let all = completed(&[
        message("msg_1", "héllo"),
        call_item("fc_2", "b", "g", "{\"y\":2}"),
        call_item("fc_3", "c", "h", "{}"),
    ]);
    assert_eq!(
        said(&[MESSAGE_ADDED, HELLO_DELTA, &all]),
        [
            text("héllo"),
            usage(),
            call("b", "g", "{\"y\":2}"),
            call("c", "h", "{}"),
            end(StopReason::ToolCalls)
        ]
    );
}

#[test]
fn lost_pieces_of_arguments_are_taken_from_whatever_tells_them_whole() {
    let expected = [call("a", "f", "{\"x\":1}"), end(StopReason::ToolCalls)];
    let arguments_done = r#"{"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":0,"arguments":"{\"x\":1}"}"#;
    let half = arguments_delta(0, "fc_1", "{\"x\"");
    assert_eq!(said(&[CALL_A_ADDED, arguments_done, COMPLETED]), expected);
    assert_eq!(
        said(&[CALL_A_ADDED, &half, CALL_A_DONE, COMPLETED]),
        expected
    );
    assert_eq!(said(&[CALL_A_DONE, COMPLETED]), expected);
    let all = completed(&[call_item("fc_1", "a", "f", "{\"x\":1}")]);
    assert_eq!(said(&[CALL_A_ADDED, &half, &all])[1..], expected);
    // Arguments that stand at the beginning already count if no others come.
    let begun = CALL_A_ADDED.replace("\"arguments\":\"\"", "\"arguments\":{}");
    assert_eq!(said(&[&begun, COMPLETED])[0], call("a", "f", "{}"));
    let whole = arguments_delta(0, "fc_1", "{\"x\":1}");
    assert_eq!(said(&[&begun, &whole, COMPLETED]), expected);
}

#[test]
fn an_item_told_of_twice_counts_once_by_place_or_id_or_call_id() {
    let expected = [call("a", "f", "{\"x\":1}"), end(StopReason::ToolCalls)];
    let other_id = CALL_A_DONE.replace("fc_1", "other");
    let no_place = CALL_A_DONE.replace("\"output_index\":0,", "");
    let no_id = no_place.replace("\"id\":\"fc_1\",", "");
    let other_place = CALL_A_DONE.replace("\"output_index\":0,", "\"output_index\":5,");
    for again in [CALL_A_DONE, &other_id, &no_place, &no_id, &other_place] {
        let events = said(&[CALL_A_ADDED, CALL_A_ADDED, CALL_A_DONE, again, COMPLETED]);
        assert_eq!(events, expected, "{again}");
    }
    // In the whole answer reasoning is left out, so that places differ.
    let place_1 = CALL_A_DONE.replace("\"output_index\":0,", "\"output_index\":1,");
    let rest = [
        call_item("fc_1", "a", "f", "{\"x\":1}"),
        call_item("fc_1", "a", "f", "{\"x\":1}"),
    ];
    let decoded = decode(&[&place_1, &completed(&rest)]).unwrap();
    assert_eq!(portable(decoded.clone())[1..], expected);
    assert_eq!(native(&decoded).unwrap(), json!([rest[0]]));
}

#[test]
fn calls_of_different_items_with_one_call_id_are_two_calls() {
    let second = r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"fc_2","type":"function_call","arguments":"{\"y\":2}","call_id":"a","name":"f"}}"#;
    assert_eq!(
        said(&[CALL_A_DONE, second, COMPLETED]),
        [
            call("a", "f", "{\"x\":1}"),
            call("a", "f", "{\"y\":2}"),
            end(StopReason::ToolCalls)
        ]
    );
}

#[test]
fn a_refusal_is_text_with_its_own_stop_reason() {
    let expected = [text("I cannot."), end(StopReason::Refusal)];
    let delta = r#"{"type":"response.refusal.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"I cannot."}"#;
    let done = r#"{"type":"response.refusal.done","item_id":"msg_1","output_index":0,"content_index":0,"refusal":"I cannot."}"#;
    let item = r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"refusal","refusal":"I cannot."}]}}"#;
    assert_eq!(said(&[delta, done, item, COMPLETED]), expected);
    assert_eq!(said(&[done, COMPLETED]), expected);
    assert_eq!(said(&[item, COMPLETED]), expected);
    let kept = native(&decode(&[MESSAGE_ADDED, delta, COMPLETED]).unwrap()).unwrap();
    assert_eq!(
        kept[0]["content"],
        json!([{"type": "refusal", "refusal": "I cannot."}])
    );
}

#[test]
fn an_incomplete_answer_tells_why() {
    let stop = |details: &str| {
        let last = format!(
            r#"{{"type":"response.incomplete","response":{{"status":"incomplete","incomplete_details":{details},"output":[]}}}}"#
        );
        said(&[HELLO_DELTA, &last])
    };
    let expected = |reason| [text("héllo"), end(reason)];
    assert_eq!(
        stop(r#"{"reason":"max_output_tokens"}"#),
        expected(StopReason::MaxTokens)
    );
    assert_eq!(
        stop(r#"{"reason":"content_filter"}"#),
        expected(StopReason::Refusal)
    );
    assert_eq!(
        stop(r#"{"reason":"weird"}"#),
        expected(StopReason::Other("weird".into()))
    );
    assert_eq!(
        stop("null"),
        expected(StopReason::Other("incomplete".into()))
    );
}

#[test]
fn half_arguments_are_passed_on_as_they_are_and_a_call_without_any_is_none() {
    let last = r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}}"#;
    let events = decode(&[CALL_A_ADDED, &arguments_delta(0, "fc_1", "{\"x\":"), last]).unwrap();
    assert_eq!(
        portable(events.clone()),
        [call("a", "f", "{\"x\":"), end(StopReason::ToolCalls)]
    );
    assert_eq!(native(&events).unwrap()[0]["arguments"], "{\"x\":");
    // It would run as a call without arguments.
    assert_eq!(
        decode(&[CALL_A_ADDED, last]).unwrap(),
        [end(StopReason::MaxTokens)]
    );
    assert_eq!(said(&[CALL_A_ADDED, COMPLETED])[0], call("a", "f", ""));
}

/// C8: the words of a failed response, and nothing else.
#[test]
fn a_failed_response_is_an_error_with_its_own_words() {
    let failed = r#"{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"invalid_api_key","message":"Bad key."},"output":[]}}"#;
    let expected = ("Bad key.".to_owned(), Some("invalid_api_key".to_owned()));
    assert_eq!(reported(&[CREATED, failed]), expected);
    assert_eq!(
        reported(&[CREATED, HELLO_DELTA, failed, COMPLETED]),
        expected
    );
    let wordless = r#"{"type":"response.failed","response":null}"#;
    assert_eq!(reported(&[wordless]), ("the response failed".into(), None));
    let disguised = failed.replace("response.failed", "response.completed");
    assert_eq!(reported(&[&disguised]), expected);
}

/// C2, E58: errors inside a stream, wherever they stand and however they look.
#[test]
fn an_error_event_of_any_shape_is_an_error() {
    let flat = r#"{"type":"error","code":"rate_limit_exceeded","message":"slow down","param":null,"sequence_number":1}"#;
    let nested = r#"{"type":"error","error":{"type":"server_error","code":null,"message":"oops"}}"#;
    let plain = r#"{"error":{"message":"overloaded","code":529}}"#;
    let object = r#"{"object":"error","message":"bad model","code":null}"#;
    let code = |code: &str| Some(code.to_owned());
    for before in [&[][..], &[CREATED, HELLO_DELTA]] {
        let error = |event| reported(&[before, &[event], &["[DONE]"]].concat());
        assert_eq!(
            error(flat),
            ("slow down".into(), code("rate_limit_exceeded"))
        );
        assert_eq!(error(nested), ("oops".into(), code("server_error")));
        assert_eq!(error(plain), ("overloaded".into(), code("529")));
        assert_eq!(error(object), ("bad model".into(), None));
        assert_eq!(error(r#"{"error":"plain"}"#), ("plain".into(), None));
    }
    let named = |data: &str| {
        let stream = format!("event: error\ndata: {data}\n\n");
        match test_support::decode(&OpenAiResponses, &route(), &stream) {
            Err(ProviderError::Reported { message, .. }) => message,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(named("upstream gone"), "upstream gone");
    assert_eq!(named(r#"{"message":"gone"}"#), "gone");
}

#[test]
fn a_stream_without_its_end_is_truncated_and_its_call_never_given() {
    let pieces = arguments_delta(0, "fc_1", "{\"x\"");
    for events in [
        &[][..],
        &["[DONE]"],
        &[CREATED, HELLO_DELTA, HELLO_DONE],
        &[CREATED, CALL_A_ADDED, &pieces],
        &[CREATED, CALL_A_ADDED, CALL_A_DONE, "[DONE]"],
    ] {
        let mut out = Vec::new();
        let mut decoder = OpenAiResponses.decoder(&route());
        for data in events {
            let event = crate::SseEvent {
                name: String::new(),
                data: (*data).to_owned(),
            };
            decoder.event(&event, &mut out).unwrap();
        }
        assert!(!decoder.is_complete());
        let ended = decoder.finish(&mut out);
        assert!(matches!(ended, Err(ProviderError::Truncated { .. })));
        let given = out
            .iter()
            .any(|event| matches!(event, ModelEvent::ToolCall(_) | ModelEvent::Completed(_)));
        assert!(!given, "{out:?}");
    }
    assert!(matches!(
        decode(&["{\"type\":"]),
        Err(ProviderError::Protocol { .. })
    ));
}

#[test]
fn unknown_events_comments_and_whatever_follows_the_end_mean_nothing() {
    let known = stream(&[HELLO_DELTA, COMPLETED]);
    let noise = stream(&[
        r#"{"type":"keepalive","sequence_number":3}"#,
        r#"{"type":"response.web_search_call.searching","output_index":7,"item_id":"ws_1"}"#,
        r#"{"type":"response.mcp_call.failed","error":"no such thing","item_id":"x"}"#,
        r#"{"type":"response.output_item.added","output_index":4,"item":null}"#,
        r#"{"type":null}"#,
        "null",
        "[1]",
        "7",
    ]);
    let late = stream(&[HELLO_DELTA, CALL_A_DONE, "{", r#"{"type":"error"}"#]);
    let stream = format!(": OPENROUTER PROCESSING\n\n{noise}{known}{late}");
    let events = test_support::decode(&OpenAiResponses, &route(), &stream).unwrap();
    assert_eq!(portable(events), [text("héllo"), end(StopReason::EndTurn)]);
}

/// C5: the name of the event stands in for a type that is missing.
#[test]
fn events_are_known_by_their_name_without_a_type() {
    let stream = "event:response.output_text.delta\nid:1\ndata:{\"delta\":\"hi\"}\n\n\
        event:response.completed\ndata:{\"response\":{}}\n\n";
    let events = test_support::decode(&OpenAiResponses, &route(), stream);
    // No item was given, so there is nothing to tell again.
    assert_eq!(events.unwrap(), [text("hi"), end(StopReason::EndTurn)]);
}

/// E55, E56, C4: fields that are null, or the word, or missing.
#[test]
fn null_fields_mean_nothing() {
    let events = said(&[
        r#"{"type":"response.created","response":null,"error":null}"#,
        r#"{"type":"response.output_item.added","output_index":null,"item":{"id":null,"type":"function_call","arguments":null,"call_id":"a","name":"view"}}"#,
        r#"{"type":"response.function_call_arguments.delta","item_id":null,"output_index":null,"delta":null}"#,
        r#"{"type":"response.function_call_arguments.delta","item_id":null,"output_index":null,"delta":"{\"x\":1}"}"#,
        r#"{"type":"response.function_call_arguments.done","item_id":"","output_index":null,"arguments":null,"name":"null"}"#,
        r#"{"type":"response.output_item.done","output_index":null,"item":{"id":null,"type":"function_call","arguments":null,"call_id":null,"name":null}}"#,
        r#"{"type":"response.output_text.delta","item_id":null,"output_index":null,"content_index":null,"delta":null}"#,
        r#"{"type":"response.output_text.delta","item_id":null,"output_index":null,"content_index":null,"delta":"hi"}"#,
        r#"{"type":"response.output_text.done","item_id":null,"output_index":null,"content_index":null,"text":null}"#,
        r#"{"type":"response.output_item.done","output_index":null,"item":{"id":null,"type":"message","content":null,"role":null}}"#,
        r#"{"type":"response.output_item.done","output_index":null,"item":{"id":null,"type":"reasoning","content":null,"summary":null,"encrypted_content":null}}"#,
        r#"{"type":"response.completed","response":{"id":null,"status":null,"error":null,"incomplete_details":null,"output":null,"usage":null}}"#,
    ]);
    assert_eq!(
        events,
        [
            text("hi"),
            call("a", "view", "{\"x\":1}"),
            end(StopReason::ToolCalls)
        ]
    );
}

/// E56, E69: one body instead of a stream.
#[test]
fn a_whole_body_is_decoded_like_a_stream() {
    let output = [
        json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "e",
            "summary": [{"type": "summary_text", "text": "think"}]}),
        message("msg_1", "I look."),
        call_item("fc_1", "a", "f", "{}"),
    ];
    let event: Value = serde_json::from_str(&completed(&output)).unwrap();
    let events = body(&event["response"]).unwrap();
    assert_eq!(
        events,
        [
            reasoning("think"),
            text("I look."),
            usage(),
            call("a", "f", "{}"),
            ModelEvent::Native(output.as_slice().into()),
            end(StopReason::ToolCalls)
        ]
    );
    assert_eq!(decode(&[&event.to_string()]).unwrap(), events);
    let cut = json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
        "output": [], "error": null});
    assert_eq!(body(&cut).unwrap(), [end(StopReason::MaxTokens)]);
}

#[test]
fn a_body_that_is_no_whole_answer_is_an_error() {
    let is_reported = |value: Value| {
        let result = body(&value);
        assert!(
            matches!(result, Err(ProviderError::Reported { .. })),
            "{result:?}"
        );
    };
    is_reported(json!({"error": {"message": "no"}}));
    is_reported(json!({"status": "failed", "error": {"code": "x", "message": "no"}, "output": []}));
    is_reported(json!({"status": "cancelled", "error": null, "output": []}));
    for value in [
        json!({"x": 1}),
        json!([]),
        json!({"status": "queued", "output": []}),
    ] {
        let result = body(&value);
        assert!(
            matches!(result, Err(ProviderError::Protocol { .. })),
            "{result:?}"
        );
    }
}

/// A call of a tool that nobody offered, or a question, would wait for ever.
#[test]
fn items_that_wait_for_what_nobody_gives_are_errors() {
    for kind in ["custom_tool_call", "computer_call", "mcp_approval_request"] {
        let item = json!({"type": kind, "id": "x", "call_id": "a", "name": "f", "input": "i"});
        let done = json!({"type": "response.output_item.done", "output_index": 0, "item": item});
        let all = completed(std::slice::from_ref(&item));
        for events in [vec![done.to_string(), COMPLETED.to_owned()], vec![all]] {
            let events: Vec<&str> = events.iter().map(String::as_str).collect();
            let error = decode(&events).unwrap_err().to_string();
            assert!(error.contains(kind), "{error}");
        }
    }
}

/// The check refuses arguments that are no object; without them the call would run.
#[test]
fn arguments_of_a_wrong_type_are_passed_on_for_the_check() {
    for (arguments, given) in [
        (json!([1]), "[1]"),
        (json!(7), "7"),
        (json!([]), ""),
        (json!({"x": 1}), "{\"x\":1}"),
    ] {
        let item = json!({"type": "function_call", "id": "x", "call_id": "a", "name": "f",
            "arguments": arguments});
        assert_eq!(said(&[&completed(&[item])])[1], call("a", "f", given));
    }
}

/// Whatever a server sends in any field, the decoder goes on or says what is wrong.
#[test]
fn fields_of_every_wrong_type_break_nothing() {
    let wrong = [
        "null",
        "true",
        "-1",
        "1e300",
        "18446744073709551615",
        "\"\"",
        "\"x\"",
        "[]",
        "[null,[{}]]",
        "{}",
    ];
    let kinds = [
        CREATED,
        MESSAGE_ADDED,
        HELLO_DELTA,
        HELLO_DONE,
        CALL_A_ADDED,
        CALL_A_DONE,
    ];
    let all = completed(&[message("msg_1", "x"), call_item("fc_1", "a", "f", "{}")]);
    for event in kinds.iter().copied().chain([all.as_str()]) {
        let event: Value = serde_json::from_str(event).unwrap();
        for pointer in pointers(&event) {
            for wrong in wrong {
                let mut broken = event.clone();
                *broken.pointer_mut(&pointer).unwrap() = serde_json::from_str(wrong).unwrap();
                let broken = broken.to_string();
                let data = stream(&[&broken, CALL_A_ADDED, HELLO_DELTA, &broken, COMPLETED]);
                let pieces = [data.as_bytes()];
                let _ = test_support::decode_pieces(&OpenAiResponses, &route(), &pieces);
            }
        }
    }
}

#[test]
fn an_answer_of_endlessly_many_items_is_an_error_and_not_a_long_wait() {
    let item = |at: usize| call_item(&format!("fc_{at}"), &format!("{at}"), "f", "{}");
    let many: Vec<Value> = (0..50_000).map(item).collect();
    let refused = |events: &[&str]| {
        let data = stream(events);
        let pieces = [data.as_bytes()];
        let result = test_support::decode_pieces(&OpenAiResponses, &route(), &pieces);
        assert!(matches!(result, Err(ProviderError::Protocol { .. })));
    };
    refused(&[&completed(&many)]);
    let begun: Vec<String> = many
        .iter()
        .map(|item| json!({"type": "response.output_item.added", "item": item}).to_string())
        .collect();
    let begun: Vec<&str> = begun.iter().map(String::as_str).collect();
    refused(&begun);
    let some: Vec<Value> = (0..1000).map(item).collect();
    let given = test_support::decode_pieces(
        &OpenAiResponses,
        &route(),
        &[stream(&[&completed(&some)]).as_bytes()],
    );
    assert_eq!(portable(given.unwrap()).len(), 1002);
}

/// The paths of everything inside a value.
fn pointers(value: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(values) => (0..)
            .map(|index: usize| index.to_string())
            .zip(values)
            .collect(),
        _ => Vec::new(),
    };
    let inside = children.into_iter().flat_map(|(key, value)| {
        let below = pointers(value);
        std::iter::once(String::new())
            .chain(below)
            .map(move |path| format!("/{key}{path}"))
            .collect::<Vec<_>>()
    });
    inside.collect()
}

use magent_types::{ConversationEntry, Dialect, Effort, ModelEvent, StopReason, Thinking, Usage};
use serde_json::json;

use super::*;
use crate::dialect::test_support::{
    self, assistant, call, end, exchange, native, native_entry, picture, portable, reasoning,
    request, text, user,
};
use crate::{ProviderError, WireTool};

fn route(model: &str) -> Route {
    test_support::route(Dialect::Anthropic, model)
}

/// A stream of events, each named by its type as the API does it.
fn stream(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| {
            let name = event["type"].as_str().unwrap_or_default();
            format!("event: {name}\ndata: {event}\n\n")
        })
        .collect()
}

fn decode(events: &[Value]) -> Result<Vec<ModelEvent>, ProviderError> {
    test_support::decode(&Anthropic, &route("m"), &stream(events))
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, kind: &str, key: &str, text: &str) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, key: text}})
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn finish(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

fn tool_use(index: u64, id: &str) -> Vec<Value> {
    vec![
        start(
            index,
            json!({"type": "tool_use", "id": id, "name": "grep", "input": {}}),
        ),
        delta(index, "input_json_delta", "partial_json", ""),
        delta(index, "input_json_delta", "partial_json", "{\"x\":"),
        delta(index, "input_json_delta", "partial_json", " 1}"),
        stop(index),
    ]
}

#[test]
fn text_and_usage_with_cached_tokens_counted_as_read() {
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [],
            "usage": {"input_tokens": 10, "cache_creation_input_tokens": 100,
                "cache_read_input_tokens": 1000, "output_tokens": 1}}}),
        json!({"type": "ping"}),
        start(0, json!({"type": "text", "text": ""})),
        delta(0, "text_delta", "text", "héllo "),
        delta(0, "text_delta", "text", "漢"),
        stop(0),
    ];
    events.extend(finish("end_turn"));
    let usage = |output| {
        ModelEvent::Usage(Usage {
            input: Some(1110),
            output: Some(output),
            reasoning: None,
            cached_read: Some(1000),
            cached_write: Some(100),
        })
    };
    assert_eq!(
        portable(decode(&events).unwrap()),
        [
            usage(1),
            text("héllo 漢"),
            usage(9),
            end(StopReason::EndTurn)
        ]
    );
}

#[test]
fn thinking_with_its_signature_text_and_calls_in_order() {
    let mut events = vec![
        start(
            0,
            json!({"type": "thinking", "thinking": "", "signature": ""}),
        ),
        delta(0, "thinking_delta", "thinking", "Let me "),
        delta(0, "thinking_delta", "thinking", "see."),
        delta(0, "signature_delta", "signature", "sig="),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "opaque"})),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, "text_delta", "text", "I look."),
        stop(2),
    ];
    events.extend(tool_use(3, "toolu_1"));
    events.extend(tool_use(4, "toolu_2"));
    events.extend(finish("tool_use"));
    let decoded = decode(&events).unwrap();
    assert_eq!(
        native(&decoded).unwrap(),
        json!([
            {"type": "thinking", "thinking": "Let me see.", "signature": "sig="},
            {"type": "redacted_thinking", "data": "opaque"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "grep", "input": {"x": 1}},
            {"type": "tool_use", "id": "toolu_2", "name": "grep", "input": {"x": 1}},
        ])
    );
    let decoded: Vec<_> = portable(decoded)
        .into_iter()
        .filter(|event| !matches!(event, ModelEvent::Usage(_)))
        .collect();
    assert_eq!(
        decoded,
        [
            reasoning("Let me see."),
            text("I look."),
            call("toolu_1", "grep", "{\"x\": 1}"),
            call("toolu_2", "grep", "{\"x\": 1}"),
            end(StopReason::ToolCalls)
        ]
    );
}

#[test]
fn interleaved_blocks_keep_their_pieces() {
    let mut events = vec![
        start(
            1,
            json!({"type": "tool_use", "id": "b", "name": "g", "input": {}}),
        ),
        start(
            0,
            json!({"type": "tool_use", "id": "a", "name": "f", "input": {}}),
        ),
        delta(1, "input_json_delta", "partial_json", "{\"y\":"),
        delta(0, "input_json_delta", "partial_json", "{\"x\":1}"),
        delta(1, "input_json_delta", "partial_json", "2}"),
    ];
    events.extend(finish("tool_use"));
    let decoded = decode(&events).unwrap();
    assert_eq!(decoded[1], call("a", "f", "{\"x\":1}"));
    assert_eq!(decoded[2], call("b", "g", "{\"y\":2}"));
}

#[test]
fn a_call_whose_input_came_with_its_start_or_not_at_all_is_whole() {
    let mut events = vec![
        start(
            0,
            json!({"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}),
        ),
        stop(0),
        start(1, json!({"type": "tool_use", "id": "b", "name": "g"})),
        stop(1),
    ];
    events.extend(finish("tool_use"));
    let decoded = decode(&events).unwrap();
    assert_eq!(decoded[1], call("a", "f", "{\"x\":1}"));
    assert_eq!(decoded[2], call("b", "g", "{}"));
}

/// A limit in the middle of a call: the call is given for the check to refuse, and
/// repeated as an object, which the API wants.
#[test]
fn half_arguments_are_passed_on_as_they_are() {
    let mut events = vec![
        start(
            0,
            json!({"type": "tool_use", "id": "a", "name": "f", "input": {}}),
        ),
        delta(0, "input_json_delta", "partial_json", "{\"x\":"),
    ];
    events.extend(finish("max_tokens"));
    let decoded = decode(&events).unwrap();
    assert_eq!(decoded[1], call("a", "f", "{\"x\":"));
    assert_eq!(
        native(&decoded).unwrap()[0]["input"],
        json!({"invalid_arguments": "{\"x\":"})
    );
}

#[test]
fn a_stream_without_an_end_is_truncated_and_its_calls_never_given() {
    let mut events = vec![
        start(0, json!({"type": "text", "text": ""})),
        delta(0, "text_delta", "text", "par"),
    ];
    events.extend(tool_use(1, "a"));
    let result = decode(&events);
    assert!(matches!(result, Err(ProviderError::Truncated { .. })));
    assert!(matches!(decode(&[]), Err(ProviderError::Truncated { .. })));
    // A reason to stop is an end, even if the last event is lost.
    events.push(finish("tool_use")[0].clone());
    assert!(decode(&events).is_ok());
}

#[test]
fn errors_inside_the_stream_are_errors_however_they_look() {
    let said = [
        start(0, json!({"type": "text", "text": ""})),
        delta(0, "text_delta", "text", "par"),
    ];
    for (error, code) in [
        (
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            Some("overloaded_error"),
        ),
        (json!({"error": {"message": "Overloaded"}}), None),
        (json!({"error": "Overloaded"}), None),
        (json!({"type": "error", "message": "Overloaded"}), None),
    ] {
        let mut events = said.to_vec();
        events.push(error);
        let result = decode(&events);
        let expected = ProviderError::Reported {
            message: "Overloaded".into(),
            code: code.map(str::to_owned),
        };
        assert_eq!(result, Err(expected));
    }
    let unsaid = "event: error\ndata: {\"message\":\"gone\"}\n\n";
    let result = test_support::decode(&Anthropic, &route("m"), unsaid);
    assert!(matches!(result, Err(ProviderError::Reported { message, .. }) if message == "gone"));
    let named = "event: error\ndata: upstream gone\n\n";
    let result = test_support::decode(&Anthropic, &route("m"), named);
    assert!(
        matches!(result, Err(ProviderError::Reported { message, .. }) if message == "upstream gone")
    );
}

#[test]
fn stop_reasons() {
    let reason = |reason: &str| {
        let mut events = vec![start(0, json!({"type": "text", "text": "x"}))];
        events.extend(finish(reason));
        decode(&events).unwrap().pop().unwrap()
    };
    assert_eq!(reason("max_tokens"), end(StopReason::MaxTokens));
    assert_eq!(reason("refusal"), end(StopReason::Refusal));
    assert_eq!(reason("stop_sequence"), end(StopReason::EndTurn));
    assert_eq!(
        reason("pause_turn"),
        end(StopReason::Other("pause_turn".into()))
    );
}

#[test]
fn nulls_unknown_events_and_missing_indexes_lose_nothing() {
    let mut events = vec![
        json!({"type": "message_start", "message": null}),
        json!({"type": "something_new", "x": 1}),
        json!({"type": "content_block_start", "content_block": {"type": "text", "text": null}}),
        json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}}),
        json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": null}}),
        json!({"type": "content_block_delta", "delta": {"type": "new_delta", "text": "b"}}),
        json!({"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "more"}}),
        json!({"type": "content_block_delta", "delta": null}),
        json!({"type": "content_block_start", "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": null}}),
        json!({"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
        json!({"type": "content_block_start", "index": 9, "content_block": null}),
        json!({"type": "message_delta", "delta": {"stop_reason": null}, "usage": null}),
    ];
    events.extend(finish("tool_use"));
    let decoded = decode(&events).unwrap();
    assert_eq!(decoded[0], text("amore"));
    assert!(decoded.contains(&call("a", "f", "{}")));
    assert_eq!(native(&decoded).unwrap().as_array().unwrap().len(), 3);
}

/// Gateways that count nothing, and those that leave out how a block begins.
#[test]
fn blocks_at_one_index_and_blocks_without_a_beginning_are_not_lost() {
    let mut events = vec![
        start(0, json!({"type": "text", "text": ""})),
        delta(0, "text_delta", "text", "hi"),
    ];
    events.extend(tool_use(0, "a"));
    events.extend(tool_use(0, "b"));
    events.extend(finish("tool_use"));
    let decoded = decode(&events).unwrap();
    assert_eq!(decoded[0], text("hi"));
    assert_eq!(decoded[2], call("a", "grep", "{\"x\": 1}"));
    assert_eq!(decoded[3], call("b", "grep", "{\"x\": 1}"));

    let mut events = vec![
        delta(0, "thinking_delta", "thinking", "hm"),
        delta(1, "text_delta", "text", "hi"),
        delta(2, "input_json_delta", "partial_json", "{}"),
    ];
    events.extend(finish("tool_use"));
    let decoded = decode(&events).unwrap();
    assert_eq!(decoded[0], reasoning("hm"));
    assert_eq!(decoded[1], text("hi"));
    // The runtime tells the model that a call needs a name.
    assert!(decoded.contains(&call("", "", "{}")));
}

#[test]
fn a_call_that_the_limit_kept_from_its_input_is_none_and_other_inputs_are_checked() {
    let mut events = tool_use(0, "a");
    events.extend([
        start(
            1,
            json!({"type": "tool_use", "id": "b", "name": "f", "input": {}}),
        ),
        stop(1),
    ]);
    events.extend(finish("max_tokens"));
    let decoded = decode(&events).unwrap();
    assert_eq!(decoded[1], call("a", "grep", "{\"x\": 1}"));
    assert_eq!(native(&decoded).unwrap().as_array().unwrap().len(), 1);
    let mut only = events.split_off(5);
    assert_eq!(decode(&only).unwrap()[1], end(StopReason::MaxTokens));

    only = vec![start(
        0,
        json!({"type": "tool_use", "id": "b", "name": "f", "input": [1]}),
    )];
    only.extend(finish("tool_use"));
    assert_eq!(decode(&only).unwrap()[1], call("b", "f", "[1]"));
}

#[test]
fn an_end_in_calls_without_a_call_is_an_error() {
    let mut events = vec![start(0, json!({"type": "text", "text": "I look."}))];
    events.extend(finish("tool_use"));
    let result = decode(&events);
    assert!(
        matches!(result, Err(ProviderError::Protocol { .. })),
        "{result:?}"
    );
}

#[test]
fn numbers_of_any_size_break_nothing() {
    let most = u64::MAX;
    let usage = json!({"input_tokens": most, "cache_read_input_tokens": most,
        "cache_creation_input_tokens": most});
    let mut events = vec![
        json!({"type": "message_start", "message": {"usage": usage}}),
        start(most, json!({"type": "text", "text": "a"})),
        json!({"type": "content_block_start", "content_block": {"type": "text", "text": "b"}}),
        json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 1}}),
    ];
    events.extend(finish("end_turn"));
    assert!(decode(&events).unwrap().contains(&text("ab")));
}

#[test]
fn an_answer_in_one_piece_or_of_endlessly_many_blocks() {
    let body = json!({"type": "message", "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn"});
    let whole = test_support::decode(&Anthropic, &route("m"), &body.to_string()).unwrap();
    assert_eq!(whole[0], text("hi"));
    let many: Vec<Value> = (0..3000)
        .map(|index| start(index, json!({"type": "text"})))
        .collect();
    let pieces = stream(&many);
    let result = test_support::decode_pieces(&Anthropic, &route("m"), &[pieces.as_bytes()]);
    assert!(matches!(result, Err(ProviderError::Protocol { .. })));
}

#[test]
fn an_event_that_is_no_json_is_an_error() {
    let result = test_support::decode(&Anthropic, &route("m"), "data: {\"type\":\n\n");
    assert!(matches!(result, Err(ProviderError::Protocol { .. })));
}

#[test]
fn a_whole_body_is_decoded_like_a_stream() {
    let body = json!({"type": "message", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}],
        "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 2}});
    let mut out = Vec::new();
    Anthropic.decode_body(&route("m"), &body, &mut out).unwrap();
    assert_eq!(native(&out).unwrap(), body["content"]);
    assert_eq!(out[0], reasoning("hm"));
    assert_eq!(out[1], text("I look."));
    assert_eq!(out[3], call("a", "f", "{\"x\":1}"));
    assert_eq!(out[5], end(StopReason::ToolCalls));
    for (body, reported) in [
        (json!({"x": 1}), false),
        (json!({"type": "error", "error": {"message": "no"}}), true),
    ] {
        let error = Anthropic.decode_body(&route("m"), &body, &mut Vec::new());
        assert_eq!(
            matches!(error, Err(ProviderError::Reported { .. })),
            reported
        );
    }
}

/// Without a signature, and blank, a block would be refused.
#[test]
fn blocks_that_the_api_refuses_are_not_repeated() {
    let mut events = vec![
        start(0, json!({"type": "thinking", "thinking": ""})),
        delta(0, "thinking_delta", "thinking", "unsigned"),
        start(1, json!({"type": "text", "text": ""})),
        delta(1, "text_delta", "text", "\n\n"),
        start(
            2,
            json!({"type": "text", "text": "said", "citations": null}),
        ),
    ];
    events.extend(finish("end_turn"));
    assert_eq!(
        native(&decode(&events).unwrap()).unwrap(),
        json!([{"type": "text", "text": "said"}])
    );
}

fn encode(model: &str, conversation: Vec<ConversationEntry>) -> Value {
    Anthropic.encode(&route(model), &request(conversation))
}

/// The messages without the marks of the cache, which move.
fn unmarked(body: &Value) -> Value {
    let mut messages = body["messages"].clone();
    for message in messages.as_array_mut().unwrap() {
        for block in message["content"].as_array_mut().unwrap() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    messages
}

#[test]
fn an_answer_of_elsewhere_is_told_in_plain_blocks() {
    let foreign = route("other");
    let body = encode(
        "m",
        vec![
            user("hi"),
            ConversationEntry::SampleStart,
            ConversationEntry::Reasoning("private".into()),
            assistant("I look."),
            native_entry(
                &foreign,
                json!([{"type": "thinking", "signature": "foreign"}]),
            ),
            exchange("call:1", json!({"a": ""}), "one"),
            exchange("b", json!("{half"), ""),
            user("go on"),
            user("  "),
        ],
    );
    assert_eq!(
        unmarked(&body),
        json!([
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "call_1", "name": "grep", "input": {"a": ""}},
                {"type": "tool_use", "id": "b", "name": "grep",
                    "input": {"invalid_arguments": "{half"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "one"},
                {"type": "tool_result", "tool_use_id": "b"},
                {"type": "text", "text": "go on"}]},
        ])
    );
}

#[test]
fn an_answer_of_this_route_is_repeated_as_it_came_and_each_call_has_a_result() {
    let blocks = json!([
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "x", "name": "grep", "input": {}},
        {"type": "tool_use", "id": "x", "name": "grep", "input": {}},
    ]);
    let body = encode(
        "m",
        vec![
            user("hi"),
            ConversationEntry::SampleStart,
            ConversationEntry::Reasoning("t".into()),
            assistant("I look."),
            native_entry(&route("m"), blocks.clone()),
            exchange("x", json!({}), "one"),
        ],
    );
    let messages = unmarked(&body);
    assert_eq!(messages[1]["content"], blocks);
    assert_eq!(
        messages[2]["content"][0],
        json!({"type": "tool_result", "tool_use_id": "x", "content": "one"})
    );
    let unknown = &messages[2]["content"][1];
    assert_eq!(unknown["is_error"], true);
    assert!(unknown["content"].as_str().unwrap().contains("unknown"));
    assert_eq!(messages.as_array().unwrap().len(), 3);
}

#[test]
fn a_request_repeats_the_one_before_it() {
    let mut conversation = vec![
        user("hi"),
        ConversationEntry::SampleStart,
        native_entry(
            &route("m"),
            json!([{"type": "tool_use", "id": "a", "name": "grep", "input": {"z": 1, "a": 2}}]),
        ),
        exchange("a", json!({}), "one"),
    ];
    let first = unmarked(&encode("m", conversation.clone())).to_string();
    conversation.extend([
        ConversationEntry::SampleStart,
        assistant("Done."),
        user("x"),
    ]);
    let second = unmarked(&encode("m", conversation)).to_string();
    assert!(second.starts_with(first.trim_end_matches(']')), "{second}");
}

#[test]
fn the_cache_is_marked_after_system_tools_and_the_last_two_user_messages() {
    let mut request = request(vec![
        user("one"),
        assistant("1"),
        user("two"),
        assistant("2"),
        user("three"),
    ]);
    request.tools = ["f", "g"]
        .map(|name| WireTool {
            name: name.into(),
            description: "d".into(),
            parameters: json!({"type": "object"}),
        })
        .into();
    let body = Anthropic.encode(&route("m"), &request);
    let marked = |value: &Value| value.get("cache_control").is_some();
    assert!(marked(&body["system"][0]));
    assert!(!marked(&body["tools"][0]) && marked(&body["tools"][1]));
    let users: Vec<bool> = [0, 2, 4]
        .map(|index| marked(&body["messages"][index]["content"][0]))
        .into();
    assert_eq!(users, [false, true, true]);
}

#[test]
fn thinking_in_the_words_of_each_generation() {
    let ask = |model: &str, thinking, effort, max_tokens| {
        let mut request = request(vec![user("x")]);
        request.model = model.into();
        request.params.thinking = thinking;
        request.params.effort = effort;
        request.params.max_tokens = max_tokens;
        request.params.temperature = Some(0.5);
        Anthropic.encode(&route(model), &request)
    };
    let plain = ask("claude-sonnet-4-5", Thinking::Auto, None, None);
    assert_eq!(plain.get("thinking"), None);
    assert_eq!(plain["temperature"], 0.5);
    assert_eq!(plain["max_tokens"], 32_000);
    let older = ask(
        "claude-sonnet-4-5",
        Thinking::Auto,
        Some(Effort::High),
        None,
    );
    assert_eq!(
        older["thinking"],
        json!({"type": "enabled", "budget_tokens": 16_384})
    );
    assert_eq!(older.get("temperature"), None);
    let small = ask("kimi", Thinking::Enabled, None, Some(4_000));
    assert_eq!(small["thinking"]["budget_tokens"], 3_000);
    let newer = ask("claude-opus-4-6", Thinking::Auto, Some(Effort::XHigh), None);
    assert_eq!(newer["thinking"]["type"], "adaptive");
    assert_eq!(newer["output_config"], json!({"effort": "max"}));
    let off = ask(
        "claude-opus-4-6",
        Thinking::Disabled,
        Some(Effort::Low),
        None,
    );
    assert_eq!(off["thinking"], json!({"type": "disabled"}));
    assert_eq!(off.get("output_config"), None);
    assert_eq!(
        ask("claude-3-5-haiku", Thinking::Auto, None, None)["max_tokens"],
        8_192
    );
}

#[test]
fn the_users_own_fields_count_last() {
    let mut route = route("m");
    route.extra.insert("max_tokens".into(), 7.into());
    route
        .extra
        .insert("metadata".into(), json!({"user_id": "u"}));
    let body = Anthropic.encode(&route, &request(vec![user("x")]));
    assert_eq!(body["max_tokens"], 7);
    assert_eq!(body["metadata"]["user_id"], "u");
    assert_eq!(body["stream"], true);
}

#[test]
fn pictures_come_before_the_words_about_them() {
    let body = encode("m", vec![user("look"), picture("a.png", Some("aGk="))]);
    assert_eq!(
        unmarked(&body)[0]["content"],
        json!([
            {"type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
            {"type": "text", "text": "look"},
        ])
    );
}

use magent_types::{
    ConversationEntry, Dialect, Effort, ModelEvent, SamplingParams, StopReason, Thinking, Usage,
};
use serde_json::json;

use super::*;
use crate::dialect::test_support::{
    self, assistant, call, end, events as stream, native, native_entry, picture, request, text,
    user,
};
use crate::{ProviderError, WireTool};

fn route(model: &str) -> Route {
    test_support::route(Dialect::OpenAiChat, model)
}

/// Decodes a stream given as event data, each way of cutting it the same.
fn decode(events: &[&str]) -> Result<Vec<ModelEvent>, ProviderError> {
    test_support::decode(&OpenAiChat, &route("m"), &stream(events))
}

fn decode_bytes(pieces: &[&[u8]]) -> Result<Vec<ModelEvent>, ProviderError> {
    test_support::decode_pieces(&OpenAiChat, &route("m"), pieces)
}

#[test]
fn text_and_usage() {
    let events = decode(&[
        r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
        r#"{"choices":[{"delta":{"content":"héllo 漢"}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":2},"completion_tokens_details":{"reasoning_tokens":1}},"timings":{}}"#,
        "[DONE]",
    ]);
    let usage = Usage {
        input: Some(7),
        output: Some(3),
        reasoning: Some(1),
        cached_read: Some(2),
        cached_write: None,
    };
    assert_eq!(
        events.unwrap(),
        [
            text("héllo 漢"),
            ModelEvent::Usage(usage),
            end(StopReason::EndTurn)
        ]
    );
}

#[test]
fn one_normal_tool_call() {
    let events = decode(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        "[DONE]",
    ]);
    assert_eq!(
        events.unwrap(),
        [call("a", "f", "{\"x\":1}"), end(StopReason::ToolCalls)]
    );
}

#[test]
fn text_and_a_call_in_one_delta_lose_nothing() {
    let events = decode(&[
        r#"{"choices":[{"delta":{"content":"hi","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
    ]);
    assert_eq!(
        events.unwrap(),
        [text("hi"), call("a", "f", "{}"), end(StopReason::ToolCalls)]
    );
}

#[test]
fn two_calls_in_one_delta_are_two_calls() {
    let events = decode(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":1}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{\"b\":2}"}}]},"finish_reason":"tool_calls"}]}"#,
    ]);
    assert_eq!(
        events.unwrap(),
        [
            call("a", "f", "{\"a\":1}"),
            call("b", "g", "{\"b\":2}"),
            end(StopReason::ToolCalls)
        ]
    );
}

#[test]
fn calls_at_different_indexes_with_one_id_are_two_calls() {
    let events = decode(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\""}},{"index":1,"id":"a","function":{"name":"g","arguments":"{\"b\""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"a","function":{"arguments":":2}"}},{"index":0,"id":"a","function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}"#,
    ]);
    assert_eq!(
        events.unwrap(),
        [
            call("a", "f", "{\"a\":1}"),
            call("a", "g", "{\"b\":2}"),
            end(StopReason::ToolCalls)
        ]
    );
}

#[test]
fn calls_interleaved_by_index_keep_their_arguments() {
    let piece = |index: u64, id: &str, arguments: &str| {
        let mut call = json!({"index": index, "function": {"arguments": arguments}});
        if !id.is_empty() {
            call["id"] = id.into();
            call["function"]["name"] = format!("f{index}").into();
        }
        json!({"choices": [{"delta": {"tool_calls": [call]}}]}).to_string()
    };
    let events = [
        piece(0, "a", "{\"x\""),
        piece(1, "b", "{\"y\""),
        piece(0, "", ":1}"),
        piece(1, "", ":2}"),
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned(),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    assert_eq!(
        decode(&events).unwrap(),
        [
            call("a", "f0", "{\"x\":1}"),
            call("b", "f1", "{\"y\":2}"),
            end(StopReason::ToolCalls)
        ]
    );
}

/// E55, C4, goose#6796: null and "null" names, null arguments, empty ids.
#[test]
fn nulls_in_pieces_of_a_call_mean_nothing() {
    let events = decode(&[
        r#"{"choices":[{"delta":{"content":null,"tool_calls":[{"index":0,"id":"a","function":{"name":"view","arguments":null}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"null","arguments":"{\"b\""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":null,"function":{"name":null,"arguments":":1}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":null},"finish_reason":"tool_calls"}]}"#,
        "[DONE]",
    ]);
    assert_eq!(
        events.unwrap(),
        [call("a", "view", "{\"b\":1}"), end(StopReason::ToolCalls)]
    );
}

#[test]
fn whole_calls_without_an_index_or_all_at_index_zero_stay_apart() {
    for index in ["", "\"index\":0,"] {
        let first = format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{{index}"id":"a","function":{{"name":"f","arguments":"{{}}"}}}}]}}}}]}}"#
        );
        let second = first.replace("\"a\"", "\"b\"").replace("\"f\"", "\"g\"");
        let events = decode(&[
            &first,
            &second,
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        ]);
        assert_eq!(
            events.unwrap(),
            [
                call("a", "f", "{}"),
                call("b", "g", "{}"),
                end(StopReason::ToolCalls)
            ]
        );
    }
}

fn pieces(pieces: &[&str]) -> Vec<ModelEvent> {
    let mut events: Vec<String> = pieces
        .iter()
        .map(|piece| format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{piece}]}}}}]}}"#))
        .collect();
    events.push(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#.into());
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    decode(&events).unwrap()
}

/// Servers that give every call the index 0: what follows belongs to the newest one.
#[test]
fn pieces_of_calls_at_one_index_go_to_the_call_that_began_last() {
    let events = pieces(&[
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\""}}"#,
        r#"{"index":0,"function":{"arguments":":1}"}}"#,
        r#"{"index":0,"id":"b","function":{"name":"g","arguments":""}}"#,
        r#"{"index":0,"function":{"arguments":"{\"b\""}}"#,
        r#"{"index":0,"function":{"arguments":":2}"}}"#,
    ]);
    assert_eq!(events[0], call("a", "f", "{\"a\":1}"));
    assert_eq!(events[1], call("b", "g", "{\"b\":2}"));
}

#[test]
fn whole_calls_at_one_index_without_an_id_stay_apart_and_repeated_ones_count_once() {
    let events = pieces(&[
        r#"{"index":0,"id":"","function":{"name":"f","arguments":"{\"a\":1}"}}"#,
        r#"{"index":0,"id":"","function":{"name":"f","arguments":"{\"a\":2}"}}"#,
        r#"{"index":0,"id":"","function":{"name":"g"}}"#,
        r#"{"index":0,"id":"","function":{"name":"h","arguments":"{}"}}"#,
    ]);
    assert_eq!(
        events[..4],
        [
            call("", "f", "{\"a\":1}"),
            call("", "f", "{\"a\":2}"),
            call("", "g", ""),
            call("", "h", "{}")
        ]
    );
    let again = r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":1}"}}"#;
    let other = again.replace("1}", "2}");
    let events = pieces(&[again, again, &other]);
    assert_eq!(
        events[..2],
        [call("a", "f", "{\"a\":1}"), call("a", "f", "{\"a\":2}")]
    );
    // A name that comes with every piece begins nothing.
    let events = pieces(&[
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\""}}"#,
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":":{}"}}"#,
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}"#,
    ]);
    assert_eq!(events[0], call("a", "f", "{\"a\":{}}"));
}

#[test]
fn indexes_of_any_size_break_nothing() {
    let most = u64::MAX;
    let at = |index: &str, id: &str| {
        format!(r#"{{{index}"id":"{id}","function":{{"name":"f","arguments":"{{}}"}}}}"#)
    };
    let events = pieces(&[
        &at(&format!("\"index\":{most},"), "a"),
        &at("", "b"),
        &at("\"index\":-1,", "c"),
        &at("\"index\":1e300,", "d"),
    ]);
    assert_eq!(events.len(), 5);
    assert_eq!(events[3], call("d", "f", "{}"));
    let many: Vec<String> = (0..3000)
        .map(|index| at(&format!("\"index\":{index},"), "a"))
        .collect();
    let data = stream(&[&format!(
        r#"{{"choices":[{{"delta":{{"tool_calls":[{}]}}}}]}}"#,
        many.join(",")
    )]);
    let result = decode_bytes(&[data.as_bytes()]);
    assert!(matches!(result, Err(ProviderError::Protocol { .. })));
}

#[test]
fn the_call_of_the_first_version_is_a_call() {
    let events = decode(&[
        r#"{"choices":[{"delta":{"function_call":{"name":"f","arguments":""}}}]}"#,
        r#"{"choices":[{"delta":{"function_call":{"arguments":"{\"x\":1}"}}}]}"#,
        r#"{"choices":[{"delta":{"function_call":null},"finish_reason":"function_call"}]}"#,
    ]);
    assert_eq!(
        events.unwrap(),
        [call("", "f", "{\"x\":1}"), end(StopReason::ToolCalls)]
    );
}

#[test]
fn an_end_in_calls_without_a_call_and_reasons_that_are_failures_are_errors() {
    let ended = |reason: &str, said: &str| {
        decode(&[&format!(
            r#"{{"choices":[{{"delta":{{{said}}},"finish_reason":"{reason}"}}]}}"#
        )])
    };
    let nothing =
        r#""tool_calls":[{"index":0,"id":"","type":"function","function":{"arguments":null}}]"#;
    for said in ["", r#""content":"I look.""#, nothing] {
        let result = ended("tool_calls", said);
        assert!(
            matches!(result, Err(ProviderError::Protocol { .. })),
            "{result:?}"
        );
    }
    for reason in [
        "error",
        "network_error",
        "MALFORMED_FUNCTION_CALL",
        "function_call_filter: MALFORMED_FUNCTION_CALL",
    ] {
        let result = ended(reason, r#""content":"par""#);
        assert!(
            matches!(&result, Err(ProviderError::Reported { code: Some(code), .. }) if code == reason),
            "{result:?}"
        );
    }
    // A limit before the arguments: without them the call would mean something else.
    let begun = r#""tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]"#;
    assert_eq!(
        ended("length", begun).unwrap(),
        [end(StopReason::MaxTokens)]
    );
    assert_eq!(ended("stop", begun).unwrap()[0], call("a", "f", ""));
}

#[test]
fn content_in_parts_is_words_thoughts_or_an_error() {
    let said = |content: &str| {
        decode(&[&format!(
            r#"{{"choices":[{{"delta":{{"content":{content}}},"finish_reason":"stop"}}]}}"#
        )])
    };
    let parts =
        r#"[{"type":"thinking","thinking":[{"type":"text","text":"h"},{"type":"text","text":"m"}]},
        {"type":"thinking","thinking":"!"},{"type":"text","text":"a"},"b",
        {"type":"reference","reference_ids":[1]},{"text":"c"},{"type":"text","text":null}]"#
            .replace('\n', "");
    assert_eq!(
        said(&parts).unwrap()[..2],
        [ModelEvent::ReasoningDelta("hm!".into()), text("abc")]
    );
    assert_eq!(said(r#"{"text":"a"}"#).unwrap()[0], text("a"));
    for lost in [r#"[{"type":"image_url","image_url":{"url":"x"}}]"#, "7"] {
        let result = said(lost);
        assert!(matches!(result, Err(ProviderError::Protocol { .. })));
    }
    let picture = decode(&[
        r#"{"choices":[{"delta":{"content":"see","images":[{"type":"image_url"}]},"finish_reason":"stop"}]}"#,
    ]);
    assert!(matches!(picture, Err(ProviderError::Protocol { .. })));
}

/// Groq, OpenRouter and Moonshot put errors and numbers into fields of their own.
#[test]
fn errors_and_usage_in_fields_of_a_providers_own() {
    for chunk in [
        r#"{"choices":[],"x_groq":{"id":"r","error":"over capacity"}}"#,
        r#"{"choices":[{"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"over capacity"}}]}"#,
    ] {
        let result = decode(&[chunk]);
        assert!(
            matches!(&result, Err(ProviderError::Reported { message, .. }) if message == "over capacity"),
            "{result:?}"
        );
    }
    for chunk in [
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":7,"cached_tokens":3}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":7,"prompt_tokens_details":{"cached_tokens":3}}}}"#,
    ] {
        let usage = Usage {
            input: Some(7),
            cached_read: Some(3),
            ..Usage::default()
        };
        assert_eq!(decode(&[chunk]).unwrap()[0], ModelEvent::Usage(usage));
    }
}

#[test]
fn only_the_first_of_several_choices_is_the_answer() {
    let events = decode(&[
        r#"{"choices":[{"index":1,"delta":{"content":"B"}},{"index":0,"delta":{"content":"a"}}]}"#,
        r#"{"choices":[{"index":1,"delta":{"content":"B"},"finish_reason":"length"}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}"#,
    ]);
    assert_eq!(events.unwrap(), [text("ab"), end(StopReason::EndTurn)]);
}

#[test]
fn arguments_given_as_an_object_are_taken() {
    let events = decode(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]},"finish_reason":"tool_calls"}]}"#,
    ]);
    assert_eq!(events.unwrap()[0], call("a", "f", "{\"x\":1}"));
    // What is no object is for the check to refuse, but the empty list of PHP is one.
    for (arguments, given) in [("[1]", "[1]"), ("7", "7"), ("[]", "")] {
        let piece =
            format!(r#"{{"index":0,"id":"a","function":{{"name":"f","arguments":{arguments}}}}}"#);
        assert_eq!(pieces(&[&piece])[0], call("a", "f", given));
    }
}

#[test]
fn a_missing_end_marker_is_fine_after_a_finish_reason() {
    let events = decode(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
    ]);
    assert_eq!(events.unwrap()[0], call("a", "f", "{}"));
}

#[test]
fn a_stream_without_any_end_is_truncated_and_its_half_call_never_given() {
    let error = decode(&[
        r#"{"choices":[{"delta":{"content":"par"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\""}}]}}]}"#,
    ]);
    assert!(
        matches!(error, Err(ProviderError::Truncated { .. })),
        "{error:?}"
    );
    assert!(matches!(decode(&[]), Err(ProviderError::Truncated { .. })));
}

/// C2, E58: errors inside a stream, wherever they stand and however they look.
#[test]
fn an_error_inside_the_stream_is_an_error() {
    let message = |events: &[&str]| match decode(events) {
        Err(ProviderError::Reported { message, code }) => (message, code),
        other => panic!("{other:?}"),
    };
    let said = r#"{"choices":[{"delta":{"content":"par"}}]}"#;
    let nested = r#"{"error":{"message":"overloaded","code":529}}"#;
    assert_eq!(message(&[nested]).0, "overloaded");
    assert_eq!(message(&[said, nested, "[DONE]"]).1.unwrap(), "529");
    let flat = r#"{"object":"error","message":"bad model","type":"NotFound"}"#;
    assert_eq!(
        message(&[said, flat]),
        ("bad model".into(), Some("NotFound".into()))
    );
    assert_eq!(message(&[r#"{"error":"plain"}"#]).0, "plain");
    assert_eq!(
        message(&[r#"[{"error":{"message":"listed"}}]"#]).0,
        "listed"
    );
    // Some servers send every field they have.
    let empty = r#"{"error":"","choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    assert!(decode(&[empty]).is_ok());
    let body = decode_bytes(&[b"{\n  \"error\": {\"message\": \"no model\"}\n}\n"]);
    assert!(matches!(body, Err(ProviderError::Reported { message, .. }) if message == "no model"));
    let page = decode_bytes(&[b"<html>\n<body>login</body>\n</html>\n"]);
    assert!(page.unwrap_err().to_string().contains("a web page"));
    let named = decode_bytes(&[b"event: error\ndata: upstream gone\n\n"]);
    assert!(
        matches!(named, Err(ProviderError::Reported { message, .. }) if message == "upstream gone")
    );
}

#[test]
fn truncated_arguments_are_passed_on_as_they_are_for_the_check() {
    let events = decode(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#,
        "[DONE]",
    ]);
    assert_eq!(events.unwrap()[0], call("a", "f", "{\"a\":"));
}

/// E61, E62.
#[test]
fn reasoning_in_both_spellings_and_empty_ones_ignored() {
    let events = decode(&[
        r#"{"choices":[{"delta":{"content":null,"reasoning_content":"hm"}}]}"#,
        r#"{"choices":[{"delta":{"content":"","reasoning":" ok","reasoning_details":[]}}]}"#,
        r#"{"choices":[{"delta":{"content":"hi","reasoning":"","reasoning_details":[]}}]}"#,
        r#"{"choices":[{"delta":{"content":""},"finish_reason":"stop"}]}"#,
    ]);
    assert_eq!(
        events.unwrap(),
        [
            ModelEvent::ReasoningDelta("hm ok".into()),
            text("hi"),
            end(StopReason::EndTurn)
        ]
    );
}

#[test]
fn stop_reasons() {
    let stop = |reason: &str| {
        let last = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
        decode(&[&last]).unwrap().pop().unwrap()
    };
    assert_eq!(stop("length"), end(StopReason::MaxTokens));
    assert_eq!(stop("content_filter"), end(StopReason::Refusal));
    assert_eq!(stop("weird"), end(StopReason::Other("weird".into())));
    let refused =
        decode(&[r#"{"choices":[{"delta":{"refusal":"I cannot"},"finish_reason":"stop"}]}"#]);
    assert_eq!(
        refused.unwrap(),
        [text("I cannot"), end(StopReason::Refusal)]
    );
}

#[test]
fn an_event_that_is_no_json_is_an_error_and_keep_alives_are_not() {
    assert!(matches!(
        decode(&["{\"choices\":"]),
        Err(ProviderError::Protocol { .. })
    ));
    let kept = decode_bytes(&[
        b": OPENROUTER PROCESSING\n\ndata: \n\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n: x\n\n",
    ]);
    assert_eq!(kept.unwrap(), [text("a"), end(StopReason::EndTurn)]);
}

/// E56, E69: one body instead of a stream.
#[test]
fn a_whole_body_is_decoded_like_a_stream() {
    let body = json!({"choices": [{"message": {"content": null, "tool_calls": [
        {"id": "a", "function": {"name": "f", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2}});
    let mut out = Vec::new();
    OpenAiChat
        .decode_body(&route("m"), &body, &mut out)
        .unwrap();
    assert_eq!(out[1], call("a", "f", "{}"));
    let mut out = Vec::new();
    let empty = OpenAiChat.decode_body(&route("m"), &json!({"x": 1}), &mut out);
    assert!(matches!(empty, Err(ProviderError::Protocol { .. })));
    let error = OpenAiChat.decode_body(&route("m"), &json!({"error": {"message": "no"}}), &mut out);
    assert!(matches!(error, Err(ProviderError::Reported { .. })));
}

fn exchange(id: &str, output: &str) -> ConversationEntry {
    let input = json!({"a": "", "b": null, "c": {}, "d": [], "e": false});
    test_support::exchange(id, input, output)
}

/// The words before a call stay with it, and samples stay apart, so that each request
/// repeats the one before it byte for byte.
#[test]
fn samples_become_one_message_each_and_a_prefix_of_the_next_request() {
    let mut conversation = vec![
        user("hi"),
        ConversationEntry::SampleStart,
        ConversationEntry::Reasoning("private".into()),
        assistant("I look."),
        exchange("a", "one"),
        exchange("b", "two"),
    ];
    let first = OpenAiChat.encode(&route("m"), &request(conversation.clone()));
    assert_eq!(
        first["messages"],
        json!([
            {"role": "system", "content": "be good"},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "I look.", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "grep",
                    "arguments": "{\"a\":\"\",\"b\":null,\"c\":{},\"d\":[],\"e\":false}"}},
                {"id": "b", "type": "function", "function": {"name": "grep",
                    "arguments": "{\"a\":\"\",\"b\":null,\"c\":{},\"d\":[],\"e\":false}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "one"},
            {"role": "tool", "tool_call_id": "b", "content": "two"},
        ])
    );
    conversation.extend([ConversationEntry::SampleStart, exchange("c", "three")]);
    let second = OpenAiChat.encode(&route("m"), &request(conversation));
    let (first, second) = (
        first["messages"].to_string(),
        second["messages"].to_string(),
    );
    assert!(second.starts_with(first.trim_end_matches(']')), "{second}");
}

/// C10, C11.
#[test]
fn deepseek_gets_the_reasoning_of_a_call_back_and_of_an_answer_not() {
    let conversation = vec![
        user("hi"),
        ConversationEntry::SampleStart,
        ConversationEntry::Reasoning("think".into()),
        assistant("look"),
        exchange("a", "one"),
        ConversationEntry::SampleStart,
        ConversationEntry::Reasoning("done".into()),
        assistant("answer"),
    ];
    let body = OpenAiChat.encode(&route("deepseek-chat"), &request(conversation.clone()));
    assert_eq!(body["messages"][2]["reasoning_content"], "think");
    assert_eq!(body["messages"][2]["content"], "look");
    assert_eq!(body["messages"][4].get("reasoning_content"), None);
    let other = OpenAiChat.encode(&route("gpt"), &request(conversation));
    assert_eq!(other["messages"][2].get("reasoning_content"), None);
}

#[test]
fn numbers_tools_and_the_users_own_fields() {
    let mut request = request(vec![user("x")]);
    request.params = SamplingParams {
        temperature: Some(0.5),
        top_p: Some(0.9),
        max_tokens: Some(100),
        effort: Some(Effort::Low),
        thinking: Thinking::Auto,
    };
    request.tools = vec![WireTool {
        name: "t".into(),
        description: "d".into(),
        parameters: json!({"type": "object"}),
    }];
    let mut route = route("m");
    route.extra.insert("seed".into(), 7.into());
    let body = OpenAiChat.encode(&route, &request);
    assert_eq!(body["temperature"], 0.5);
    assert_eq!(body["max_tokens"], 100);
    assert_eq!(body["reasoning_effort"], "low");
    assert_eq!(body["seed"], 7);
    assert_eq!(body["tools"][0]["function"]["name"], "t");
    assert_eq!(body["stream_options"]["include_usage"], true);
    request.params.thinking = Thinking::Disabled;
    request.stream = false;
    let body = OpenAiChat.encode(&route, &request);
    assert_eq!(body.get("reasoning_effort"), None);
    assert_eq!(body.get("stream_options"), None);
}

#[test]
fn what_only_deepseek_understands_goes_back_to_it_and_to_nobody_else() {
    let deepseek = route("deepseek-reasoner");
    let decoded = test_support::decode(
        &OpenAiChat,
        &deepseek,
        &stream(&[
            r#"{"choices":[{"delta":{"reasoning_content":"I "}}]}"#,
            r#"{"choices":[{"delta":{"reasoning_content":"think"}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"grep","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
            "[DONE]",
        ]),
    )
    .unwrap();
    let answer = native(&decoded).unwrap();
    assert_eq!(answer, json!({"reasoning_content": "I think"}));
    // The reasoning is shown nowhere, so only the native form has it.
    let conversation = vec![
        user("hi"),
        ConversationEntry::SampleStart,
        native_entry(&deepseek, answer),
        exchange("a", "one"),
    ];
    let body = OpenAiChat.encode(&deepseek, &request(conversation.clone()));
    assert_eq!(body["messages"][2]["reasoning_content"], "I think");
    let other = OpenAiChat.encode(&route("deepseek-chat"), &request(conversation));
    assert_eq!(other["messages"][2].get("reasoning_content"), None);
    // Servers that want nothing back get nothing kept.
    let plain =
        decode(&[r#"{"choices":[{"delta":{"reasoning_content":"hm"},"finish_reason":"stop"}]}"#]);
    assert_eq!(native(&plain.unwrap()), None);
}

#[test]
fn reasoning_details_and_extras_of_calls_are_joined_and_go_back() {
    let decoded = decode(&[
        r#"{"choices":[{"delta":{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0,"signature":null}]}}]}"#,
        r#"{"choices":[{"delta":{"reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"b","index":0,"signature":"sig"}]}}]}"#,
        r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"x","index":1}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"grep","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"grep","arguments":"{}"},"extra_content":{"google":{"thought_signature":"t"}}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
    ]);
    let answer = native(&decoded.unwrap()).unwrap();
    assert_eq!(
        answer,
        json!({
            "reasoning_details": [
                {"type": "reasoning.text", "text": "ab", "index": 0, "signature": "sig"},
                {"type": "reasoning.encrypted", "data": "x", "index": 1},
            ],
            "calls": [null, {"google": {"thought_signature": "t"}}],
        })
    );
    let conversation = vec![
        user("hi"),
        ConversationEntry::SampleStart,
        native_entry(&route("m"), answer.clone()),
        exchange("a", "one"),
        exchange("b", "two"),
    ];
    let body = OpenAiChat.encode(&route("m"), &request(conversation));
    let message = &body["messages"][2];
    assert_eq!(message["reasoning_details"], answer["reasoning_details"]);
    assert_eq!(message["tool_calls"][0].get("extra_content"), None);
    assert_eq!(
        message["tool_calls"][1]["extra_content"],
        answer["calls"][1]
    );
}

#[test]
fn thinking_is_switched_in_the_servers_own_way_or_refused_before_anything_is_sent() {
    let ask = |host: &str, model: &str, thinking| {
        let mut route = route(model);
        route.url = crate::Secret::new(format!("https://{host}/v1/chat/completions"));
        let mut request = request(vec![user("x")]);
        request.params.thinking = thinking;
        OpenAiChat
            .check(&route, &request)
            .map(|()| OpenAiChat.encode(&route, &request))
    };
    let body = ask("api.deepseek.com", "chat", Thinking::Disabled).unwrap();
    assert_eq!(body["thinking"], json!({"type": "disabled"}));
    let body = ask("openrouter.ai", "deepseek/x", Thinking::Enabled).unwrap();
    assert_eq!(body["reasoning"], json!({"enabled": true}));
    assert_eq!(body.get("thinking"), None);
    let body = ask("dashscope.example", "qwen3", Thinking::Disabled).unwrap();
    assert_eq!(body["enable_thinking"], false);
    let refused = ask("localhost", "m", Thinking::Enabled).unwrap_err();
    assert!(refused.contains("enabled for test:m"), "{refused}");
    assert!(ask("localhost", "m", Thinking::Auto).is_ok());
    let mut most = request(vec![user("x")]);
    most.params.effort = Some(Effort::XHigh);
    let body = OpenAiChat.encode(&route("m"), &most);
    assert_eq!(body["reasoning_effort"], "high");
}

#[test]
fn pictures_go_along_as_parts_and_words_alone_stay_a_text() {
    let body = OpenAiChat.encode(
        &route("m"),
        &request(vec![
            user("look"),
            picture("a.png", Some("aGk=")),
            assistant("Seen."),
            user("and"),
            picture("b.png", None),
        ]),
    );
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        ])
    );
    assert_eq!(
        body["messages"][3]["content"],
        "and\n\n[The picture b.png cannot be shown here.]"
    );
}

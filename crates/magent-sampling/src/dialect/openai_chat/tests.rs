use magent_types::{
    ConversationEntry, Dialect, Effort, ModelCall, SamplingParams, StopReason, Thinking,
    ToolExchange, Usage,
};
use serde_json::{Map, json};

use super::*;
use crate::{ProxyChoice, Secret, SseDecoder, SseEvent, WireTool};

fn route(model: &str) -> Route {
    Route {
        backend: "test".into(),
        model: model.into(),
        dialect: Dialect::OpenAiChat,
        url: Secret::new("http://host/v1/chat/completions"),
        headers: Vec::new(),
        extra: Map::new(),
        proxy: ProxyChoice::System,
        ca_bundle: None,
        stream: true,
        context_window: None,
        capabilities: Vec::new(),
    }
}

/// Decodes a stream given as event data, each way of cutting it the same.
fn decode(events: &[&str]) -> Result<Vec<ModelEvent>, ProviderError> {
    let text: String = events.iter().map(|e| format!("data: {e}\n\n")).collect();
    let whole = decode_bytes(&[text.as_bytes()]);
    for line_end in ["\n", "\r\n", "\r"] {
        let text = text.replace('\n', line_end);
        for cut in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(cut);
            assert_eq!(decode_bytes(&[head, tail]), whole, "cut at {cut}");
        }
    }
    whole
}

fn decode_bytes(pieces: &[&[u8]]) -> Result<Vec<ModelEvent>, ProviderError> {
    let mut sse = SseDecoder::default();
    let mut raw = Vec::new();
    for piece in pieces {
        sse.push(piece, &mut raw);
    }
    sse.finish(&mut raw);
    decode_events(&raw)
}

fn decode_events(raw: &[SseEvent]) -> Result<Vec<ModelEvent>, ProviderError> {
    let mut decoder = OpenAiChat.decoder(&route("m"));
    let mut out = Vec::new();
    for event in raw {
        decoder.event(event, &mut out)?;
    }
    decoder.finish(&mut out)?;
    Ok(merge(out))
}

/// Joins neighbouring deltas, whose borders mean nothing.
fn merge(events: Vec<ModelEvent>) -> Vec<ModelEvent> {
    let mut merged: Vec<ModelEvent> = Vec::new();
    for event in events {
        match (merged.last_mut(), event) {
            (Some(ModelEvent::TextDelta(known)), ModelEvent::TextDelta(more)) => {
                known.push_str(&more);
            }
            (_, event) => merged.push(event),
        }
    }
    merged
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::TextDelta(text.into())
}

fn call(id: &str, name: &str, arguments: &str) -> ModelEvent {
    ModelEvent::ToolCall(ModelCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    })
}

fn end(reason: StopReason) -> ModelEvent {
    ModelEvent::Completed(reason)
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

#[test]
fn arguments_given_as_an_object_are_taken() {
    let events = decode(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]},"finish_reason":"tool_calls"}]}"#,
    ]);
    assert_eq!(events.unwrap()[0], call("a", "f", "{\"x\":1}"));
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
            ModelEvent::ReasoningDelta("hm".into()),
            ModelEvent::ReasoningDelta(" ok".into()),
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
    ConversationEntry::Tool(ToolExchange {
        call_id: id.into(),
        name: "grep".into(),
        input: json!({"a": "", "b": null, "c": {}, "d": [], "e": false}),
        output: output.into(),
        failed: false,
    })
}

fn request(conversation: Vec<ConversationEntry>) -> SampleRequest {
    SampleRequest {
        model: "m".into(),
        system: "be good".into(),
        conversation,
        tools: Vec::new(),
        params: SamplingParams::default(),
        stream: true,
    }
}

fn say(text: &str) -> ConversationEntry {
    ConversationEntry::Assistant {
        text: text.into(),
        phase: None,
    }
}

/// The words before a call stay with it, and samples stay apart, so that each request
/// repeats the one before it byte for byte.
#[test]
fn samples_become_one_message_each_and_a_prefix_of_the_next_request() {
    let mut conversation = vec![
        ConversationEntry::User("hi".into()),
        ConversationEntry::SampleStart,
        ConversationEntry::Reasoning("private".into()),
        say("I look."),
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
        ConversationEntry::User("hi".into()),
        ConversationEntry::SampleStart,
        ConversationEntry::Reasoning("think".into()),
        say("look"),
        exchange("a", "one"),
        ConversationEntry::SampleStart,
        ConversationEntry::Reasoning("done".into()),
        say("answer"),
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
    let mut request = request(vec![ConversationEntry::User("x".into())]);
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

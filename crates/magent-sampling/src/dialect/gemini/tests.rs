use magent_types::{Dialect, ModelEvent, StopReason, Usage};
use serde_json::{Value, json};

use super::Gemini;
use crate::dialect::test_support::{
    self, call, decode_pieces, end, events, native, portable, reasoning, text,
};
use crate::dialect::{Codec, Decoder};
use crate::{ProviderError, Route, SseEvent};

fn route() -> Route {
    test_support::route(Dialect::Gemini, "gemini-3-flash")
}

fn stream(responses: &[Value]) -> String {
    let data: Vec<String> = responses.iter().map(Value::to_string).collect();
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    events(&data)
}

fn decode(responses: &[Value]) -> Result<Vec<ModelEvent>, ProviderError> {
    test_support::decode(&Gemini, &route(), &stream(responses))
}

fn whole(body: &Value) -> Result<Vec<ModelEvent>, ProviderError> {
    let mut out = Vec::new();
    Gemini.decode_body(&route(), body, &mut out).map(|()| out)
}

/// A response with these parts.
fn parts(parts: &Value) -> Value {
    json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
        "modelVersion": "gemini-3-flash", "responseId": "r"})
}

/// The last response.
fn stop(reason: &str) -> Value {
    json!({"candidates": [{"finishReason": reason, "index": 0}]})
}

fn reported(message: &str, code: Option<&str>) -> ProviderError {
    ProviderError::Reported {
        message: message.into(),
        code: code.map(str::to_owned),
    }
}

/// What the API sends for a question that takes some thought.
fn thoughtful() -> Vec<Value> {
    vec![
        json!({"candidates": [{"content": {"parts": [{"text": "**Sums**\n\nI ", "thought": true}],
                "role": "model"}, "index": 0}],
            "usageMetadata": {"promptTokenCount": 10, "totalTokenCount": 13,
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 10}],
                "thoughtsTokenCount": 3}}),
        json!({"candidates": [{"content": {"parts": [{"text": "add.", "thought": true}],
                "role": "model"}, "index": 0}],
            "usageMetadata": {"promptTokenCount": 10, "totalTokenCount": 15,
                "thoughtsTokenCount": 5}}),
        parts(&json!([{"text": "It is "}, {"text": "漢 42"}])),
        json!({"candidates": [{"content": {"parts": [{"text": ".", "thoughtSignature": "c2ln"}],
                "role": "model"}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 4,
                "totalTokenCount": 19, "thoughtsTokenCount": 5, "cachedContentTokenCount": 6}}),
    ]
}

fn usage(output: u64, reasoning: u64, cached: Option<u64>) -> ModelEvent {
    ModelEvent::Usage(Usage {
        input: Some(10),
        output: Some(output),
        reasoning: Some(reasoning),
        cached_read: cached,
        cached_write: None,
    })
}

#[test]
fn thoughts_text_and_usage_that_counts_thoughts_as_written_and_the_cache_as_read() {
    let decoded = decode(&thoughtful()).unwrap();
    assert_eq!(
        portable(decoded.clone()),
        [
            reasoning("**Sums**\n\nI "),
            usage(3, 3, None),
            reasoning("add."),
            usage(5, 5, None),
            text("It is 漢 42."),
            usage(9, 5, Some(6)),
            end(StopReason::EndTurn)
        ]
    );
    // Only what bears a signature stands alone.
    assert_eq!(
        native(&decoded).unwrap(),
        json!([
            {"text": "**Sums**\n\nI add.", "thought": true},
            {"text": "It is 漢 42"},
            {"text": ".", "thoughtSignature": "c2ln"},
        ])
    );
}

#[test]
fn nothing_is_joined_to_what_is_signed_and_numbers_that_are_not_told_again_stay() {
    let signed = json!([{"text": "a", "thoughtSignature": "c2ln"}, {"text": "b"}]);
    let mut last = stop("STOP");
    last["usageMetadata"] = json!({"candidatesTokenCount": 4});
    let mut first = parts(&signed);
    first["usageMetadata"] = json!({"promptTokenCount": 10, "thoughtsTokenCount": 5});
    let decoded = decode(&[first, last]).unwrap();
    assert_eq!(native(&decoded).unwrap(), signed);
    assert!(decoded.contains(&usage(9, 5, None)));
}

#[test]
fn a_signature_on_an_empty_last_part_is_kept_where_it_stood() {
    let mut responses = vec![parts(&json!([{"text": "Hi"}]))];
    responses.push(json!({"candidates": [{"content": {"role": "model",
        "parts": [{"text": "", "thoughtSignature": "c2ln"}]}, "finishReason": "STOP"}]}));
    let decoded = decode(&responses).unwrap();
    assert_eq!(decoded.first(), Some(&text("Hi")));
    assert_eq!(
        native(&decoded).unwrap(),
        json!([{"text": "Hi"}, {"text": "", "thoughtSignature": "c2ln"}])
    );
}

#[test]
fn calls_in_one_response_and_in_several_stay_as_many_as_they_are() {
    let first = json!([
        {"functionCall": {"name": "grep", "args": {"x": 1}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "grep", "args": {"x": 1}}},
    ]);
    let second =
        json!([{"functionCall": {"id": "fc-3", "name": "grep", "args": {"b": "", "a": null}}}]);
    let decoded = decode(&[
        parts(&json!([{"text": "I look."}])),
        parts(&first),
        parts(&second),
        stop("STOP"),
    ])
    .unwrap();
    assert_eq!(
        portable(decoded.clone()),
        [
            text("I look."),
            // The runtime gives ids to calls that have none.
            call("", "grep", "{\"x\":1}"),
            call("", "grep", "{\"x\":1}"),
            call("fc-3", "grep", "{\"b\":\"\",\"a\":null}"),
            end(StopReason::ToolCalls)
        ]
    );
    assert_eq!(
        native(&decoded).unwrap(),
        json!([{"text": "I look."}, first[0], first[1], second[0]])
    );
}

#[test]
fn arguments_that_are_missing_are_none_and_others_are_passed_on_for_the_check() {
    let calls = json!([
        {"functionCall": {"name": "a"}},
        {"functionCall": {"name": "b", "args": null}},
        {"functionCall": {"name": "c", "args": [1]}},
        {"functionCall": {"name": "d", "args": "{half"}},
    ]);
    let decoded = decode(&[parts(&calls), stop("STOP")]).unwrap();
    assert_eq!(
        portable(decoded.clone()),
        [
            call("", "a", "{}"),
            call("", "b", "{}"),
            call("", "c", "[1]"),
            call("", "d", "{half"),
            end(StopReason::ToolCalls)
        ]
    );
    // The API takes nothing but objects back.
    let native = native(&decoded).unwrap();
    let args = |index: usize| native[index]["functionCall"].get("args");
    assert_eq!(args(0), None);
    assert_eq!(args(1), Some(&json!({})));
    assert_eq!(args(2), Some(&json!({"invalid_arguments": "[1]"})));
    assert_eq!(args(3), Some(&json!({"invalid_arguments": "{half"})));
}

#[test]
fn a_stream_that_ends_anywhere_before_its_reason_is_truncated_and_gives_no_call() {
    let mut responses = thoughtful();
    responses.pop();
    responses.push(parts(
        &json!([{"functionCall": {"name": "grep", "args": {}}}]),
    ));
    for length in 0..=responses.len() {
        let mut decoder = Gemini.decoder(&route());
        let out = feed(&mut *decoder, &responses[..length]);
        assert!(!decoder.is_complete());
        let mut rest = Vec::new();
        assert!(matches!(
            decoder.finish(&mut rest),
            Err(ProviderError::Truncated { .. })
        ));
        let told = out.iter().chain(&rest);
        assert!(!told.into_iter().any(|event| matches!(
            event,
            ModelEvent::ToolCall(_) | ModelEvent::Native(_) | ModelEvent::Completed(_)
        )));
    }
    // An end that a gateway adds makes nothing whole.
    let gateway = stream(&responses) + "data: [DONE]\n\n";
    assert!(matches!(
        test_support::decode(&Gemini, &route(), &gateway),
        Err(ProviderError::Truncated { .. })
    ));
}

fn feed(decoder: &mut dyn Decoder, responses: &[Value]) -> Vec<ModelEvent> {
    let mut out = Vec::new();
    for response in responses {
        let event = SseEvent {
            name: String::new(),
            data: response.to_string(),
        };
        decoder.event(&event, &mut out).unwrap();
    }
    out
}

/// Older models told a reason with every response.
#[test]
fn what_comes_after_a_reason_to_stop_is_not_lost() {
    let mut early = parts(&json!([{"text": "a"}]));
    early["candidates"][0]["finishReason"] = "STOP".into();
    let mut late = parts(&json!([{"text": "b"}]));
    late["candidates"][0]["finishReason"] = "MAX_TOKENS".into();
    let decoded = decode(&[early, late]).unwrap();
    assert_eq!(portable(decoded), [text("ab"), end(StopReason::MaxTokens)]);
}

#[test]
fn stop_reasons() {
    let stopped = |reason: &str| {
        let decoded = decode(&[parts(&json!([{"text": "x"}])), stop(reason)]);
        decoded.map(|mut events| events.pop().unwrap())
    };
    for (reason, expected) in [
        ("STOP", StopReason::EndTurn),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("SAFETY", StopReason::Refusal),
        ("RECITATION", StopReason::Refusal),
        ("PROHIBITED_CONTENT", StopReason::Refusal),
        ("BLOCKLIST", StopReason::Refusal),
        ("SPII", StopReason::Refusal),
        ("OTHER", StopReason::Other("OTHER".into())),
        ("NEW_REASON", StopReason::Other("NEW_REASON".into())),
    ] {
        assert_eq!(stopped(reason), Ok(end(expected)), "{reason}");
    }
    for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"] {
        let usual = "the model's answer or one of its calls cannot be read";
        assert_eq!(stopped(reason), Err(reported(usual, Some(reason))));
    }
    let explained = json!({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL",
        "finishMessage": "Malformed function call: print(grep(", "index": 0}]});
    assert_eq!(
        decode(&[explained]),
        Err(reported(
            "Malformed function call: print(grep(",
            Some("MALFORMED_FUNCTION_CALL")
        ))
    );
}

#[test]
fn a_blocked_prompt_is_a_refusal() {
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 3}});
    assert_eq!(
        decode(std::slice::from_ref(&blocked)).unwrap().last(),
        Some(&end(StopReason::Refusal))
    );
    assert_eq!(
        whole(&blocked).unwrap().last(),
        Some(&end(StopReason::Refusal))
    );
}

#[test]
fn errors_inside_the_stream_are_errors_however_they_look() {
    let said = parts(&json!([{"text": "par"}]));
    for (error, code) in [
        (
            json!({"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}),
            Some("UNAVAILABLE"),
        ),
        (
            json!({"error": {"code": 503, "message": "Overloaded"}}),
            Some("503"),
        ),
        (json!({"error": "Overloaded"}), None),
    ] {
        let expected = Err(reported("Overloaded", code));
        assert_eq!(decode(&[said.clone(), error.clone()]), expected);
        assert_eq!(whole(&error), expected);
        assert_eq!(whole(&json!([error])), expected);
    }
    let named = "event: error\ndata: upstream gone\n\n";
    assert_eq!(
        test_support::decode(&Gemini, &route(), named),
        Err(reported("upstream gone", None))
    );
}

#[test]
fn responses_without_an_answer_and_further_candidates_mean_nothing() {
    let decoded = decode(&[
        json!({"usageMetadata": {"promptTokenCount": 1}, "promptFeedback": {}}),
        json!({"candidates": []}),
        json!({"candidates": [null]}),
        json!({"candidates": [{"index": 0}]}),
        json!({"candidates": [{"content": {"role": "model"}}], "error": null}),
        json!({"candidates": [
            {"index": 1, "content": {"parts": [{"text": "other"}]}, "finishReason": "SAFETY"},
            {"content": {"parts": [{"text": "first"}, {}, {"text": null, "thought": true}]}}]}),
        json!({"candidates": [{"index": 1, "content": {"parts": [{"text": "other"}]}}]}),
        stop("STOP"),
    ])
    .unwrap();
    assert_eq!(decoded[1..2], [text("first")]);
    assert_eq!(native(&decoded).unwrap(), json!([{"text": "first"}]));
    assert_eq!(decoded.last(), Some(&end(StopReason::EndTurn)));
}

#[test]
fn parts_that_nobody_asked_for_are_words_or_errors_and_never_lost() {
    let ran = json!([
        {"executableCode": {"language": "PYTHON", "code": "print(1)\n"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
    ]);
    let decoded = decode(&[parts(&ran), stop("STOP")]).unwrap();
    assert_eq!(
        decoded[0],
        text("\n```python\nprint(1)\n```\n\n```\n1\n```\n")
    );
    assert_eq!(native(&decoded).unwrap(), ran);
    for (part, problem) in [
        (
            json!({"inlineData": {"mimeType": "image/png", "data": "aGk="}}),
            "inlineData",
        ),
        (
            json!({"thought": true, "fileData": {"fileUri": "u"}}),
            "fileData",
        ),
        (json!({"functionCall": {"args": {}}}), "without a name"),
        (
            json!({"functionCall": {"name": "f", "willContinue": true}}),
            "in pieces",
        ),
        (
            json!({"functionCall": {"name": "f", "partialArgs": []}}),
            "in pieces",
        ),
    ] {
        let error = decode(&[parts(&json!([part])), stop("STOP")]).unwrap_err();
        assert!(matches!(error, ProviderError::Protocol { .. }));
        assert!(error.to_string().contains(problem), "{error}");
    }
    // A note on a part that is known spoils nothing.
    let noted = json!([{"text": "x", "newNote": {"a": 1}}]);
    let decoded = decode(&[parts(&noted), stop("STOP")]).unwrap();
    assert_eq!(native(&decoded).unwrap(), noted);
}

/// As the API streams without being asked for events.
#[test]
fn an_array_of_responses_is_read_as_they_are() {
    let responses = [parts(&json!([{"text": "hi"}])), stop("STOP")];
    let array = Value::from(responses.to_vec()).to_string();
    let events = test_support::decode(&Gemini, &route(), &array).unwrap();
    assert_eq!(events[0], text("hi"));
    let error = json!([{"error": {"code": 400, "message": "no", "status": "INVALID"}}]);
    let result = test_support::decode(&Gemini, &route(), &error.to_string());
    assert_eq!(result, Err(reported("no", Some("INVALID"))));
}

#[test]
fn an_event_that_is_no_json_is_an_error() {
    let result = decode_pieces(&Gemini, &route(), &[b"data: {\"candidates\":\n\n"]);
    assert!(matches!(result, Err(ProviderError::Protocol { .. })));
}

#[test]
fn a_whole_body_is_decoded_like_a_stream() {
    let answer = json!([
        {"text": "hm", "thought": true},
        {"text": "I look."},
        {"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": "c2ln"},
    ]);
    let body = json!({"candidates": [{"content": {"parts": answer, "role": "model"},
        "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2}});
    let out = whole(&body).unwrap();
    assert_eq!(out[..2], [reasoning("hm"), text("I look.")]);
    assert_eq!(out[3], call("", "f", "{\"x\":1}"));
    assert_eq!(native(&out).unwrap(), answer);
    assert_eq!(out.last(), Some(&end(StopReason::ToolCalls)));
    // A stream that nobody asked to come as events is an array.
    let array = json!([parts(&answer), stop("STOP")]);
    assert_eq!(native(&whole(&array).unwrap()).unwrap(), answer);
    assert!(matches!(
        whole(&json!([parts(&answer)])),
        Err(ProviderError::Truncated { .. })
    ));
    assert_eq!(
        whole(&parts(&json!([{"text": "x"}]))).unwrap().last(),
        Some(&end(StopReason::EndTurn))
    );
    for nothing in [json!({"x": 1}), json!({"candidates": []})] {
        assert!(matches!(
            whole(&nothing),
            Err(ProviderError::Protocol { .. })
        ));
    }
}

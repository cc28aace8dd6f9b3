use magent_types::{
    ConversationEntry, Dialect, Effort, ModelEvent, SamplingParams, Thinking, UNKNOWN_RESULT,
};
use serde_json::json;

use super::*;
use crate::dialect::Codec;
use crate::dialect::openai_responses::OpenAiResponses;
use crate::dialect::test_support::{
    self, assistant, events, exchange, native, native_entry, request, user,
};
use crate::{ProviderError, WireTool};

fn route(model: &str) -> Route {
    test_support::route(Dialect::OpenAiResponses, model)
}

/// The input that is sent for a conversation.
fn input_of(model: &str, conversation: Vec<ConversationEntry>) -> Value {
    body(&route(model), &request(conversation))["input"].take()
}

fn said(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

/// An answer as the provider gave it: reasoning, words and two calls.
fn answer() -> Value {
    json!([
        {"id": "rs_0", "type": "reasoning", "summary": [], "encrypted_content": null},
        {"id": "rs_1", "type": "reasoning", "status": "completed", "encrypted_content": "gAAA",
            "summary": [{"type": "summary_text", "text": "think"}]},
        {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
            "phase": "commentary", "content": [
                {"type": "output_text", "annotations": [], "logprobs": [], "text": "I look."}]},
        {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1",
            "name": "grep", "arguments": "{ \"x\": 1 }"},
        {"id": "fc_2", "type": "function_call", "status": "completed", "call_id": "call_2",
            "name": "grep", "arguments": "{\"x\":"},
    ])
}

/// The answer as it is told again.
fn told_again() -> Vec<Value> {
    vec![
        json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "gAAA",
            "summary": [{"type": "summary_text", "text": "think"}]}),
        json!({"type": "message", "role": "assistant", "phase": "commentary", "content": [
            {"type": "output_text", "annotations": [], "logprobs": [], "text": "I look."}]}),
        json!({"type": "function_call", "call_id": "call_1", "name": "grep",
            "arguments": "{ \"x\": 1 }"}),
        json!({"type": "function_call", "call_id": "call_2", "name": "grep",
            "arguments": "{\"x\":"}),
    ]
}

/// A conversation with an answer of this native form over the route to `model`.
fn conversation(model: &str, answer: Value) -> Vec<ConversationEntry> {
    vec![
        user("hi"),
        ConversationEntry::SampleStart,
        ConversationEntry::Reasoning("think".into()),
        assistant("I look."),
        native_entry(&route(model), answer),
        exchange("a", json!({"x": 1}), "one"),
        exchange("b", json!("{\"x\":"), "two"),
    ]
}

fn portable_form() -> Value {
    json!([
        said("hi"),
        {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "I look.", "annotations": []}]},
        {"type": "function_call", "call_id": "a", "name": "grep", "arguments": "{\"x\":1}"},
        {"type": "function_call", "call_id": "b", "name": "grep",
            "arguments": "{\"invalid_arguments\":\"{\\\"x\\\":\"}"},
        {"type": "function_call_output", "call_id": "a", "output": "one"},
        {"type": "function_call_output", "call_id": "b", "output": "two"},
    ])
}

#[test]
fn numbers_tools_and_the_users_own_fields() {
    let mut request = request(vec![user("x")]);
    request.params = SamplingParams {
        temperature: Some(0.5),
        top_p: Some(0.9),
        max_tokens: Some(100),
        effort: Some(Effort::XHigh),
        thinking: Thinking::Auto,
    };
    request.tools = vec![WireTool {
        name: "t".into(),
        description: "d".into(),
        parameters: json!({"type": "object", "properties": {}}),
    }];
    let mut route = route("m");
    route.extra.insert("service_tier".into(), "flex".into());
    let expected = json!({
        "model": "m",
        "instructions": "be good",
        "input": [said("x")],
        "tools": [{"type": "function", "name": "t", "description": "d",
            "parameters": {"type": "object", "properties": {}}, "strict": false}],
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_output_tokens": 100,
        "reasoning": {"effort": "xhigh", "summary": "auto"},
        "service_tier": "flex",
    });
    assert_eq!(OpenAiResponses.encode(&route, &request), expected);
    request.params.thinking = Thinking::Disabled;
    request.stream = false;
    request.system.clear();
    request.tools.clear();
    route.extra.insert("include".into(), json!([]));
    let body = OpenAiResponses.encode(&route, &request);
    for absent in ["instructions", "tools"] {
        assert_eq!(body.get(absent), None);
    }
    assert_eq!(body["reasoning"], json!({"effort": "none"}));
    assert!(OpenAiResponses.check(&route, &request).is_err());
    route.model = "gpt-5.1".into();
    assert!(OpenAiResponses.check(&route, &request).is_ok());
    assert_eq!(body["stream"], false);
    assert_eq!(body["include"], json!([]));
}

#[test]
fn an_answer_without_a_native_form_is_a_message_calls_and_results() {
    let mut conversation = conversation("m", Value::Null);
    conversation.remove(4);
    assert_eq!(input_of("m", conversation), portable_form());
}

#[test]
fn a_native_answer_is_told_again_as_it_was_with_one_result_for_each_call() {
    let mut expected = vec![said("hi")];
    expected.extend(told_again());
    expected.push(call_output("call_1", "one"));
    expected.push(call_output("call_2", "two"));
    let input = input_of("m", conversation("m", answer()));
    assert_eq!(input, json!(expected));
    // The order of the fields counts too.
    let again = input[2].to_string();
    assert!(
        again.starts_with("{\"type\":\"message\",\"role\""),
        "{again}"
    );
}

#[test]
fn a_call_without_a_known_result_still_has_one() {
    let mut conversation = conversation("m", answer());
    conversation.pop();
    let input = input_of("m", conversation);
    assert_eq!(input[6], call_output("call_2", UNKNOWN_RESULT));
    assert_eq!(input.get(7), None);
}

/// C12, C13: what another model or host said in its own form means nothing here.
#[test]
fn the_native_form_of_another_model_or_host_is_not_used() {
    assert_eq!(
        input_of("m", conversation("other", answer())),
        portable_form()
    );
    let mut elsewhere = route("m");
    elsewhere.url = crate::Secret::new("http://elsewhere/v1/responses");
    let body = body(&elsewhere, &request(conversation("m", answer())));
    assert_eq!(body["input"], portable_form());
}

#[test]
fn a_native_form_that_the_provider_would_refuse_is_not_used() {
    let call = |call_id: Value| json!({"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"});
    for broken in [
        Value::Null,
        json!({"output": answer()}),
        json!([]),
        json!([null, 1, []]),
        json!([call(Value::Null), call("b".into())]),
        json!([call("a".into()), call("a".into())]),
        // A result would have no call.
        json!([call("a".into())]),
    ] {
        let input = input_of("m", conversation("m", broken.clone()));
        assert_eq!(input, portable_form(), "{broken}");
    }
}

#[test]
fn reasoning_that_led_to_nothing_is_left_out() {
    let reasoning =
        json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "e"});
    let message = json!({"type": "message", "role": "assistant", "content": [
        {"type": "output_text", "text": "cut", "annotations": []}]});
    let conversation = |answer: Value| {
        vec![
            user("hi"),
            ConversationEntry::SampleStart,
            native_entry(&route("m"), answer),
            user("go on"),
        ]
    };
    let alone = input_of("m", conversation(json!([reasoning])));
    assert_eq!(alone, json!([said("hi"), said("go on")]));
    let last = input_of("m", conversation(json!([reasoning, message, reasoning])));
    assert_eq!(last, json!([said("hi"), reasoning, message, said("go on")]));
}

#[test]
fn items_of_other_kinds_are_told_again_and_results_among_them_are_not() {
    let answer = json!([
        {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search"}},
        {"type": "function_call_output", "call_id": "x", "output": "forged"},
        {"id": "msg_1", "type": "message", "role": "assistant", "content": []},
    ]);
    let input = input_of("m", vec![user("hi"), native_entry(&route("m"), answer)]);
    assert_eq!(
        input,
        json!([
            said("hi"),
            {"type": "web_search_call", "action": {"type": "search"}},
            {"type": "message", "role": "assistant", "content": []},
        ])
    );
}

/// E59: every request begins with the bytes of the one before.
#[test]
fn each_request_is_continued_by_the_next() {
    for answer in [answer(), Value::Null] {
        let mut conversation = conversation("m", answer);
        conversation.push(ConversationEntry::SampleStart);
        let empties = json!({"a": "", "b": null, "c": {}, "d": [], "e": false});
        let mut steps = vec![input_of("m", vec![user("hi")])];
        steps.push(input_of("m", conversation.clone()));
        conversation.push(exchange("c", empties, "three"));
        steps.push(input_of("m", conversation.clone()));
        let message = json!([{"id": "msg_2", "type": "message", "status": "completed",
            "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}]);
        conversation.extend([
            ConversationEntry::SampleStart,
            assistant("done"),
            native_entry(&route("m"), message),
            user("more"),
        ]);
        steps.push(input_of("m", conversation));
        for pair in steps.windows(2) {
            let (first, second) = (pair[0].to_string(), pair[1].to_string());
            assert!(second.starts_with(first.trim_end_matches(']')), "{second}");
            assert!(second.len() > first.len());
        }
        let last = steps[3].to_string();
        let empties = r#"{\"a\":\"\",\"b\":null,\"c\":{},\"d\":[],\"e\":false}"#;
        assert!(last.contains(empties), "{last}");
    }
}

/// What is decoded can be told again, with the calls in the order of their results.
#[test]
fn a_decoded_answer_goes_back_in_the_next_request() -> Result<(), ProviderError> {
    let done = |index: usize, item: &Value| {
        json!({"type": "response.output_item.done", "output_index": index, "item": item})
            .to_string()
    };
    let items = answer();
    let items: Vec<&Value> = items.as_array().into_iter().flatten().collect();
    let mut data: Vec<String> = (0..).zip(items).map(|(at, item)| done(at, item)).collect();
    data.push(r#"{"type":"response.completed","response":{"output":[]}}"#.to_owned());
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    let decoded = test_support::decode(&OpenAiResponses, &route("m"), &events(&data))?;
    let calls = decoded.iter().filter_map(|event| match event {
        ModelEvent::ToolCall(call) => Some(call.id.as_str()),
        _ => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), ["call_1", "call_2"]);
    let native = native(&decoded).unwrap_or_default();
    assert_eq!(native, answer());
    let input = input_of("m", conversation("m", native));
    assert_eq!(input, input_of("m", conversation("m", answer())));
    Ok(())
}

use serde_json::json;

use super::*;

fn read(body: &Value) -> ChatRequest {
    ChatRequest::parse(body.to_string().as_bytes()).unwrap()
}

fn calling(id: &str, name: &str) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}]})
}

#[test]
fn only_what_follows_the_newest_prompt_belongs_to_the_turn() {
    let request = read(&json!({
        "model": "m",
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": {"name": "bash"}}, {"type": "x"}, 7],
        "messages": [
            {"role": "system", "content": "be good"},
            {"role": "user", "content": "one"},
            calling("a", "bash"),
            {"role": "tool", "tool_call_id": "a", "content": "old"},
            {"role": "user", "content": [{"type": "text", "text": "tw"}, {"text": "o"}, {}]},
            calling("b", "read_file"),
            {"role": "tool", "tool_call_id": "b", "content": "new"},
            {"role": "assistant", "content": "only words"},
            calling("c", "bash"),
        ],
    }));
    assert_eq!(request.model, "m");
    assert!(request.stream && request.include_usage);
    assert!(request.offers("bash") && !request.offers("read_file"));
    assert_eq!(request.prompt(), "two");
    assert_eq!(request.earlier_prompts().collect::<Vec<_>>(), ["one"]);
    assert_eq!(request.steps_done(), 2);
    assert_eq!(
        request.calls_done().collect::<Vec<_>>(),
        [("read_file", "new"), ("bash", "")]
    );
    assert_eq!(request.turn_results().collect::<Vec<_>>(), ["new"]);
    assert_eq!(request.all_results().collect::<Vec<_>>(), ["old", "new"]);
    assert!(0 < request.known && request.known < request.size);
}

#[test]
fn odd_requests_are_refused_or_borne() {
    let error = |body: &str| ChatRequest::parse(body.as_bytes()).unwrap_err();
    assert_eq!(error("{"), BadRequest::NotJson);
    assert_eq!(error(""), BadRequest::NotJson);
    for body in [
        "[]",
        "7",
        "{}",
        r#"{"messages": []}"#,
        r#"{"messages": "x"}"#,
    ] {
        assert_eq!(error(body), BadRequest::NoMessages, "{body}");
    }
    let request = read(&json!({
        "model": 7, "stream": "yes", "stream_options": [], "tools": {},
        "messages": [7, null, {"role": 1}, {"role": "assistant", "tool_calls": [7, {}]}],
    }));
    assert_eq!(request.model, DEFAULT_MODEL);
    assert!(!request.stream && !request.include_usage);
    assert_eq!(request.prompt(), "");
    assert_eq!(request.calls_done().count(), 2);
}

#[test]
fn what_a_prompt_quotes_of_a_conversation_is_nothing_to_do() {
    let quoted = "<conversation>\nUser: [[say No.]]\n</conversation>\n\nSum it up. [[say Yes.]]";
    let request = read(&json!({
        "model": "m",
        "messages": [{"role": "user", "content": quoted}],
    }));
    assert!(request.quotes_conversation());
    assert_eq!(request.prompt(), "\n\nSum it up. [[say Yes.]]");
}

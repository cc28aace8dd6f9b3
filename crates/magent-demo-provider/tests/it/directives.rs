//! What prompts with directives get.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::provider::{Provider, streaming};

/// The messages of one sample with one call.
fn step(id: &str, name: &str, result: &str) -> [Value; 2] {
    [
        json!({"role": "assistant", "tool_calls": [
            {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}]}),
        json!({"role": "tool", "tool_call_id": id, "content": result}),
    ]
}

#[test]
fn steps_are_taken_one_by_one_with_the_newest_revision() {
    let provider = Provider::start();
    let prompt = r#"[[think first]] [[say I read.]] [[tool read_file {"path":"a [[x]].txt"}]]
        [[par bash {"command":"[[ -f a ]]"}]] [[tool edit_file {"expected_revision":"$REV"}]]"#;
    let mut messages = vec![json!({"role": "user", "content": prompt})];
    let ask = |messages: &[Value]| provider.chat(&streaming(messages.into()));

    let first = ask(&messages);
    assert_eq!(first.reasoning(), "first");
    assert_eq!(first.text(), "I read.");
    assert_eq!(first.finish_reason().as_deref(), Some("tool_calls"));
    let (id, name, arguments) = first.calls().remove(0);
    assert_eq!(
        (name.as_str(), arguments.as_str()),
        ("read_file", "{\"path\":\"a [[x]].txt\"}")
    );

    let revision = "0123456789abcdef".repeat(4);
    messages.extend(step(
        &id,
        &name,
        &format!("[read_file revision={revision} x]\ntext"),
    ));
    let second = ask(&messages);
    let calls = second.calls();
    assert_eq!(calls[0].2, "{\"command\":\"[[ -f a ]]\"}");
    assert_eq!(
        calls[1].2,
        format!("{{\"expected_revision\":\"{revision}\"}}")
    );
    assert!(calls[0].0 != calls[1].0 && calls[0].0 != id);

    messages.extend(step(&calls[1].0, "edit_file", "one\ntwo\n"));
    let last = ask(&messages);
    assert_eq!(last.text(), "Done: two");
    assert_eq!(last.calls(), []);
}

#[test]
fn http_errors() {
    let provider = Provider::start();
    for status in [401, 429, 503] {
        let answer = provider.prompt(&format!("[[http {status}]]"));
        assert_eq!(answer.status, status);
        assert_eq!(answer.json()["error"]["code"], status);
        assert!(answer.json()["error"]["message"].is_string());
    }
}

#[test]
fn a_dropped_connection_ends_half_way() {
    let provider = Provider::start();
    let answer = provider.prompt("[[say one two three four]] [[drop]]");
    assert_eq!(answer.text(), "one two ");
    assert_eq!(answer.finish_reason(), None);
    assert!(!answer.whole);
}

#[test]
fn a_hanging_answer_says_its_words_and_stays_open() {
    let provider = Provider::start();
    let prompt = json!([{"role": "user", "content": "[[say one two]] [[hang]]"}]);
    let mut connection = provider.open(&streaming(prompt));
    connection.wait_for("\"two\"");
    connection.set_patience(Duration::from_millis(300));
    let error = connection.part().unwrap_err();
    assert!(
        matches!(
            error.kind(),
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
        ),
        "{error}"
    );
}

#[test]
fn an_empty_answer_only_ends() {
    let provider = Provider::start();
    let answer = provider.prompt("[[empty]]");
    assert!(answer.whole);
    assert_eq!(answer.text(), "");
    assert_eq!(answer.calls(), []);
    assert_eq!(answer.finish_reason().as_deref(), Some("stop"));
}

#[test]
fn half_a_call_has_arguments_that_are_no_json() {
    let provider = Provider::start();
    let answer = provider.prompt("[[half read_file]]");
    let (_, name, arguments) = answer.calls().remove(0);
    assert_eq!(name, "read_file");
    assert!(serde_json::from_str::<Value>(&arguments).is_err());
    assert_eq!(answer.finish_reason().as_deref(), Some("length"));
}

#[test]
fn slow_words_take_their_time() {
    let provider = Provider::start();
    let start = Instant::now();
    assert_eq!(provider.prompt("[[slow 2]]").text(), "w0 w1 ");
    assert!(start.elapsed() >= Duration::from_millis(300));
}

#[test]
fn big_answers_come_in_small_deltas() {
    let provider = Provider::start();
    let answer = provider.prompt("[[big 100010]]");
    assert_eq!(answer.text().len(), 100_010);
    assert!(answer.chunks().len() > 5000);
}

#[test]
fn words_are_paced() {
    let provider = Provider::start_with(&["--delay-ms", "40"]);
    let start = Instant::now();
    assert_eq!(
        provider.prompt("[[think a b]] [[say 你好世界]]").text(),
        "你好世界"
    );
    assert!(start.elapsed() >= Duration::from_millis(160));
}

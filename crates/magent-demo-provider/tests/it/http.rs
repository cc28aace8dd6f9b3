//! Paths, bodies and connections.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::Connection;
use crate::provider::{PATIENCE, Provider, streaming};

#[test]
fn models_and_unknown_paths() {
    let provider = Provider::start();
    let ask = |method: &str, path: &str| Connection::open(provider.port, method, path, "").answer();
    let models = ask("GET", "/v1/models");
    assert_eq!(models.status, 200);
    let models = models.json();
    assert_eq!(models["data"][0]["id"], "demo-1");
    assert_eq!(models["data"][1]["id"], "demo-2");
    for (method, path, status) in [
        ("GET", "/", 404),
        ("POST", "/v1/responses", 404),
        ("GET", "/v1/chat/completions", 405),
        ("POST", "/v1/models", 405),
    ] {
        let answer = ask(method, path);
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.json()["error"]["message"].is_string());
    }
}

#[test]
fn bad_bodies_are_told() {
    let provider = Provider::start();
    for (body, problem) in [
        ("{", "the body is not JSON"),
        ("", "the body is not JSON"),
        ("[1]", "messages"),
        (r#"{"messages": []}"#, "messages"),
        (
            r#"{"messages": [{"role": "user", "content": "[[slow down]]"}]}"#,
            "the directive [[slow]] needs a number",
        ),
    ] {
        let answer = Connection::open(provider.port, "POST", "/v1/chat/completions", body).answer();
        assert_eq!(answer.status, 400, "{body}");
        let message = answer.json()["error"]["message"].to_string();
        assert!(message.contains(problem), "{message}");
    }
    // The server has survived, and bears what is odd but no mistake.
    let odd = json!({"messages": [1, {"role": "assistant", "tool_calls": 3}]});
    assert_eq!(provider.chat(&odd).status, 200);
}

#[test]
fn a_stream_ends_with_usage_if_that_is_wanted() {
    let provider = Provider::start();
    let mut body = streaming(json!([{"role": "user", "content": "[[think hm]] [[say a b c]]"}]));
    let connection = provider.open(&body);
    assert_eq!(connection.header("content-type"), Some("text/event-stream"));
    let answer = connection.answer();
    assert!(answer.whole && answer.body.ends_with("data: [DONE]\n\n"));
    assert_eq!(
        (answer.reasoning(), answer.text()),
        ("hm".into(), "a b c".into())
    );
    assert_eq!(answer.finish_reason().as_deref(), Some("stop"));
    let chunks = answer.chunks();
    assert!(chunks.iter().all(|chunk| chunk["id"] == chunks[0]["id"]));
    assert_eq!(chunks.last().unwrap()["choices"], json!([]));
    let usage = answer.usage().unwrap();
    assert_eq!(usage["completion_tokens"], 4);
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 1);
    let total = usage["prompt_tokens"].as_u64().unwrap() + 4;
    assert_eq!(usage["total_tokens"], total);

    body.as_object_mut().unwrap().remove("stream_options");
    assert_eq!(provider.chat(&body).usage(), None);
}

#[test]
fn usage_grows_with_the_conversation_and_the_known_part_is_cached() {
    let provider = Provider::start();
    let prompt = json!({"role": "user", "content": "[[tool t {}]]"});
    let first = provider.chat(&streaming(json!([prompt])));
    let long = "words ".repeat(1000);
    let second = provider.chat(&streaming(json!([
        {"role": "system", "content": long},
        prompt,
        {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "t"}}]},
        {"role": "tool", "tool_call_id": "a", "content": long},
    ])));
    let (first, second) = (first.usage().unwrap(), second.usage().unwrap());
    let number = |usage: &serde_json::Value, pointer: &str| {
        usage
            .pointer(pointer)
            .and_then(serde_json::Value::as_u64)
            .unwrap()
    };
    assert_eq!(number(&first, "/prompt_tokens_details/cached_tokens"), 0);
    let cached = number(&second, "/prompt_tokens_details/cached_tokens");
    let prompt = number(&second, "/prompt_tokens");
    assert!(1400 < cached && cached < 1600 && 3000 < prompt, "{second}");
    assert!(number(&first, "/prompt_tokens") < 100);
}

#[test]
fn one_body_instead_of_a_stream() {
    let provider = Provider::start();
    let answer = provider.chat(&json!({"messages": [
        {"role": "user", "content": "[[say I look.]] [[tool grep {\"a\": 1}]]"}]}));
    assert_eq!(answer.status, 200);
    let body = answer.json();
    assert_eq!(body["object"], "chat.completion");
    assert_eq!(body["model"], "demo-1");
    let choice = &body["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], "I look.");
    let function = &choice["message"]["tool_calls"][0]["function"];
    assert_eq!(function["arguments"], "{\"a\": 1}");
    assert!(body["usage"]["prompt_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn a_client_that_goes_away_is_noticed() {
    let provider = Provider::start();
    for prompt in [
        "[[say a b]] [[hang]]",
        "[[slow 100000]]",
        "[[big 60000000]]",
    ] {
        let body = streaming(json!([{"role": "user", "content": prompt}]));
        let mut connection = provider.open(&body);
        connection.wait_for("\"content\":");
        connection.end_sending();
        let start = Instant::now();
        let answer = connection.answer();
        assert!(!answer.whole, "{prompt}");
        assert!(!answer.body.contains("[DONE]"), "{prompt}");
        assert!(start.elapsed() < PATIENCE, "{prompt}");
    }
}

/// Connections that were simply dropped leave nothing behind.
#[cfg(target_os = "linux")]
#[test]
fn dropped_connections_leave_nothing_open() {
    let provider = Provider::start();
    let folder = format!("/proc/{}/fd", provider.child.id());
    let open = || std::fs::read_dir(&folder).unwrap().count();
    let before = open();
    let body = streaming(json!([{"role": "user", "content": "[[say a]] [[hang]]"}]));
    let mut connections: Vec<Connection> = (0..20).map(|_| provider.open(&body)).collect();
    for connection in &mut connections {
        connection.wait_for("\"a\"");
    }
    assert!(open() >= before + 20);
    drop(connections);
    let until = Instant::now() + PATIENCE;
    while open() > before {
        assert!(Instant::now() < until, "{} files are open", open());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn many_clients_are_served_at_once() {
    let provider = Provider::start();
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..30 {
            scope.spawn(|| assert_eq!(provider.prompt("[[slow 3]]").text(), "w0 w1 w2 "));
        }
    });
    // One after the other they would take 13 s.
    assert!(start.elapsed() < PATIENCE);
}

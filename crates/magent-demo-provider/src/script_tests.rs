use serde_json::{Value, json};

use super::*;

/// The request after these steps: each is the results of the calls of one sample.
fn request(prompt: &str, steps: &[&[&str]]) -> ChatRequest {
    let mut messages = vec![json!({"role": "user", "content": prompt})];
    for (step, results) in steps.iter().enumerate() {
        let id = |index: usize| format!("{step}-{index}");
        let calls: Vec<Value> = (0..results.len())
            .map(|index| json!({"id": id(index), "function": {"name": "t", "arguments": "{}"}}))
            .collect();
        messages.push(json!({"role": "assistant", "tool_calls": calls}));
        for (index, result) in results.iter().enumerate() {
            messages.push(json!({"role": "tool", "tool_call_id": id(index), "content": result}));
        }
    }
    ChatRequest::parse(json!({ "messages": messages }).to_string().as_bytes()).unwrap()
}

fn answer(prompt: &str, steps: &[&[&str]]) -> Answer {
    match reply(&request(prompt, steps)).unwrap() {
        Reply::Answer(answer) => answer,
        Reply::Http(status) => panic!("HTTP {status}"),
    }
}

fn names(answer: &Answer) -> Vec<&str> {
    answer.calls.iter().map(|call| call.name.as_str()).collect()
}

fn said(answer: &Answer) -> String {
    let text = answer.text(std::time::Duration::ZERO);
    text.map(|piece| piece.text).collect()
}

#[test]
fn each_request_takes_the_next_step_and_words_stay_with_their_call() {
    let prompt = "[[think a]] [[think b]] [[say one ]][[tool t1 {}]] [[par t2 {}]] \
                  [[say two ]][[tool t3 {}]] [[say three]]";
    let first = answer(prompt, &[]);
    assert_eq!(first.reasoning, "a b");
    assert_eq!((said(&first).as_str(), names(&first)), ("one ", vec!["t1"]));
    let second = answer(prompt, &[&["x"]]);
    assert_eq!(second.reasoning, "");
    assert_eq!(
        (said(&second).as_str(), names(&second)),
        ("two ", vec!["t2", "t3"])
    );
    let last = answer(prompt, &[&["x"], &["y", "z"]]);
    assert_eq!((said(&last).as_str(), names(&last)), ("three", vec![]));
    assert_eq!(answer(prompt, &[&["x"], &["y"], &["z"], &["again"]]), last);
}

#[test]
fn the_last_words_quote_the_last_result() {
    assert_eq!(
        said(&answer("[[think x]]", &[])),
        "Hello from the demo model."
    );
    assert_eq!(
        said(&answer("[[tool t]]", &[&["a", "b\nc \n\n"]])),
        "Done: c"
    );
    assert_eq!(said(&answer("[[tool t]]", &[&[""]])), "Done: ");
    let long = said(&answer("[[tool t]]", &[&["好".repeat(300).as_str()]]));
    assert_eq!(long.chars().count(), "Done: ".len() + LONGEST_QUOTE);
}

#[test]
fn parallel_calls_at_the_end_are_a_step() {
    assert_eq!(names(&answer("[[par a]] [[par b]]", &[])), ["a", "b"]);
    let last = answer("[[par a]] [[par b]]", &[&["x", "y"]]);
    assert_eq!(said(&last), "Done: y");
}

#[test]
fn the_newest_revision_is_filled_in() {
    let (old, new) = ("0".repeat(64), "1".repeat(64));
    let prompt = r#"[[tool t {"r":"$REV"}]] [[par t {"r":"$REV"}]] [[tool t ["$REV","$REV"]]]"#;
    assert_eq!(answer(prompt, &[]).calls[0].arguments, r#"{"r":"absent"}"#);
    let results = [format!("revision={old}"), format!("revision={new} x")];
    let second = answer(prompt, &[&[&results[0], &results[1], "none here"]]);
    assert_eq!(second.calls[0].arguments, format!(r#"{{"r":"{new}"}}"#));
    assert_eq!(second.calls[1].arguments, format!(r#"["{new}","{new}"]"#));
}

#[test]
fn endings_and_errors_belong_to_their_step() {
    let http = |prompt: &str, steps: &[&[&str]]| reply(&request(prompt, steps)).unwrap();
    assert_eq!(http("[[http 503]]", &[]), Reply::Http(503));
    let prompt = "[[tool t]] [[http 429]]";
    assert!(matches!(http(prompt, &[]), Reply::Answer(_)));
    assert_eq!(http(prompt, &[&["x"]]), Reply::Http(429));

    let half = answer("[[half t]]", &[]);
    assert_eq!(half.ending, Ending::Cut);
    assert!(serde_json::from_str::<Value>(&half.calls[0].arguments).is_err());
    assert_eq!(answer("[[half t]]", &[&["no"]]).ending, Ending::Whole);

    assert_eq!(answer("[[drop]]", &[]).ending, Ending::Break);
    assert!(!answer("[[drop]]", &[]).speech.is_empty());
    assert_eq!(answer("[[hang]]", &[]).speech, []);
    let hanging = answer("[[say a]] [[hang]]", &[]);
    assert_eq!(
        (said(&hanging).as_str(), hanging.ending),
        ("a", Ending::Hang)
    );
    assert_eq!(answer("[[empty]]", &[]), Answer::default());
    assert_eq!(said(&answer("[[slow 2]]", &[])), "w0 w1 ");
}

#[test]
fn a_bad_directive_is_told() {
    assert!(reply(&request("[[slow fast]]", &[])).is_err());
}

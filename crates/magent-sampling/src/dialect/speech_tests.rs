use magent_types::{ConversationEntry, Dialect};
use serde_json::json;

use super::super::test_support::{assistant, exchange, native_entry, picture, route, user};
use super::{Answer, Speech, arguments_object, speeches};

fn told(conversation: &[ConversationEntry]) -> Vec<String> {
    speeches(&route(Dialect::Anthropic, "m"), conversation)
        .into_iter()
        .map(|speech| match speech {
            Speech::User(words) => format!("user {} {}", words.told(), words.pictures().count()),
            Speech::Model(answer) => format!(
                "model {:?} {:?} {} {}",
                answer.reasoning,
                answer.text,
                answer.tools.len(),
                answer.native.is_some()
            ),
        })
        .collect()
}

#[test]
fn a_sample_is_one_answer() {
    let conversation = [
        user("a"),
        ConversationEntry::SampleStart,
        ConversationEntry::Reasoning("r1".into()),
        ConversationEntry::Reasoning("r2".into()),
        assistant("one"),
        assistant("two"),
        exchange("x", json!({}), "o"),
        ConversationEntry::SampleStart,
        ConversationEntry::Reasoning("left out".into()),
        ConversationEntry::SampleStart,
        assistant("three"),
        exchange("y", json!({}), "o"),
        assistant("four"),
        user("b"),
    ];
    assert_eq!(
        told(&conversation),
        [
            "user a 0",
            r#"model "r1\n\nr2" "one\n\ntwo" 1 false"#,
            r#"model "" "three" 1 false"#,
            r#"model "" "four" 0 false"#,
            "user b 0",
        ]
    );
}

#[test]
fn a_native_form_counts_on_its_own_route_only() {
    let here = route(Dialect::Anthropic, "m");
    let mut other_backend = here.clone();
    other_backend.backend = "other".into();
    let others = [
        route(Dialect::Anthropic, "n"),
        route(Dialect::Gemini, "m"),
        other_backend,
    ];
    let entry = |route| [assistant("hi"), native_entry(route, json!([1]))];
    assert_eq!(told(&entry(&here)), [r#"model "" "hi" 0 true"#]);
    for route in &others {
        assert_eq!(told(&entry(route)), [r#"model "" "hi" 0 false"#]);
    }
}

#[test]
fn a_call_without_a_result_is_told_as_unknown() {
    let answer = Answer::default();
    assert!(answer.output(0).contains("unknown"));
    assert!(answer.failed(0));
}

#[test]
fn arguments_are_repeated_as_an_object() {
    assert_eq!(arguments_object(" "), json!({}));
    assert_eq!(arguments_object("null"), json!({}));
    assert_eq!(arguments_object(r#"{"a": 1}"#), json!({"a": 1}));
    assert_eq!(
        arguments_object(r#"{"a":"#),
        json!({"invalid_arguments": "{\"a\":"})
    );
    assert_eq!(arguments_object("[1]"), json!({"invalid_arguments": "[1]"}));
}

#[test]
fn pictures_belong_to_the_words_before_them_and_missing_ones_are_named() {
    let shown = picture("shot.png", Some("aGk="));
    let missing = picture("gone.png", None);
    assert_eq!(
        told(&[user("look"), shown, missing]),
        ["user look\n\n[The picture gone.png cannot be shown here.] 1"]
    );
}

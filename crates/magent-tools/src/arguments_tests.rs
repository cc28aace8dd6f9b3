use magent_types::{ApprovalPolicy, Locality, ToolKind};
use serde_json::json;

use super::*;

fn spec() -> ToolSpec {
    ToolSpec {
        name: "sample",
        description: "",
        parameters: json!({
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "count": { "type": "integer", "minimum": 1 },
                "flag": { "type": ["boolean", "null"] },
                "reason": { "type": "string" },
            },
            "required": ["path", "flag"],
            "additionalProperties": false,
        }),
        output: json!({}),
        permission_key: "read",
        resource_argument: None,
        kind: ToolKind::Read,
        approval: ApprovalPolicy::Normal,
        locality: Locality::Local,
        audited: false,
    }
}

fn check(raw: &str) -> Result<(Value, Option<String>), ArgumentError> {
    check_arguments(&spec(), raw).map(|(arguments, reason)| (Value::Object(arguments), reason))
}

fn refusal(raw: &str) -> String {
    check(raw).unwrap_err().to_string()
}

#[test]
fn good_arguments_pass_without_their_reason() {
    let raw = r#" {"path":"a","flag":true,"count":2,"reason":"to see"} "#;
    assert_eq!(
        check(raw).unwrap(),
        (
            json!({ "path": "a", "flag": true, "count": 2 }),
            Some("to see".to_owned())
        )
    );
}

/// E54: providers send an empty text for a call without arguments.
#[test]
fn an_empty_text_is_an_empty_object() {
    for raw in ["", "  \n"] {
        let text = refusal(raw);
        assert!(
            text.contains("missing properties") && text.contains("'path'"),
            "{text}"
        );
    }
    let mut spec = spec();
    spec.parameters["required"] = json!([]);
    assert_eq!(check_arguments(&spec, "").unwrap(), (Map::new(), None));
}

/// E54: the stream ended within the arguments.
#[test]
fn truncated_json_is_refused_with_what_to_do() {
    let text = refusal(r#"{"path":"a"#);
    assert!(
        text.starts_with("the arguments are not valid JSON (EOF"),
        "{text}"
    );
    assert!(text.ends_with("send the whole call again"), "{text}");
    assert!(matches!(
        check("{\"a\":1} x"),
        Err(ArgumentError::NotJson(_))
    ));
}

#[test]
fn other_json_than_an_object_is_refused() {
    for raw in ["[]", "1", "\"path\"", "null"] {
        assert_eq!(check(raw), Err(ArgumentError::NotObject), "{raw}");
    }
}

#[test]
fn what_breaks_the_schema_is_named() {
    let text = refusal(r#"{"path":1,"flag":true}"#);
    assert!(
        text.contains("/path: want string, but got number"),
        "{text}"
    );
    let text = refusal(r#"{"path":"a","flag":true,"count":0}"#);
    assert!(text.contains("/count: must be >=1, but got 0"), "{text}");
    let text = refusal(r#"{"path":"a","flag":true,"other":1}"#);
    assert!(
        text.contains("additionalProperties 'other' not allowed"),
        "{text}"
    );
}

#[test]
fn optional_nulls_are_dropped_and_required_ones_checked() {
    assert_eq!(
        check(r#"{"path":"a","flag":null,"count":null}"#).unwrap().0,
        json!({ "path": "a", "flag": null })
    );
    assert!(refusal(r#"{"path":null,"flag":true}"#).contains("/path"));
}

#[test]
fn a_reason_is_never_in_the_way() {
    for raw in [
        r#"{"path":"a","flag":true,"reason":null}"#,
        r#"{"path":"a","flag":true,"reason":7}"#,
    ] {
        assert_eq!(check(raw).unwrap().1, None, "{raw}");
    }
}

/// E23: arguments of 300 KB; the refusal does not carry them back.
#[test]
fn a_refusal_is_short_whatever_was_sent() {
    let mut sent = json!({ "path": "x".repeat(300_000), "flag": true });
    sent["y".repeat(300_000)] = json!(1);
    let text = refusal(&sent.to_string());
    assert!(text.chars().count() < 400, "{}", text.len());
    assert!(text.contains("additionalProperties 'yyy"), "{text}");
}

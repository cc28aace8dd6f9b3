//! No name that a model made up may have every later request refused.

use magent_types::{ConversationEntry, Dialect, ToolExchange};
use serde_json::{Value, json};

use super::codec_for;
use super::speech::call_name;
use super::test_support::{native_entry, request, route, user};

const NAMES: [(&str, &str); 8] = [
    ("grep", "grep"),
    ("functions.bash", "functions_bash"),
    ("", "unknown"),
    (" \n", "unknown"),
    ("a b\n", "a_b_"),
    ("漢<redacted>", "__redacted_"),
    ("-x", "_-x"),
    ("3d_tool", "_3d_tool"),
];

#[test]
fn names_become_what_every_provider_takes() {
    for (name, plain) in NAMES {
        assert_eq!(call_name(name), plain);
        assert_eq!(call_name(plain), plain, "a mended name stays");
    }
    for long in ["x".repeat(100_000), "漢".repeat(65), "9".repeat(64)] {
        assert_eq!(call_name(&long).len(), 64);
    }
}

/// The answer with a call of each name in its provider's own form.
fn native(dialect: Dialect, names: &[String]) -> Option<Value> {
    let calls = names.iter().enumerate();
    Some(match dialect {
        Dialect::Anthropic => calls
            .map(|(at, name)| json!({"type": "tool_use", "id": id(at), "name": name, "input": {}}))
            .collect(),
        Dialect::OpenAiResponses => calls
            .map(|(at, name)| {
                json!({"type": "function_call", "call_id": id(at), "name": name,
                    "arguments": "{}"})
            })
            .collect(),
        Dialect::Gemini => calls
            .map(|(at, name)| {
                json!({"functionCall": {"id": id(at), "name": name, "args": {}},
                    "thoughtSignature": "s"})
            })
            .collect(),
        Dialect::Ollama => {
            let calls: Vec<Value> = calls
                .map(
                    |(at, name)| json!({"id": id(at), "function": {"name": name, "arguments": {}}}),
                )
                .collect();
            json!({"role": "assistant", "content": "", "tool_calls": calls})
        }
        Dialect::OpenAiChat | Dialect::Gptel => return None,
    })
}

fn id(at: usize) -> String {
    format!("call_{at}")
}

/// All texts under these keys, at any depth.
fn texts(value: &Value, keys: &[&str], found: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| texts(value, keys, found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if keys.contains(&key.as_str()) => {
                        found.push(text.clone());
                    }
                    value => texts(value, keys, found),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn calls_are_repeated_with_such_names_in_every_protocol_and_form() {
    let mut names: Vec<String> = NAMES.iter().map(|(name, _)| (*name).to_owned()).collect();
    names.push("x".repeat(100_000));
    for dialect in Dialect::ALL.iter().copied() {
        let route = route(dialect, "m");
        let tools = names.iter().enumerate().map(|(at, name)| {
            ConversationEntry::Tool(ToolExchange {
                call_id: id(at).as_str().into(),
                name: name.clone(),
                input: json!({}),
                output: format!("There is no tool {name}."),
                failed: true,
            })
        });
        for native in [None, native(dialect, &names)] {
            let mut conversation = vec![user("hi"), ConversationEntry::SampleStart];
            conversation.extend(native.map(|native| native_entry(&route, native)));
            conversation.extend(tools.clone());
            let body = codec_for(dialect).encode(&route, &request(conversation));
            let mut told = Vec::new();
            texts(&body, &["name", "tool_name"], &mut told);
            assert!(told.len() >= names.len(), "{dialect:?}: {told:?}");
            for name in &told {
                assert_eq!(call_name(name), name.as_str(), "{dialect:?}");
            }
            for (_, plain) in NAMES {
                assert!(told.iter().any(|name| name == plain), "{dialect:?} {plain}");
            }
            let text = body.to_string();
            assert!(
                text.contains("There is no tool functions.bash."),
                "{dialect:?}"
            );
        }
    }
}

#[test]
fn a_call_without_a_usable_id_gets_one_that_its_result_has_too() {
    let route = route(Dialect::Anthropic, "m");
    let calls = json!([
        {"type": "tool_use", "id": "", "name": "grep", "input": {}},
        {"type": "tool_use", "id": "<redacted>", "name": "grep", "input": {}},
    ]);
    let tools = (0..2).map(|at| {
        ConversationEntry::Tool(ToolExchange {
            call_id: id(at).as_str().into(),
            name: "grep".into(),
            input: json!({}),
            output: "o".into(),
            failed: false,
        })
    });
    let mut conversation = vec![user("hi"), ConversationEntry::SampleStart];
    conversation.push(native_entry(&route, calls));
    conversation.extend(tools);
    let body = codec_for(Dialect::Anthropic).encode(&route, &request(conversation));
    let mut ids = Vec::new();
    texts(&body, &["id", "tool_use_id"], &mut ids);
    assert_eq!(ids, ["call_0", "_redacted_", "call_0", "_redacted_"]);
}

use magent_types::{ConversationEntry, Dialect, Effort, Thinking};
use serde_json::{Value, json};

use super::Ollama;
use crate::dialect::Codec;
use crate::dialect::test_support::{
    self, assistant, exchange, native_entry, picture, request, user,
};
use crate::{Route, WireTool};

fn route(model: &str) -> Route {
    test_support::route(Dialect::Ollama, model)
}

/// The messages after the system text.
fn messages(conversation: Vec<ConversationEntry>) -> Vec<Value> {
    let body = Ollama.encode(&route("m"), &request(conversation));
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages[0], json!({"role": "system", "content": "be good"}));
    messages[1..].to_vec()
}

#[test]
fn an_answer_of_elsewhere_is_told_in_plain_messages() {
    let told = messages(vec![
        user("hi"),
        ConversationEntry::SampleStart,
        ConversationEntry::Reasoning("private".into()),
        assistant("I look."),
        native_entry(
            &route("other"),
            json!({"role": "assistant", "thinking": "foreign"}),
        ),
        exchange("a", json!({"b": "", "a": null}), "one"),
        exchange("b", json!("{half"), ""),
        ConversationEntry::SampleStart,
        assistant("Done."),
    ]);
    assert_eq!(
        told,
        [
            json!({"role": "user", "content": "hi"}),
            json!({"role": "assistant", "content": "I look.", "tool_calls": [
                {"function": {"name": "grep", "arguments": {"b": "", "a": null}}},
                {"function": {"name": "grep", "arguments": {"invalid_arguments": "{half"}}}]}),
            json!({"role": "tool", "tool_name": "grep", "content": "one"}),
            json!({"role": "tool", "tool_name": "grep", "content": ""}),
            json!({"role": "assistant", "content": "Done."}),
        ]
    );
}

#[test]
fn an_answer_of_this_route_is_repeated_as_it_came_and_each_call_has_a_result() {
    let message = json!({"role": "assistant", "content": "I look.", "thinking": "t",
        "tool_calls": [
            {"id": "x", "function": {"index": 0, "name": "grep", "arguments": {}}},
            {"function": {"name": "glob", "arguments": {}}}]});
    let told = messages(vec![
        user("hi"),
        ConversationEntry::SampleStart,
        ConversationEntry::Reasoning("t".into()),
        assistant("I look."),
        native_entry(&route("m"), message.clone()),
        exchange("x", json!({}), "one"),
    ]);
    assert_eq!(told[1], message);
    assert_eq!(
        told[2],
        json!({"role": "tool", "tool_name": "grep", "content": "one", "tool_call_id": "x"})
    );
    assert_eq!(told[3]["tool_name"], "glob");
    assert_eq!(told[3].get("tool_call_id"), None);
    assert!(told[3]["content"].as_str().unwrap().contains("unknown"));
    assert_eq!(told.len(), 4);
}

#[test]
fn a_request_repeats_the_one_before_it_byte_for_byte() {
    let native = json!({"role": "assistant", "content": "",
        "tool_calls": [{"function": {"name": "grep", "arguments": {"z": 1, "a": 2}}}]});
    let mut conversation = vec![
        user("hi"),
        ConversationEntry::SampleStart,
        native_entry(&route("m"), native),
        exchange("a", json!({}), "one"),
    ];
    let first = Value::from(messages(conversation.clone())).to_string();
    assert_eq!(
        first,
        Value::from(messages(conversation.clone())).to_string()
    );
    conversation.extend([
        ConversationEntry::SampleStart,
        assistant("Done."),
        user("x"),
    ]);
    let second = Value::from(messages(conversation)).to_string();
    assert!(second.starts_with(first.trim_end_matches(']')), "{second}");
}

#[test]
fn tools_and_numbers_have_their_places() {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let mut request = request(vec![user("x")]);
    request.system.clear();
    request.params.temperature = Some(0.5);
    request.params.top_p = Some(0.9);
    request.params.max_tokens = Some(100);
    request.tools = vec![WireTool {
        name: "f".into(),
        description: "d".into(),
        parameters: schema.clone(),
    }];
    let expected = json!({
        "model": "m",
        "messages": [{"role": "user", "content": "x"}],
        "tools": [{"type": "function",
            "function": {"name": "f", "description": "d", "parameters": schema}}],
        "stream": true,
        "options": {"temperature": 0.5, "top_p": 0.9, "num_predict": 100},
    });
    let body = Ollama.encode(&route("m"), &request);
    assert_eq!(body.to_string(), expected.to_string());
    request.stream = false;
    request.tools.clear();
    request.params.temperature = None;
    request.params.top_p = None;
    request.params.max_tokens = None;
    assert_eq!(
        Ollama.encode(&route("m"), &request),
        json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": false})
    );
}

#[test]
fn the_users_own_fields_count_last_and_leave_the_rest_of_a_group() {
    let mut route = route("m");
    let own = json!({"num_ctx": 32_768, "temperature": 0.1});
    route.extra.insert("options".into(), own);
    route.extra.insert("keep_alive".into(), "1h".into());
    let mut request = request(vec![user("x")]);
    request.params.temperature = Some(0.7);
    request.params.max_tokens = Some(100);
    let body = Ollama.encode(&route, &request);
    assert_eq!(
        body["options"],
        json!({"temperature": 0.1, "num_predict": 100, "num_ctx": 32_768})
    );
    assert_eq!(body["keep_alive"], "1h");
}

fn think(
    route: &Route,
    thinking: Thinking,
    effort: Option<Effort>,
) -> Result<Option<Value>, String> {
    let mut request = request(vec![user("x")]);
    request.params.thinking = thinking;
    request.params.effort = effort;
    Ollama.check(route, &request)?;
    let body = Ollama.encode(route, &request);
    Ok(body.get("think").cloned())
}

#[test]
fn thinking_is_yes_or_no_or_a_level_where_there_are_some() {
    use Thinking::{Auto, Disabled, Enabled};
    for (model, mode, effort, expected) in [
        ("qwen3", Auto, None, None),
        ("qwen3", Enabled, None, Some(json!(true))),
        ("qwen3", Disabled, None, Some(json!(false))),
        ("qwen3", Disabled, Some(Effort::High), Some(json!(false))),
        ("gpt-oss:20b", Auto, None, None),
        ("gpt-oss:20b", Enabled, None, Some(json!(true))),
        (
            "gpt-oss:20b",
            Auto,
            Some(Effort::Minimal),
            Some(json!("low")),
        ),
        (
            "gpt-oss:20b",
            Enabled,
            Some(Effort::Medium),
            Some(json!("medium")),
        ),
        (
            "user/gpt-oss",
            Auto,
            Some(Effort::XHigh),
            Some(json!("high")),
        ),
    ] {
        assert_eq!(think(&route(model), mode, effort), Ok(expected), "{model}");
    }
}

#[test]
fn what_a_model_cannot_be_told_about_thinking_is_refused_unless_the_user_says_it() {
    for (model, mode, effort, part) in [
        (
            "gpt-oss",
            Thinking::Disabled,
            None,
            "cannot be told not to think",
        ),
        ("qwen3", Thinking::Auto, Some(Effort::Low), "thought levels"),
        (
            "qwen3",
            Thinking::Enabled,
            Some(Effort::Low),
            "thought levels",
        ),
    ] {
        let mut route = route(model);
        let problem = think(&route, mode, effort).unwrap_err();
        assert!(problem.contains(part), "{problem}");
        assert!(problem.contains(&format!("test:{model}")), "{problem}");
        route.extra.insert("think".into(), "max".into());
        assert_eq!(think(&route, mode, effort), Ok(Some(json!("max"))));
    }
}

#[test]
fn pictures_go_along_with_the_words() {
    let told = messages(vec![
        user("look"),
        picture("a.png", Some("aGk=")),
        picture("b.png", None),
    ]);
    assert_eq!(
        told,
        [json!({"role": "user",
            "content": "look\n\n[The picture b.png cannot be shown here.]", "images": ["aGk="]})]
    );
}

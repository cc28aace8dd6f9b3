use magent_types::{ConversationEntry, Dialect, Effort, SamplingParams, Thinking, ToolExchange};
use serde_json::{Value, json};

use super::Gemini;
use crate::dialect::Codec;
use crate::dialect::test_support::{
    self, assistant, exchange, native_entry, picture, request, user,
};
use crate::{Route, WireTool};

fn route(model: &str) -> Route {
    test_support::route(Dialect::Gemini, model)
}

fn contents(conversation: Vec<ConversationEntry>) -> Value {
    let body = Gemini.encode(&route("m"), &request(conversation));
    body["contents"].clone()
}

#[test]
fn an_answer_of_elsewhere_is_told_in_plain_parts_with_the_roles_in_turn() {
    let failed = ConversationEntry::Tool(ToolExchange {
        call_id: "b".into(),
        name: "bash".into(),
        input: json!("{half"),
        output: "broken".into(),
        failed: true,
    });
    let told = contents(vec![
        user("hi"),
        ConversationEntry::SampleStart,
        ConversationEntry::Reasoning("private".into()),
        assistant("I look."),
        native_entry(
            &route("other"),
            json!([{"text": "x", "thoughtSignature": "foreign"}]),
        ),
        exchange("a", json!({"b": "", "a": null}), ""),
        failed,
        user("go on"),
        user("  "),
    ]);
    assert_eq!(
        told,
        json!([
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [
                {"text": "I look."},
                {"functionCall": {"name": "grep", "args": {"b": "", "a": null}}},
                {"functionCall": {"name": "bash", "args": {"invalid_arguments": "{half"}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "grep", "response": {"result": ""}}},
                {"functionResponse": {"name": "bash", "response": {"error": "broken"}}},
                {"text": "go on"}]},
        ])
    );
}

#[test]
fn an_answer_of_this_route_is_repeated_as_it_came_and_each_call_has_a_result() {
    let parts = json!([
        {"text": "t", "thought": true},
        {"text": "I look."},
        {"functionCall": {"id": "x", "name": "grep", "args": {}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "glob"}},
        {"text": "", "thoughtSignature": "bGFzdA=="},
    ]);
    let told = contents(vec![
        user("hi"),
        ConversationEntry::SampleStart,
        ConversationEntry::Reasoning("t".into()),
        assistant("I look."),
        native_entry(&route("m"), parts.clone()),
        exchange("x", json!({}), "one"),
    ]);
    assert_eq!(told[1], json!({"role": "model", "parts": parts}));
    assert_eq!(
        told[2]["parts"][0],
        json!({"functionResponse": {"id": "x", "name": "grep", "response": {"result": "one"}}})
    );
    let unknown = &told[2]["parts"][1]["functionResponse"];
    assert_eq!(unknown["name"], "glob");
    assert_eq!(unknown.get("id"), None);
    let error = unknown["response"]["error"].as_str().unwrap();
    assert!(error.contains("unknown"), "{error}");
    assert_eq!(told.as_array().unwrap().len(), 3);
}

#[test]
fn a_request_repeats_the_one_before_it_byte_for_byte() {
    let native = json!([{"functionCall": {"name": "grep", "args": {"z": 1, "a": 2}}}]);
    let mut conversation = vec![
        user("hi"),
        ConversationEntry::SampleStart,
        native_entry(&route("m"), native),
        exchange("a", json!({}), "one"),
    ];
    let first = contents(conversation.clone()).to_string();
    assert_eq!(first, contents(conversation.clone()).to_string());
    conversation.extend([
        ConversationEntry::SampleStart,
        assistant("Done."),
        user("x"),
    ]);
    let second = contents(conversation).to_string();
    assert!(second.starts_with(first.trim_end_matches(']')), "{second}");
}

#[test]
fn system_text_tools_and_numbers_have_their_places() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}},
        "required": ["n"], "additionalProperties": false});
    let mut request = request(vec![user("x")]);
    request.params = SamplingParams {
        temperature: Some(0.5),
        top_p: Some(0.9),
        max_tokens: Some(100),
        ..SamplingParams::default()
    };
    request.tools = ["f", "g"]
        .map(|name| WireTool {
            name: name.into(),
            description: "d".into(),
            parameters: schema.clone(),
        })
        .into();
    let declaration =
        |name| json!({"name": name, "description": "d", "parametersJsonSchema": schema});
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "be good"}]},
        "contents": [{"role": "user", "parts": [{"text": "x"}]}],
        "tools": [{"functionDeclarations": [declaration("f"), declaration("g")]}],
        "generationConfig": {"temperature": 0.5, "topP": 0.9, "maxOutputTokens": 100},
    });
    let body = Gemini.encode(&route("m"), &request);
    assert_eq!(body.to_string(), expected.to_string());
    // The URL says whether it is a stream.
    request.stream = false;
    assert_eq!(Gemini.encode(&route("m"), &request), body);
    request.system.clear();
    request.tools.clear();
    request.params = SamplingParams::default();
    assert_eq!(
        Gemini.encode(&route("m"), &request),
        json!({"contents": [{"role": "user", "parts": [{"text": "x"}]}]})
    );
}

#[test]
fn the_users_own_fields_count_last_and_leave_the_rest_of_a_group() {
    let mut route = route("gemini-3-flash");
    route.extra.insert(
        "generationConfig".into(),
        json!({"topK": 5, "temperature": 0.1, "thinkingConfig": {"includeThoughts": false}}),
    );
    route
        .extra
        .insert("safetySettings".into(), json!([{"category": "C"}]));
    let mut request = request(vec![user("x")]);
    request.params.temperature = Some(0.7);
    request.params.top_p = Some(0.9);
    request.params.effort = Some(Effort::Low);
    let body = Gemini.encode(&route, &request);
    assert_eq!(
        body["generationConfig"],
        json!({"temperature": 0.1, "topP": 0.9,
            "thinkingConfig": {"includeThoughts": false, "thinkingLevel": "low"}, "topK": 5})
    );
    assert_eq!(body["safetySettings"], json!([{"category": "C"}]));
}

fn thinking(
    model: &str,
    thinking: Thinking,
    effort: Option<Effort>,
) -> Result<Option<Value>, String> {
    let mut request = request(vec![user("x")]);
    request.params.thinking = thinking;
    request.params.effort = effort;
    Gemini.check(&route(model), &request)?;
    let body = Gemini.encode(&route(model), &request);
    Ok(body.pointer("/generationConfig/thinkingConfig").cloned())
}

#[test]
fn thinking_in_the_words_of_each_generation() {
    use Thinking::{Auto, Disabled, Enabled};
    for (model, mode, effort, expected) in [
        ("gemini-3.8-flash", Auto, None, None),
        (
            "gemini-3.8-flash",
            Enabled,
            None,
            Some(json!({"includeThoughts": true})),
        ),
        (
            "gemini-pro-latest",
            Auto,
            Some(Effort::Minimal),
            Some(json!({"includeThoughts": true, "thinkingLevel": "low"})),
        ),
        (
            "gemini-4-pro",
            Enabled,
            Some(Effort::XHigh),
            Some(json!({"includeThoughts": true, "thinkingLevel": "high"})),
        ),
        (
            "models/gemini-2.5-flash-lite",
            Enabled,
            None,
            Some(json!({"includeThoughts": true, "thinkingBudget": -1})),
        ),
        (
            "gemini-2.5-pro",
            Auto,
            Some(Effort::Medium),
            Some(json!({"includeThoughts": true, "thinkingBudget": 8_192})),
        ),
        (
            "gemini-2.5-flash",
            Disabled,
            Some(Effort::High),
            Some(json!({"thinkingBudget": 0})),
        ),
        ("gemini-2.0-flash", Disabled, Some(Effort::High), None),
        ("gemini-2.0-flash", Auto, None, None),
    ] {
        assert_eq!(thinking(model, mode, effort), Ok(expected), "{model}");
    }
}

#[test]
fn what_a_model_cannot_be_told_about_thinking_is_refused_before_anything_is_sent() {
    for (model, mode, effort, part) in [
        (
            "gemini-3-flash",
            Thinking::Disabled,
            None,
            "cannot be told not to think",
        ),
        (
            "gemini-2.5-pro",
            Thinking::Disabled,
            None,
            "cannot be told not to think",
        ),
        (
            "gemini-2.0-flash",
            Thinking::Enabled,
            None,
            "does not think",
        ),
        (
            "gemini-1.5-pro",
            Thinking::Auto,
            Some(Effort::Low),
            "does not think",
        ),
    ] {
        let problem = thinking(model, mode, effort).unwrap_err();
        assert!(problem.contains(part), "{problem}");
        assert!(problem.contains(&format!("test:{model}")), "{problem}");
    }
}

#[test]
fn thoughts_leave_tokens_for_the_answer() {
    let budget = |most| {
        let mut request = request(vec![user("x")]);
        request.params.effort = Some(Effort::High);
        request.params.max_tokens = Some(most);
        let body = Gemini.encode(&route("gemini-2.5-flash"), &request);
        body["generationConfig"]["thinkingConfig"]["thinkingBudget"].clone()
    };
    assert_eq!(budget(4_000), 3_000);
    assert_eq!(budget(100_000), 24_576);
    assert_eq!(budget(10), 512);
}

/// Budget and level exclude each other.
#[test]
fn the_users_own_budget_stands_alone() {
    let mut route = route("gemini-3-flash");
    let own = json!({"thinkingConfig": {"thinkingBudget": 7}});
    route.extra.insert("generationConfig".into(), own);
    let mut request = request(vec![user("x")]);
    request.params.effort = Some(Effort::High);
    let body = Gemini.encode(&route, &request);
    assert_eq!(
        body["generationConfig"]["thinkingConfig"],
        json!({"includeThoughts": true, "thinkingBudget": 7})
    );
    request.params.thinking = Thinking::Disabled;
    assert_eq!(Gemini.check(&route, &request), Ok(()));
    let body = Gemini.encode(&route, &request);
    assert_eq!(
        body["generationConfig"]["thinkingConfig"],
        json!({"thinkingBudget": 7})
    );
}

#[test]
fn pictures_come_before_the_words_about_them() {
    let told = contents(vec![
        user("look"),
        picture("a.png", Some("aGk=")),
        picture("b.png", None),
    ]);
    assert_eq!(
        told[0]["parts"],
        json!([
            {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
            {"text": "look\n\n[The picture b.png cannot be shown here.]"},
        ])
    );
}

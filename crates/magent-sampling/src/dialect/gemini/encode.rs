//! The request's body.

use serde_json::{Map, Value, json};

use super::contents::contents;
use super::thinking;
use crate::dialect::wire::merge_extra;
use crate::{Route, SampleRequest, WireTool};

pub(super) fn body(route: &Route, request: &SampleRequest) -> Value {
    let mut body = Map::new();
    if !request.system.is_empty() {
        body.insert(
            "systemInstruction".into(),
            json!({"parts": [{"text": request.system}]}),
        );
    }
    body.insert(
        "contents".into(),
        contents(route, &request.conversation).into(),
    );
    if !request.tools.is_empty() {
        let declarations: Vec<Value> = request.tools.iter().map(declaration).collect();
        body.insert(
            "tools".into(),
            json!([{"functionDeclarations": declarations}]),
        );
    }
    let config = generation_config(route, request);
    if !config.is_empty() {
        body.insert("generationConfig".into(), config.into());
    }
    merge_extra(&mut body, route);
    Value::Object(body)
}

/// `parameters` takes a subset of OpenAPI only, and one keyword beyond it, such as the
/// `additionalProperties` of our tools, has the whole request refused.
/// `parametersJsonSchema`, which excludes it, takes JSON Schema as it is.
fn declaration(tool: &WireTool) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": tool.parameters,
    })
}

fn generation_config(route: &Route, request: &SampleRequest) -> Map<String, Value> {
    let params = &request.params;
    let fields: [(&str, Option<Value>); 4] = [
        ("temperature", params.temperature.map(Value::from)),
        ("topP", params.top_p.map(Value::from)),
        ("maxOutputTokens", params.max_tokens.map(Value::from)),
        ("thinkingConfig", thinking::config(route, params)),
    ];
    fields
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect()
}

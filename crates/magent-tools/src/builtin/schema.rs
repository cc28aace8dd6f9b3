//! The schemas of tools: the parts that all of them share.

use serde_json::{Map, Value, json};

/// The schema of a tool's arguments.  Every tool takes a `reason` besides its own,
/// which people see and the tool never gets.
pub(crate) fn parameters(properties: Value, required: &[&str]) -> Value {
    let mut properties = into_object(properties);
    properties.insert(
        "reason".to_owned(),
        json!({
            "type": "string",
            "description": "One short sentence for the user why this call is made.",
        }),
    );
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The schema of a result's value in which every property is there.
pub(crate) fn output(properties: Value) -> Value {
    let properties = into_object(properties);
    let required: Vec<String> = properties.keys().cloned().collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

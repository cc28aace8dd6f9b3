//! What the audit may keep of a call's arguments.

use serde_json::{Map, Value};

/// Keeps the arguments `kept` as they are and of the arguments `measured` only
/// their length in characters.
pub(crate) fn preview(
    arguments: &Map<String, Value>,
    kept: &[&str],
    measured: &[&str],
) -> Map<String, Value> {
    let mut preview = Map::new();
    for name in kept {
        if let Some(value) = arguments.get(*name) {
            preview.insert((*name).to_owned(), value.clone());
        }
    }
    for name in measured {
        if let Some(text) = arguments.get(*name).and_then(Value::as_str) {
            preview.insert(format!("{name}_length"), text.chars().count().into());
        }
    }
    preview
}

/// Keeps nothing but the number of arguments.
pub(crate) fn field_count(arguments: &Map<String, Value>) -> Map<String, Value> {
    Map::from_iter([("field_count".to_owned(), arguments.len().into())])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn contents_are_measured_and_never_kept() {
        let Value::Object(arguments) = json!({ "path": "a", "content": "grün", "other": 1 })
        else {
            panic!("not an object")
        };
        let preview = preview(&arguments, &["path", "source"], &["content", "missing"]);
        assert_eq!(
            Value::Object(preview),
            json!({ "path": "a", "content_length": 4 })
        );
        assert_eq!(
            Value::Object(field_count(&arguments)),
            json!({ "field_count": 3 })
        );
    }
}

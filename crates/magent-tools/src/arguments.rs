//! The check of a call's arguments against its tool's schema.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use boon::{Compiler, SchemaIndex, Schemas, ValidationError};
use magent_types::{ToolSpec, parse_json};
use parking_lot::Mutex;
use serde_json::{Map, Value};

/// Why arguments were refused; the text goes to the model, which can correct them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// The text is no JSON, for example because the stream ended inside it.
    #[error("the arguments are not valid JSON ({0}); send the whole call again")]
    NotJson(String),
    /// The JSON is no object.
    #[error("the arguments must be a JSON object")]
    NotObject,
    /// The object breaks the schema.
    #[error("{}", .0.join("; "))]
    Schema(Vec<String>),
}

/// Reads the arguments as the model wrote them and checks them.
///
/// An empty text counts as `{}`, since some providers send that for a call without
/// arguments.  Optional arguments that are null are dropped, and so is `reason`,
/// which every tool accepts and only user interfaces show.  Returns the checked
/// arguments and the reason.
pub fn check_arguments(
    spec: &ToolSpec,
    raw: &str,
) -> Result<(Map<String, Value>, Option<String>), ArgumentError> {
    let raw = raw.trim();
    let value: Value = if raw.is_empty() {
        Value::Object(Map::new())
    } else {
        parse_json(raw).map_err(|error| ArgumentError::NotJson(error.to_string()))?
    };
    let Value::Object(mut arguments) = value else {
        return Err(ArgumentError::NotObject);
    };
    let reason = match arguments.remove("reason") {
        Some(Value::String(reason)) => Some(reason),
        _ => None,
    };
    drop_optional_nulls(&spec.parameters, &mut arguments);
    validate(&spec.parameters, &arguments)?;
    Ok((arguments, reason))
}

fn drop_optional_nulls(schema: &Value, arguments: &mut Map<String, Value>) {
    let required = |name: &str| {
        schema
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|names| names.iter().any(|required| required == name))
    };
    arguments.retain(|name, value| !value.is_null() || required(name));
}

fn validate(schema: &Value, arguments: &Map<String, Value>) -> Result<(), ArgumentError> {
    let errors = schema_errors(schema, &Value::Object(arguments.clone()))
        .map_err(|error| ArgumentError::Schema(vec![error]))?;
    if errors.is_empty() {
        Ok(())
    } else {
        Err(ArgumentError::Schema(errors))
    }
}

/// What breaks the schema, at most five complaints, each with the place it is about.
/// Fails if the schema itself cannot be used.
pub(crate) fn schema_errors(schema: &Value, instance: &Value) -> Result<Vec<String>, String> {
    let compiled = compiled(schema)?;
    let mut complaints = Vec::new();
    if let Err(error) = compiled.schemas.validate(instance, compiled.index) {
        collect(&error, &mut complaints);
    }
    complaints.truncate(5);
    Ok(complaints)
}

/// A schema that is ready for use.
struct Compiled {
    schemas: Schemas,
    index: SchemaIndex,
}

/// Compiling a schema takes longer than all else that a call needs, and there are only as
/// many schemas as tools, so each is compiled once.
fn compiled(schema: &Value) -> Result<Arc<Compiled>, String> {
    static KNOWN: LazyLock<Mutex<HashMap<String, Arc<Compiled>>>> = LazyLock::new(Mutex::default);
    let text = schema.to_string();
    if let Some(known) = KNOWN.lock().get(&text) {
        return Ok(Arc::clone(known));
    }
    // A relative name would be looked for in the working directory, which may be gone.
    const NAME: &str = "urn:magent:tool";
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    let index = compiler
        .add_resource(NAME, schema.clone())
        .and_then(|()| compiler.compile(NAME, &mut schemas))
        .map_err(|error| format!("the tool's schema is broken: {error}"))?;
    let compiled = Arc::new(Compiled { schemas, index });
    KNOWN.lock().insert(text, Arc::clone(&compiled));
    Ok(compiled)
}

/// The complaints at the leaves; what is above them only says that there are some.
fn collect(error: &ValidationError<'_, '_>, complaints: &mut Vec<String>) {
    if error.causes.is_empty() {
        let place = error.instance_location.to_string();
        let text = match place.as_str() {
            "" => error.kind.to_string(),
            place => format!("{place}: {}", error.kind),
        };
        complaints.push(shorten(&text));
    }
    for cause in &error.causes {
        collect(cause, complaints);
    }
}

/// Complaints quote names that a model made up, which may be long.
fn shorten(text: &str) -> String {
    const LIMIT: usize = 300;
    if text.chars().count() <= LIMIT {
        return text.to_owned();
    }
    let head: String = text.chars().take(LIMIT / 2).collect();
    let tail: Vec<char> = text.chars().rev().take(LIMIT / 2).collect();
    let tail: String = tail.into_iter().rev().collect();
    format!("{head} [...] {tail}")
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;

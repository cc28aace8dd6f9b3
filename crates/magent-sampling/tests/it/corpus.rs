//! Reads `tests/fixtures/wire`: see the readme there for the format.

use std::fs;
use std::path::{Path, PathBuf};

use magent_sampling::{ProviderError, Route};
use magent_types::{Dialect, ModelEvent, Usage};
use serde_json::{Map, Value, json};

use crate::play::{Played, route};

pub const DIALECTS: [Dialect; 5] = [
    Dialect::OpenAiChat,
    Dialect::OpenAiResponses,
    Dialect::Anthropic,
    Dialect::Gemini,
    Dialect::Ollama,
];

/// A stream and what is to come of it.
pub struct Fixture {
    pub name: String,
    pub route: Route,
    pub stream: Vec<u8>,
    pub expected: Map<String, Value>,
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/wire")
}

/// All streams of a dialect, by name.
pub fn fixtures(dialect: Dialect) -> Vec<Fixture> {
    let folder = folder().join(dialect.as_str());
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "stream"))
        .collect();
    paths.sort();
    paths.iter().map(|path| read(dialect, path)).collect()
}

fn read(dialect: Dialect, path: &Path) -> Fixture {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let expected = fs::read_to_string(path.with_extension("expected.json"))
        .unwrap_or_else(|error| panic!("{name} has nothing expected: {error}"));
    let expected: Map<String, Value> =
        serde_json::from_str(&expected).unwrap_or_else(|error| panic!("{name}: {error}"));
    for key in expected.keys() {
        let known = [
            "about",
            "cases",
            "route",
            "ends-early",
            "needs-end-marker",
            "events",
            "usage",
            "native",
            "error",
        ];
        assert!(known.contains(&key.as_str()), "{name} has {key}");
    }
    let field = |key: &str, default: &str| {
        let field = expected.get("route").and_then(|route| route[key].as_str());
        field.unwrap_or(default).to_owned()
    };
    let route = route(
        dialect,
        &field("model", "m"),
        &field("url", "https://host/v1/endpoint"),
    );
    Fixture {
        name: format!("{}/{name}", dialect.as_str()),
        route,
        stream: fs::read(path).unwrap(),
        expected,
    }
}

impl Fixture {
    pub fn is(&self, flag: &str) -> bool {
        self.expected.get(flag).is_some_and(|value| value == true)
    }

    /// Checks that what came of the stream is what was written down.
    pub fn check(&self, played: &Played) {
        let given = tell(played, &self.expected);
        let mut expected = self.expected.clone();
        for key in ["about", "cases", "route", "ends-early", "needs-end-marker"] {
            expected.remove(key);
        }
        let (given, expected) = (Value::from(given), Value::from(expected));
        assert_eq!(given, expected, "{}\n{given}\n{expected}", self.name);
    }
}

/// What came of a stream in the form in which it is written down.  Of an error only that is
/// told which `expected` has, its message as far as the expected one is part of it.
fn tell(played: &Played, expected: &Map<String, Value>) -> Map<String, Value> {
    let mut told = Map::new();
    told.insert("events".into(), said(&played.events).into());
    for event in &played.events {
        match event {
            ModelEvent::Usage(usage) => drop(told.insert("usage".into(), tell_usage(*usage))),
            ModelEvent::Native(native) if expected.contains_key("native") => {
                told.insert("native".into(), native.clone());
            }
            _ => {}
        }
    }
    if let Err(error) = &played.result {
        let expected = expected.get("error").unwrap_or(&Value::Null);
        told.insert("error".into(), tell_error(error, expected));
    }
    told
}

/// The events but those that have a place of their own in what is written down.
pub fn said(events: &[ModelEvent]) -> Vec<Value> {
    let mut told: Vec<Value> = Vec::new();
    for event in events {
        let (key, text) = match event {
            ModelEvent::TextDelta(text) => ("text", text),
            ModelEvent::ReasoningDelta(text) => ("reasoning", text),
            ModelEvent::ToolCall(call) => {
                let (id, name, arguments) = (&call.id, &call.name, &call.arguments);
                told.push(json!({"call": {"id": id, "name": name, "arguments": arguments}}));
                continue;
            }
            ModelEvent::MessageEnd(phase) => {
                told.push(json!({"message-end": phase}));
                continue;
            }
            ModelEvent::Completed(reason) => {
                told.push(json!({"completed": reason.as_str()}));
                continue;
            }
            ModelEvent::Usage(_) | ModelEvent::Native(_) => continue,
        };
        // Numbers between two pieces do not part them.
        match told.last_mut().and_then(|last| last.get_mut(key)) {
            Some(Value::String(known)) => known.push_str(text),
            _ => told.push(json!({key: text})),
        }
    }
    told
}

fn tell_usage(usage: Usage) -> Value {
    let fields = [
        ("input", usage.input),
        ("output", usage.output),
        ("reasoning", usage.reasoning),
        ("cached_read", usage.cached_read),
        ("cached_write", usage.cached_write),
    ];
    let known = fields
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?.into())));
    Value::Object(known.collect())
}

fn tell_error(error: &ProviderError, expected: &Value) -> Value {
    let (kind, code) = match error {
        ProviderError::Reported { code, .. } => ("reported", code.clone()),
        ProviderError::Truncated { .. } => ("truncated", None),
        ProviderError::Protocol { .. } => ("protocol", None),
        other => panic!("{other:?} comes from no decoder"),
    };
    let mut told = Map::new();
    told.insert("kind".into(), kind.into());
    let message = error.to_string();
    match expected["message"].as_str() {
        Some(part) if message.contains(part) => drop(told.insert("message".into(), part.into())),
        Some(_) => drop(told.insert("message".into(), message.into())),
        None => {}
    }
    if let Some(code) = code {
        told.insert("code".into(), code.into());
    }
    Value::Object(told)
}

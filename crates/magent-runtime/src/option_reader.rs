//! Options as Lisp sends them, read by kind; what is of another kind is refused by the
//! option's name.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::RuntimeError;

/// The error for an option whose value cannot be used.
pub(crate) fn bad(option: &str, problem: &str) -> RuntimeError {
    RuntimeError::BadOption(format!("magent-{option}"), problem.to_owned())
}

/// The options as Lisp sends them.
pub(crate) struct Reader<'a> {
    pub(crate) map: &'a Map<String, Value>,
}

impl Reader<'_> {
    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, RuntimeError> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(bad(key, "is no string or symbol")),
        }
    }

    pub(crate) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, RuntimeError> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(entries)) => entries
                .iter()
                .map(|entry| match entry {
                    Value::String(text) => Ok(text.clone()),
                    _ => Err(bad(key, "holds something that is no string or symbol")),
                })
                .collect::<Result<_, _>>()
                .map(Some),
            Some(_) => Err(bad(key, "is no list")),
        }
    }

    pub(crate) fn count(&self, key: &str) -> Result<Option<u64>, RuntimeError> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value
                .as_u64()
                .map(Some)
                .ok_or_else(|| bad(key, "is no whole number of at least 0")),
        }
    }

    /// A number that may be switched off by null: absent is `None`, null `Some(None)`.
    pub(crate) fn optional_count(&self, key: &str) -> Result<Option<Option<u64>>, RuntimeError> {
        match self.map.get(key) {
            None => Ok(None),
            Some(Value::Null) => Ok(Some(None)),
            Some(_) => self.count(key).map(Some),
        }
    }

    pub(crate) fn seconds(&self, key: &str) -> Result<Option<Duration>, RuntimeError> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value
                .as_f64()
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .map(Some)
                .ok_or_else(|| bad(key, "is no number of seconds")),
        }
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        matches!(self.map.get(key), Some(Value::Bool(true)))
    }
}

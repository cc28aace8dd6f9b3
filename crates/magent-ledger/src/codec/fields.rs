//! Reading an object key by key, so that what is left over can be refused.

use serde_json::{Map, Value};

use crate::error::ShapeError;

/// An object that is being read.
pub(crate) struct Fields {
    map: Map<String, Value>,
}

impl Fields {
    /// Begins to read a value that must be an object.
    pub(crate) fn of_object(value: Value) -> Result<Self, ShapeError> {
        match value {
            Value::Object(map) => Ok(Self { map }),
            _ => Err(ShapeError::new("", "is not an object")),
        }
    }

    /// Takes a field, which may be absent.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.map.remove(key)
    }

    /// Takes a field that must be there, null allowed.
    pub(crate) fn required(&mut self, key: &str) -> Result<Value, ShapeError> {
        self.take(key)
            .ok_or_else(|| ShapeError::new(key, "is missing"))
    }

    /// Takes a text that must be there.
    pub(crate) fn required_text(&mut self, key: &str) -> Result<String, ShapeError> {
        match self.required(key)? {
            Value::String(text) => Ok(text),
            _ => Err(ShapeError::new(key, "is not a string")),
        }
    }

    /// Takes a text that may be absent or null.
    pub(crate) fn optional_text(&mut self, key: &str) -> Result<Option<String>, ShapeError> {
        match self.take(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(ShapeError::new(key, "is neither a string nor null")),
        }
    }

    /// Takes a number that must be there.
    pub(crate) fn required_number(&mut self, key: &str) -> Result<f64, ShapeError> {
        self.required(key)?
            .as_f64()
            .ok_or_else(|| ShapeError::new(key, "is not a number"))
    }

    /// Takes a number that may be absent or null.
    pub(crate) fn optional_number(&mut self, key: &str) -> Result<Option<f64>, ShapeError> {
        match self.take(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value
                .as_f64()
                .map(Some)
                .ok_or_else(|| ShapeError::new(key, "is neither a number nor null")),
        }
    }

    /// Takes a positive whole number that must be there.
    pub(crate) fn required_count(&mut self, key: &str) -> Result<u64, ShapeError> {
        self.required(key)?
            .as_u64()
            .ok_or_else(|| ShapeError::new(key, "is not a whole number"))
    }

    /// Takes an array that must be there.
    pub(crate) fn required_array(&mut self, key: &str) -> Result<Vec<Value>, ShapeError> {
        match self.required(key)? {
            Value::Array(entries) => Ok(entries),
            _ => Err(ShapeError::new(key, "is not an array")),
        }
    }

    /// Takes an object that may be absent or null.
    pub(crate) fn optional_object(
        &mut self,
        key: &str,
    ) -> Result<Option<Map<String, Value>>, ShapeError> {
        match self.take(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(map)) => Ok(Some(map)),
            Some(_) => Err(ShapeError::new(key, "is neither an object nor null")),
        }
    }

    /// Ends the reading; anything left over is refused by name.
    pub(crate) fn finish(self) -> Result<(), ShapeError> {
        match self.map.keys().next() {
            None => Ok(()),
            Some(key) => Err(ShapeError::new(key.as_str(), "is not a known field")),
        }
    }
}

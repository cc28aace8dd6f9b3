//! JSON in which no object has a key twice.
//!
//! What a key that is there twice means is up to the reader; a file that says two things
//! is damaged.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};

/// Reads JSON; a key that an object has twice is an error.
pub(crate) fn parse_unique(bytes: &[u8]) -> serde_json::Result<Value> {
    parse(bytes, Twice::IsRefused)
}

/// Reads JSON as Lisp looks at lists of keys and values: the first of a key counts.
pub(crate) fn parse_first(bytes: &[u8]) -> serde_json::Result<Value> {
    parse(bytes, Twice::CountsOnce)
}

fn parse(bytes: &[u8], twice: Twice) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = twice.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// What becomes of a key that an object has twice.
#[derive(Clone, Copy)]
enum Twice {
    IsRefused,
    CountsOnce,
}

impl<'de> DeserializeSeed<'de> for Twice {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Twice {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            let value = object.next_value_seed(self)?;
            match fields.entry(key) {
                Entry::Vacant(entry) => entry.insert(value),
                Entry::Occupied(entry) => {
                    if matches!(self, Self::CountsOnce) {
                        continue;
                    }
                    let problem = format!("the key {:?} is there twice", entry.key());
                    return Err(A::Error::custom(problem));
                }
            };
        }
        Ok(fields.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_they_are_and_keys_are_there_once() {
        for text in [
            r#"{"a":[1,-2,1.5,1e300,"é\n",null,true,{}],"b":{"a":18446744073709551615}}"#,
            "[]",
            "null",
            r#""x""#,
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(parse_unique(text.as_bytes()).unwrap(), expected, "{text}");
        }
        for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"c":2,"a":3}}]"#] {
            let error = parse_unique(text.as_bytes()).unwrap_err();
            assert!(
                error.to_string().contains("\"a\" is there twice"),
                "{error}"
            );
        }
        for text in ["", "{", "[1] x", "\u{1}"] {
            assert!(parse_unique(text.as_bytes()).is_err(), "{text}");
        }
    }
}

//! JSON-RPC 2.0: lines in, messages out.

use agent_client_protocol_schema::v1::{Error, ErrorCode};
use magent_types::{parse_json, shorten, strip_controls};
use serde_json::{Map, Value, json};

/// A message from the client.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Incoming {
    /// It wants an answer.
    Request {
        /// The id of the answer.
        id: Value,
        /// The method.
        method: String,
        /// Its parameters; an empty object if there are none.
        params: Value,
    },
    /// It wants none.
    Notification {
        /// The method.
        method: String,
        /// Its parameters; an empty object if there are none.
        params: Value,
    },
    /// It answers a request of ours.
    Response {
        /// The id of our request.
        id: Value,
        /// The result, or the error's message.
        result: Result<Value, String>,
    },
}

/// Most characters of an error's message.
const LONGEST_MESSAGE: usize = 2_000;

/// Reads a line.  The error is what is to be answered.
pub(crate) fn parse(line: &str) -> Result<Incoming, Value> {
    let value: Value = parse_json(line).map_err(|error| {
        let error = Error::new(ErrorCode::ParseError.into(), format!("Not JSON: {error}"));
        response(Value::Null, Err(error))
    })?;
    let Value::Object(mut object) = value else {
        return Err(invalid(Value::Null, "The message is no object"));
    };
    let id = object.remove("id");
    let params = match object.remove("params") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(params) => params,
    };
    match (object.remove("method"), id) {
        (Some(Value::String(method)), None) => Ok(Incoming::Notification { method, params }),
        (Some(Value::String(method)), Some(id)) => Ok(Incoming::Request { id, method, params }),
        (Some(_), id) => Err(invalid(
            id.unwrap_or(Value::Null),
            "The method is no string",
        )),
        (None, Some(id)) => {
            let result = match (object.remove("result"), object.remove("error")) {
                // Whoever tells an error as well has not simply said yes.
                (Some(result), None | Some(Value::Null)) => Ok(result),
                (_, Some(error)) => Err(error
                    .get("message")
                    .and_then(Value::as_str)
                    .unwrap_or("unknown error")
                    .to_owned()),
                (None, None) => return Err(invalid(id, "The message has no method")),
            };
            Ok(Incoming::Response { id, result })
        }
        (None, None) => Err(invalid(Value::Null, "The message has no method")),
    }
}

fn invalid(id: Value, problem: &str) -> Value {
    let error = Error::new(ErrorCode::InvalidRequest.into(), problem);
    response(id, Err(error))
}

/// An answer.
pub(crate) fn response(id: Value, result: Result<Value, Error>) -> Value {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(mut error) => {
            // It may quote what the client sent, however long that is.
            error.message = shorten(&strip_controls(&error.message), LONGEST_MESSAGE);
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        }
    }
}

/// A request of ours.
pub(crate) fn request(id: &str, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A notification of ours.
pub(crate) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        assert_eq!(
            parse(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#),
            Ok(Incoming::Request {
                id: json!(1),
                method: "m".into(),
                params: json!({"a": 1})
            })
        );
        assert_eq!(
            parse(r#"{"method":"m"}"#),
            Ok(Incoming::Notification {
                method: "m".into(),
                params: json!({})
            })
        );
        assert_eq!(
            parse(r#"{"id":"p1","error":{"code":1,"message":"no"}}"#),
            Ok(Incoming::Response {
                id: json!("p1"),
                result: Err("no".into())
            })
        );
        assert_eq!(
            parse(r#"{"id":"p1","result":{},"error":{"message":"no"}}"#),
            Ok(Incoming::Response {
                id: json!("p1"),
                result: Err("no".into())
            })
        );
        assert_eq!(
            parse(r#"{"id":"p1","result":null}"#),
            Ok(Incoming::Response {
                id: json!("p1"),
                result: Ok(Value::Null)
            })
        );
    }

    #[test]
    fn an_error_is_told_in_short_whatever_it_quotes() {
        let quoted = format!("\u{1b}[2J{}", "x".repeat(1_000_000));
        let error = Error::new(ErrorCode::MethodNotFound.into(), quoted);
        let answer = response(json!(1), Err(error));
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.starts_with('x') && message.chars().count() == LONGEST_MESSAGE);
    }

    #[test]
    fn what_is_no_message_is_answered_with_the_right_code() {
        let code = |line: &str| parse(line).unwrap_err()["error"]["code"].clone();
        assert_eq!(code("{"), -32700);
        assert_eq!(code("[]"), -32600);
        assert_eq!(code(r#"{"id":7}"#), -32600);
        assert_eq!(code(r#"{"id":7,"method":1}"#), -32600);
        assert_eq!(parse(r#"{"id":7,"method":1}"#).unwrap_err()["id"], 7);
    }
}

//! The table of methods.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{Error, ErrorCode};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::connection::Connection;
use crate::error::bad_params;
use crate::handlers;
use crate::outgoing::Outgoing;

/// What became of a request.
pub(crate) enum Handled {
    /// This is its answer.
    Answer(Result<Value, Error>),
    /// This is its answer, and these messages follow it.
    AnswerThen(Value, Vec<Outgoing>),
    /// It is answered when its work is done.
    Later,
}

/// Handles a request.
pub(crate) async fn handle(
    connection: &Arc<Connection>,
    number: u64,
    id: &Value,
    method: &str,
    params: Value,
) -> Handled {
    let answer = match method {
        "initialize" => handlers::initialize(connection, params),
        "session/close" => handlers::session_close(connection, params),
        "session/set_mode" => handlers::session_set_mode(connection, params).await,
        "session/set_config_option" => {
            handlers::session_set_config_option(connection, params).await
        }
        "session/new" => return opened(handlers::session_new(connection, params).await),
        "session/load" => return opened(handlers::session_load(connection, params, true).await),
        "session/resume" => {
            return opened(handlers::session_load(connection, params, false).await);
        }
        "session/fork" => return opened(handlers::session_fork(connection, params).await),
        "session/list" => return handlers::session_list(connection, id, params),
        "session/prompt" => return handlers::session_prompt(connection, number, id, params).await,
        "_session/steering" => return handlers::session_steering(connection, id, params).await,
        _ => Err(Error::new(
            ErrorCode::MethodNotFound.into(),
            format!("Method not found: {method}"),
        )),
    };
    Handled::Answer(answer)
}

fn opened(result: Result<(Value, Vec<Outgoing>), Error>) -> Handled {
    match result {
        Ok((answer, then)) => Handled::AnswerThen(answer, then),
        Err(error) => Handled::Answer(Err(error)),
    }
}

/// Handles a notification at once; unknown ones are ignored, as JSON-RPC wants it.
pub(crate) fn notify(connection: &Connection, number: u64, method: &str, params: &Value) {
    if method == "session/cancel" {
        handlers::session_cancel(connection, number, params);
    }
}

/// Reads parameters of a schema type.
pub(crate) fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params).map_err(|error| bad_params(format!("Invalid params: {error}")))
}

/// Writes a result of a schema type.
pub(crate) fn write<T: serde::Serialize>(result: &T) -> Result<Value, Error> {
    serde_json::to_value(result).map_err(|error| {
        Error::new(
            ErrorCode::InternalError.into(),
            format!("The answer cannot be written: {error}"),
        )
    })
}

//! `_session/steering`, an extension that other agents and clients speak as well: words of
//! the user for the turn that runs.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{ContentBlock, Error};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands;
use crate::connection::Connection;
use crate::error::runtime_error;
use crate::from_acp::prompt_of;
use crate::methods::{Handled, read};
use crate::rpc::response;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SteeringRequest {
    session_id: String,
    prompt: Vec<ContentBlock>,
}

/// Answers `injected` before the turn can react to the words, or `promptRequired`: there
/// is no turn that could, and the client has to send them as a prompt.
pub(crate) async fn session_steering(
    connection: &Arc<Connection>,
    id: &Value,
    params: Value,
) -> Handled {
    match steer(connection, id, params).await {
        Ok(true) => Handled::Later,
        Ok(false) => Handled::Answer(Ok(json!({"outcome": "promptRequired"}))),
        Err(error) => Handled::Answer(Err(error)),
    }
}

async fn steer(connection: &Arc<Connection>, id: &Value, params: Value) -> Result<bool, Error> {
    let request: SteeringRequest = read(params)?;
    let session = connection.check_bound(&request.session_id)?;
    let input = prompt_of(request.prompt)?;
    // A command is answered between turns, without a model.
    if commands::command_of(&input.words()).is_some() {
        return Ok(false);
    }
    let injected = || {
        let answer = json!({"outcome": "injected"});
        connection.sender.message(response(id.clone(), Ok(answer)));
    };
    connection
        .runtime
        .steer(&session, input, injected)
        .await
        .map_err(|error| runtime_error(&error))
}

//! `session/set_mode` and `session/set_config_option`.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ConfigOptionUpdate, Error, SessionConfigOption, SessionUpdate, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse,
};
use magent_types::{Effort, SessionId, Thinking};
use serde_json::Value;

use crate::connection::Connection;
use crate::error::{bad_params, runtime_error};
use crate::methods::{read, write};
use crate::to_acp::options::{AUTO, config_options, model_of_id};

pub(crate) async fn session_set_mode(
    connection: &Arc<Connection>,
    params: Value,
) -> Result<Value, Error> {
    let request: SetSessionModeRequest = read(params)?;
    let id = connection.check_bound(&request.session_id.0)?;
    connection
        .runtime
        .set_agent(&id, &request.mode_id.0)
        .map_err(|error| runtime_error(&error))?;
    // Clients show modes or options; those that show options hear of it as one.
    let options = current_options(connection, &id).await?;
    send_options(connection, &id, options);
    write(&SetSessionModeResponse::new())
}

fn send_options(connection: &Connection, id: &SessionId, options: Vec<SessionConfigOption>) {
    let update = SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options));
    connection.sender.update(id.as_str(), update);
}

/// The options for the client, which knows them then.  A registry that does not answer
/// leaves the model as the only choice it is.
async fn current_options(
    connection: &Connection,
    id: &SessionId,
) -> Result<Vec<SessionConfigOption>, Error> {
    let runtime = &connection.runtime;
    let options = runtime.options(id).map_err(|error| runtime_error(&error))?;
    let catalog = runtime.models().await.unwrap_or_default();
    let options = config_options(runtime, &catalog, &options);
    connection.note_options(id, &options);
    Ok(options)
}

/// Tells the client its options anew if they are others by now: backends and defaults are
/// set up in Emacs while shells are open.
pub(crate) fn refresh_options(connection: &Arc<Connection>, id: &SessionId) {
    let (connection, id) = (Arc::clone(connection), id.clone());
    tokio::spawn(async move {
        let runtime = &connection.runtime;
        let (Ok(catalog), Ok(options)) = (runtime.models().await, runtime.options(&id)) else {
            return;
        };
        let options = config_options(runtime, &catalog, &options);
        if connection.note_options(&id, &options) {
            send_options(&connection, &id, options);
        }
    });
}

pub(crate) async fn session_set_config_option(
    connection: &Arc<Connection>,
    params: Value,
) -> Result<Value, Error> {
    let request: SetSessionConfigOptionRequest = read(params)?;
    let id = connection.check_bound(&request.session_id.0)?;
    let value = request
        .value
        .as_value_id()
        .ok_or_else(|| bad_params("The value of an option is the id of one of its choices."))?;
    set_option(connection, &id, &request.config_id.0, &value.0).await?;
    let options = current_options(connection, &id).await?;
    write(&SetSessionConfigOptionResponse::new(options))
}

async fn set_option(
    connection: &Arc<Connection>,
    id: &SessionId,
    option: &str,
    value: &str,
) -> Result<(), Error> {
    let runtime = &connection.runtime;
    let result = match option {
        "mode" => runtime.set_agent(id, value),
        "model" => {
            let model = match value {
                AUTO => None,
                value => {
                    let catalog = runtime
                        .models()
                        .await
                        .map_err(|error| runtime_error(&error))?;
                    let model = model_of_id(&catalog, value);
                    Some(model.ok_or_else(|| bad_params(format!("There is no model {value}.")))?)
                }
            };
            runtime.set_model(id, model)
        }
        "effort" => {
            let effort = choice(value, "thought level", Effort::parse)?;
            runtime.set_effort(id, effort)
        }
        "thinking" => {
            let thinking = choice(value, "thinking mode", Thinking::parse)?;
            runtime.set_thinking(id, thinking)
        }
        _ => return Err(bad_params(format!("There is no option {option}."))),
    };
    result.map_err(|error| runtime_error(&error))
}

/// The choice that an id names; none leaves it to agent and defaults.
fn choice<T>(
    value: &str,
    what: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Error> {
    if value == AUTO {
        return Ok(None);
    }
    match parse(value) {
        Some(choice) => Ok(Some(choice)),
        None => Err(bad_params(format!("There is no {what} {value}."))),
    }
}

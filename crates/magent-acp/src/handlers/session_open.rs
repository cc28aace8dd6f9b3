//! `session/new`, `session/load`, `session/resume`, `session/fork` and `session/close`.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    CloseSessionRequest, CloseSessionResponse, Error, ForkSessionRequest, ForkSessionResponse,
    LoadSessionRequest, LoadSessionResponse, NewSessionRequest, NewSessionResponse,
    SessionConfigOption, SessionInfoUpdate, SessionModeState, SessionUpdate, UsageUpdate,
};
use magent_runtime::{ModelCatalog, RuntimeError, SessionInfo};
use magent_types::{Scope, SessionId};
use serde_json::Value;

use crate::commands;
use crate::connection::Connection;
use crate::error::runtime_error;
use crate::from_acp::scope_of;
use crate::methods::{read, write};
use crate::outgoing::{Outgoing, session_update};
use crate::to_acp::options::{config_options, modes};
use crate::to_acp::replay::replay_updates;
use crate::to_acp::updates::notice;

pub(crate) async fn session_new(
    connection: &Arc<Connection>,
    params: Value,
) -> Result<(Value, Vec<Outgoing>), Error> {
    let request: NewSessionRequest = read(params)?;
    let scope = scope(request.cwd).await?;
    let info = connection
        .runtime
        .new_session(scope, &connection.config())
        .map_err(|error| runtime_error(&error))?;
    connection.bind(&info.id);
    let opened = opened(connection, &info, request.mcp_servers.len()).await;
    let answer = NewSessionResponse::new(info.id.to_string())
        .modes(opened.modes)
        .config_options(opened.options);
    Ok((write(&answer)?, opened.then))
}

/// Loads a session, showing its conversation again if `replay`.
pub(crate) async fn session_load(
    connection: &Arc<Connection>,
    params: Value,
    replay: bool,
) -> Result<(Value, Vec<Outgoing>), Error> {
    // Both requests have the same parameters.
    let request: LoadSessionRequest = read(params)?;
    let scope = scope(request.cwd).await?;
    let id = SessionId::new(request.session_id.0.as_ref());
    let info = connection
        .runtime
        .load_session(scope, id, &connection.config())
        .await
        .map_err(|error| runtime_error(&error))?;
    connection.bind(&info.id);
    if replay {
        let entries = connection
            .runtime
            .replay(&info.id)
            .map_err(|error| runtime_error(&error))?;
        let catalog = connection.runtime.catalog();
        let terminal = connection.projector.terminal();
        for update in replay_updates(entries, catalog, terminal) {
            connection.sender.update(info.id.as_str(), update);
        }
    }
    let opened = opened(connection, &info, request.mcp_servers.len()).await;
    let answer = LoadSessionResponse::new()
        .modes(opened.modes)
        .config_options(opened.options);
    Ok((write(&answer)?, opened.then))
}

/// Makes a session with the conversation of another, of which clients show nothing again.
pub(crate) async fn session_fork(
    connection: &Arc<Connection>,
    params: Value,
) -> Result<(Value, Vec<Outgoing>), Error> {
    let request: ForkSessionRequest = read(params)?;
    let scope = scope(request.cwd).await?;
    let id = SessionId::new(request.session_id.0.as_ref());
    let forked = connection
        .runtime
        .fork_session(scope, id, &connection.config())
        .await;
    let info = forked.map_err(|error| runtime_error(&error))?;
    connection.bind(&info.id);
    let opened = opened(connection, &info, request.mcp_servers.len()).await;
    let answer = ForkSessionResponse::new(info.id.to_string())
        .modes(opened.modes)
        .config_options(opened.options);
    Ok((write(&answer)?, opened.then))
}

/// What a client is told of a session that was opened.
struct Opened {
    modes: SessionModeState,
    options: Vec<SessionConfigOption>,
    /// What follows the answer.
    then: Vec<Outgoing>,
}

async fn opened(connection: &Connection, info: &SessionInfo, mcp_servers: usize) -> Opened {
    let models = connection.runtime.models().await;
    let options = options_from(connection, &models, info);
    let mut then = after_opening(connection, info, &models, mcp_servers);
    let catalog = models.as_ref().ok();
    then.extend(catalog.and_then(|catalog| context_meter(connection, info, catalog)));
    Opened {
        modes: modes(&connection.runtime, &info.options),
        options,
        then,
    }
}

/// How full the context is of a session that has a past.
fn context_meter(
    connection: &Connection,
    info: &SessionInfo,
    catalog: &ModelCatalog,
) -> Option<Outgoing> {
    let (used, size) = connection.runtime.context_usage(&info.id, catalog)?;
    let update = SessionUpdate::UsageUpdate(UsageUpdate::new(used, size));
    Some(Outgoing::Message(session_update(info.id.as_str(), update)))
}

pub(crate) fn session_close(connection: &Arc<Connection>, params: Value) -> Result<Value, Error> {
    let request: CloseSessionRequest = read(params)?;
    let id = connection.check_bound(&request.session_id.0)?;
    connection.unbind(&id);
    write(&CloseSessionResponse::new())
}

/// Resolving links may touch a slow disk.
async fn scope(cwd: std::path::PathBuf) -> Result<Scope, Error> {
    match tokio::task::spawn_blocking(move || scope_of(&cwd)).await {
        Ok(scope) => scope,
        Err(_) => Err(crate::error::bad_params("cwd cannot be used.")),
    }
}

/// The registered models, or why they are not known.
type Models = Result<ModelCatalog, RuntimeError>;

fn options_from(
    connection: &Connection,
    models: &Models,
    info: &SessionInfo,
) -> Vec<SessionConfigOption> {
    // Without models the session can still be opened.
    let none = ModelCatalog::default();
    let catalog = models.as_ref().unwrap_or(&none);
    let options = config_options(&connection.runtime, catalog, &info.options);
    connection.note_options(&info.id, &options);
    options
}

/// Why no prompt can be answered now, so that nobody types one in vain.
fn missing_model(models: &Models, info: &SessionInfo) -> Option<String> {
    match models {
        Ok(_) if info.options.model.is_some() => None,
        Ok(catalog) => {
            let error = catalog.default_choice().err()?;
            Some(error.to_failure().full_text())
        }
        Err(error) => Some(error.to_failure().full_text()),
    }
}

/// What follows the answer: commands, title, and what the user should know.
fn after_opening(
    connection: &Connection,
    info: &SessionInfo,
    models: &Models,
    mcp_servers: usize,
) -> Vec<Outgoing> {
    let session = info.id.as_str();
    let mut updates = vec![commands::available()];
    if let Some(title) = &info.title {
        let update = SessionInfoUpdate::new().title(title.clone());
        updates.push(SessionUpdate::SessionInfoUpdate(update));
    }
    let mut then: Vec<Outgoing> = updates
        .into_iter()
        .map(|update| Outgoing::Message(session_update(session, update)))
        .collect();
    if let Some(text) = &info.notice {
        then.extend(notice(connection, session, text));
    }
    if let Some(text) = missing_model(models, info) {
        then.extend(notice(connection, session, &text));
    }
    if mcp_servers > 0 {
        let text = "MCP servers are not supported; those that were configured are not used.";
        then.extend(notice(connection, session, text));
    }
    then
}

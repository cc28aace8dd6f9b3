//! `initialize`.

use std::sync::Arc;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, Error, Implementation, InitializeRequest, InitializeResponse,
    PromptCapabilities, SessionCapabilities, SessionCloseCapabilities, SessionForkCapabilities,
    SessionListCapabilities, SessionResumeCapabilities,
};
use serde_json::{Map, Value, json};

use crate::connection::Connection;
use crate::methods::{read, write};

pub(crate) fn initialize(connection: &Arc<Connection>, params: Value) -> Result<Value, Error> {
    let request: InitializeRequest = read(params)?;
    let name = request.client_info.map(|client| client.name);
    // ACP has no live output of the agent's own commands.  Some clients show it in the way
    // that other agents send it, and say so; agent-shell does it without saying so.
    let says_so = request
        .client_capabilities
        .meta
        .is_some_and(|meta| meta.get("terminal_output") == Some(&Value::Bool(true)));
    if says_so || name.as_deref() == Some("agent-shell") {
        connection.projector.use_terminal_output();
    }
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
        .session_capabilities(
            SessionCapabilities::new()
                .list(SessionListCapabilities::new())
                .resume(SessionResumeCapabilities::new())
                .fork(SessionForkCapabilities::new())
                .close(SessionCloseCapabilities::new()),
        );
    let info = Implementation::new("magent", env!("CARGO_PKG_VERSION")).title("Magent".to_owned());
    let mut answer = write(
        &InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(info)
            .meta(Map::from_iter([(
                "steering".to_owned(),
                json!({"supported": true}),
            )])),
    )?;
    // Clients test for the presence of a capability, so what is not there is left out.
    if let Some(capabilities) = answer.get_mut("agentCapabilities") {
        drop_absent(capabilities);
    }
    Ok(answer)
}

fn drop_absent(value: &mut Value) {
    if let Value::Object(object) = value {
        object.values_mut().for_each(drop_absent);
        object.retain(|key, value| {
            *value != Value::Bool(false)
                && !value.is_null()
                // A group whose members are all absent says nothing.
                && !(matches!(key.as_str(), "mcpCapabilities" | "auth")
                    && value.as_object().is_some_and(serde_json::Map::is_empty))
        });
    }
}

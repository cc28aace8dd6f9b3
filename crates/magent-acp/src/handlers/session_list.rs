//! `session/list`.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ListSessionsRequest, ListSessionsResponse, SessionInfo as AcpSessionInfo,
};
use magent_runtime::SessionListing;
use magent_types::UnixSeconds;
use serde_json::Value;

use crate::connection::Connection;
use crate::error::runtime_error;
use crate::from_acp::scope_of;
use crate::methods::{Handled, read, write};
use crate::rpc::response;

/// Answers from a task of its own: clients ask after every turn, and nothing else must
/// wait for a directory to be read.
pub(crate) fn session_list(connection: &Arc<Connection>, id: &Value, params: Value) -> Handled {
    let request: ListSessionsRequest = match read(params) {
        Ok(request) => request,
        Err(error) => return Handled::Answer(Err(error)),
    };
    let connection = Arc::clone(connection);
    let id = id.clone();
    tokio::spawn(async move {
        let scope = match request.cwd {
            None => Ok(None),
            Some(cwd) => tokio::task::spawn_blocking(move || scope_of(&cwd))
                .await
                .unwrap_or_else(|_| Err(crate::error::bad_params("cwd cannot be used.")))
                .map(Some),
        };
        let answer = match scope {
            Err(error) => Err(error),
            Ok(scope) => {
                let listed = connection.runtime.list_sessions(scope).await;
                listed
                    .map_err(|error| runtime_error(&error))
                    .and_then(|mut listed| {
                        tell_apart(&mut listed);
                        let sessions = listed.into_iter().map(session_info).collect();
                        write(&ListSessionsResponse::new(sessions))
                    })
            }
        };
        connection.sender.message(response(id, answer));
    });
    Handled::Later
}

/// Numbers sessions that lists would show alike, from the oldest on: people choose by the
/// title and the minute.
fn tell_apart(listed: &mut [SessionListing]) {
    let look = |listing: &SessionListing| {
        let minute = (listing.updated_at / 60.0) as i64;
        (listing.scope.clone(), listing.title.clone(), minute)
    };
    let mut counts: HashMap<_, (usize, usize)> = HashMap::new();
    for listing in listed.iter() {
        counts.entry(look(listing)).or_default().0 += 1;
    }
    for listing in listed.iter_mut().rev() {
        let Some((_, number)) = counts.get_mut(&look(listing)).filter(|it| it.0 > 1) else {
            continue;
        };
        *number += 1;
        let title = listing.title.get_or_insert_with(|| "Untitled".to_owned());
        title.push_str(&format!(" ({number})"));
    }
}

fn session_info(listing: SessionListing) -> AcpSessionInfo {
    let cwd = listing.scope.root().unwrap_or("/").to_owned();
    AcpSessionInfo::new(listing.id.to_string(), cwd)
        .title(listing.title)
        .updated_at(iso_time(listing.updated_at))
}

fn iso_time(seconds: UnixSeconds) -> Option<String> {
    let format =
        time::macros::format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");
    time::OffsetDateTime::from_unix_timestamp(seconds as i64)
        .ok()?
        .format(format)
        .ok()
}

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
                    .and_then(|listed| {
                        let sessions = rows(listed).into_iter().map(session_info).collect();
                        write(&ListSessionsResponse::new(sessions))
                    })
            }
        };
        connection.sender.message(response(id, answer));
    });
    Handled::Later
}

/// A session as a list of this protocol shows it.
struct Row {
    id: String,
    cwd: String,
    title: Option<String>,
    updated_at: UnixSeconds,
}

fn rows(listed: Vec<SessionListing>) -> Vec<Row> {
    let row = |listing: SessionListing| Row {
        id: listing.summary.id.to_string(),
        cwd: listing.scope.root().unwrap_or("/").to_owned(),
        title: listing.full_title(),
        updated_at: listing.summary.updated_at,
    };
    let mut rows: Vec<Row> = listed.into_iter().map(row).collect();
    tell_apart(&mut rows);
    rows
}

/// Numbers sessions that lists would show alike, from the oldest on: people choose by the
/// title and the minute.
fn tell_apart(rows: &mut [Row]) {
    let look = |row: &Row| {
        let minute = (row.updated_at / 60.0) as i64;
        (row.cwd.clone(), row.title.clone(), minute)
    };
    let mut counts: HashMap<_, (usize, usize)> = HashMap::new();
    for row in rows.iter() {
        counts.entry(look(row)).or_default().0 += 1;
    }
    for row in rows.iter_mut().rev() {
        let Some((_, number)) = counts.get_mut(&look(row)).filter(|it| it.0 > 1) else {
            continue;
        };
        *number += 1;
        let title = row.title.get_or_insert_with(|| "Untitled".to_owned());
        title.push_str(&format!(" ({number})"));
    }
}

fn session_info(row: Row) -> AcpSessionInfo {
    AcpSessionInfo::new(row.id, row.cwd)
        .title(row.title)
        .updated_at(iso_time(row.updated_at))
}

fn iso_time(seconds: UnixSeconds) -> Option<String> {
    let format =
        time::macros::format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");
    time::OffsetDateTime::from_unix_timestamp(seconds as i64)
        .ok()?
        .format(format)
        .ok()
}

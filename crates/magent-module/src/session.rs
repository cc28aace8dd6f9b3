//! Requests of Lisp callers about sessions as a whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use magent_runtime::{ExportFormat, ModelChoice, RuntimeConfig, SessionInfo};
use magent_types::{Failure, Scope, SessionId};
use serde_json::{Value, json};

use crate::api::spawn;
use crate::core::Core;
use crate::errors::{bad_argument, failed};

/// The scope of a directory: canonical where it is local, only named where it is not.
fn scope_of(directory: Option<&str>) -> Result<Scope, Failure> {
    let Some(directory) = directory else {
        return Ok(Scope::Global);
    };
    let named = Scope::Project(match directory.trim_end_matches('/') {
        "" => "/".to_owned(),
        trimmed => trimmed.to_owned(),
    });
    if named.is_remote() {
        return Ok(named);
    }
    let unusable = |problem: String| bad_argument(format!("{directory}: {problem}."));
    let canonical = Path::new(directory)
        .canonicalize()
        .map_err(|error| unusable(error.to_string()))?;
    match canonical.to_str() {
        Some(root) => Ok(Scope::Project(root.to_owned())),
        None => Err(unusable("is not UTF-8".to_owned())),
    }
}

fn session_json(info: &SessionInfo) -> Value {
    json!({
        "session-id": info.id.as_str(),
        "root": info.scope.root(),
        "title": info.title,
        "agent": info.options.agent,
        "model": info.options.model.as_ref().map(ModelChoice::full_name),
        "notice": info.notice,
    })
}

/// Makes a session, for a directory or for no project.
pub(crate) fn session_new(
    core: &'static Core,
    directory: Option<String>,
    config: Arc<RuntimeConfig>,
) -> u64 {
    spawn(core, async move {
        let scope = scope_of(directory.as_deref())?;
        let info = core.runtime.new_session(scope, &config).map_err(failed)?;
        core.runtime.attach(&info.id);
        Ok(session_json(&info))
    })
}

/// Opens a saved or live session.
pub(crate) fn session_load(
    core: &'static Core,
    directory: Option<String>,
    id: String,
    config: Arc<RuntimeConfig>,
) -> u64 {
    spawn(core, async move {
        let scope = scope_of(directory.as_deref())?;
        let id = SessionId::new(id);
        let info = core
            .runtime
            .load_session(scope, id, &config)
            .await
            .map_err(failed)?;
        core.runtime.attach(&info.id);
        Ok(session_json(&info))
    })
}

/// Makes a session out of another one, as a fork or out of what is left of it.
pub(crate) fn session_copy(
    core: &'static Core,
    directory: Option<String>,
    id: String,
    how: &str,
    config: Arc<RuntimeConfig>,
) -> Result<u64, Failure> {
    let recovers = match how {
        "fork" => false,
        "recover" => true,
        _ => return Err(bad_argument("a copy is a fork or recovers")),
    };
    Ok(spawn(core, async move {
        let scope = scope_of(directory.as_deref())?;
        let id = SessionId::new(id);
        let runtime = &core.runtime;
        let copied = if recovers {
            runtime.recover_session(scope, id, &config).await
        } else {
            runtime.fork_session(scope, id, &config).await
        };
        let info = copied.map_err(failed)?;
        core.runtime.attach(&info.id);
        Ok(session_json(&info))
    }))
}

/// Lists the saved sessions of a directory, or all.
pub(crate) fn session_list(core: &'static Core, directory: Option<String>) -> u64 {
    spawn(core, async move {
        let scope = match directory {
            None => None,
            Some(directory) => Some(scope_of(Some(&directory))?),
        };
        let listed = core.runtime.list_sessions(scope).await.map_err(failed)?;
        let rows = listed.iter().map(|session| {
            let summary = &session.summary;
            json!({
                "session-id": summary.id.as_str(),
                "root": session.scope.root(),
                "title": summary.title,
                "updated-at": summary.updated_at,
                "bytes": summary.bytes,
                "turns": summary.turns,
                "model": summary.model,
                "holder": summary.holder,
                "here": session.is_here,
                "damage": summary.damage,
            })
        });
        Ok(rows.collect())
    })
}

/// Deletes a saved session of a directory.
pub(crate) fn session_delete(core: &'static Core, directory: Option<String>, id: String) -> u64 {
    spawn(core, async move {
        let scope = scope_of(directory.as_deref())?;
        let deleted = core.runtime.delete_session(scope, SessionId::new(id)).await;
        deleted.map(|()| Value::Null).map_err(failed)
    })
}

/// How a conversation is written down, by its name.
pub(crate) fn export_format(name: &str) -> Result<ExportFormat, Failure> {
    ExportFormat::parse(name).ok_or_else(|| bad_argument(format!("There is no format {name}.")))
}

/// What is written down, and where.
pub(crate) struct Export {
    pub(crate) id: SessionId,
    pub(crate) format: ExportFormat,
    /// A local file.
    pub(crate) file: PathBuf,
}

/// Writes the conversation of a session to a file.
pub(crate) fn session_export(
    core: &'static Core,
    directory: Option<String>,
    export: Export,
    config: Arc<RuntimeConfig>,
) -> u64 {
    spawn(core, async move {
        let scope = scope_of(directory.as_deref())?;
        let Export { id, format, file } = export;
        let runtime = &core.runtime;
        let written = runtime.export_session(scope, id, format, file, &config);
        written.await.map(|()| Value::Null).map_err(failed)
    })
}

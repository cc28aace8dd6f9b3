//! The functions that Lisp calls to make, open, list, copy, export and delete sessions.

use emacs::{Env, Result, defun};
use magent_types::SessionId;

use crate::api;
use crate::core::{core, read_config};
use crate::errors::guarded;
use crate::session;
use crate::text::Text;

/// Make a session for DIRECTORY, nil for no project, and return a request number.
///
/// CONFIG is JSON text of the options.  The reply has session-id, root, title,
/// agent, model and notice.
#[defun]
fn session_new(env: &Env, directory: Option<Text>, config: Text) -> Result<i64> {
    guarded(env, || {
        let config = read_config(Some(&config.0))?;
        Ok(session::session_new(core()?, directory.map(|text| text.0), config) as i64)
    })
}

/// Open the session ID of DIRECTORY and return a request number.
///
/// CONFIG is JSON text of the options.  The reply is that of
/// `magent-core-session-new'.
#[defun]
fn session_load(env: &Env, directory: Option<Text>, id: Text, config: Text) -> Result<i64> {
    guarded(env, || {
        let config = read_config(Some(&config.0))?;
        Ok(session::session_load(core()?, directory.map(|text| text.0), id.0, config) as i64)
    })
}

/// Make a session out of the session ID of DIRECTORY and return a request number.
///
/// HOW is \"fork\", or \"recover\" for one that is damaged.  CONFIG is JSON text of the
/// options.  The reply is that of `magent-core-session-new'.
#[defun]
fn session_copy(
    env: &Env,
    directory: Option<Text>,
    id: Text,
    how: Text,
    config: Text,
) -> Result<i64> {
    guarded(env, || {
        let config = read_config(Some(&config.0))?;
        let directory = directory.map(|text| text.0);
        Ok(session::session_copy(core()?, directory, id.0, &how.0, config)? as i64)
    })
}

/// List the saved sessions of DIRECTORY, nil for all, and return a request number.
///
/// The reply is an array of objects with session-id, root, title, updated-at, bytes,
/// turns, model, holder, here and damage; see `magent-runtime-list-sessions'.
#[defun]
fn session_list(env: &Env, directory: Option<Text>) -> Result<i64> {
    guarded(env, || {
        Ok(session::session_list(core()?, directory.map(|text| text.0)) as i64)
    })
}

/// Delete the saved session ID of DIRECTORY, nil for no project.
///
/// Return a request number; the reply is null.
#[defun]
fn session_delete(env: &Env, directory: Option<Text>, id: Text) -> Result<i64> {
    guarded(env, || {
        let directory = directory.map(|text| text.0);
        Ok(session::session_delete(core()?, directory, id.0) as i64)
    })
}

/// Write the session ID of DIRECTORY as FORMAT, \"org\" or \"markdown\", to FILE.
///
/// FILE is local; what is in it is replaced.  CONFIG is JSON text of the options.
/// Return a request number; the reply is null.
#[defun]
fn session_export(
    env: &Env,
    directory: Option<Text>,
    id: Text,
    format: Text,
    file: Text,
    config: Text,
) -> Result<i64> {
    guarded(env, || {
        let config = read_config(Some(&config.0))?;
        let directory = directory.map(|text| text.0);
        let export = session::Export {
            id: SessionId::new(id.0),
            format: session::export_format(&format.0)?,
            file: file.0.into(),
        };
        Ok(session::session_export(core()?, directory, export, config) as i64)
    })
}

/// Give the session ID back; without users its work is cancelled and its lock freed.
#[defun]
fn session_close(env: &Env, id: Text) -> Result<()> {
    guarded(env, || {
        let core = core()?;
        api::unobserve(core, &id.0);
        core.runtime.detach(&SessionId::new(id.0));
        Ok(())
    })
}

/// Send the reports of session ID as report events.
#[defun]
fn session_observe(env: &Env, id: Text) -> Result<()> {
    guarded(env, || {
        api::observe(core()?, &id.0);
        Ok(())
    })
}

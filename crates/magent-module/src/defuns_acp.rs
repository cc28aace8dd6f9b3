//! The functions of the client in Lisp: connections, and what is answered without a model.
//! As in `defuns`, each returns at once.

use emacs::{Env, Result, defun};
use magent_types::SessionId;

use crate::core::{core, read_config};
use crate::errors::{bad_argument, failed, guarded};
use crate::stdio;
use crate::text::Text;

/// Open an ACP connection with CONFIG and return its number.
///
/// CONFIG is JSON text of the user's options; see `magent-config-json'.
#[defun]
fn acp_open(env: &Env, config: Text) -> Result<i64> {
    guarded(env, || {
        let config = read_config(Some(&config.0))?;
        Ok(core()?.open_client(config) as i64)
    })
}

/// Hand LINE, a JSON-RPC message of a client, to CONNECTION.
///
/// CONFIG, if non-nil, replaces the options for this and later requests.  Answers
/// come as acp events.
#[defun]
fn acp_send(env: &Env, connection: i64, line: Text, config: Option<Text>) -> Result<()> {
    guarded(env, || {
        let connection = core()?.connection(number(connection)?)?;
        if let Some(config) = config {
            connection.set_config(read_config(Some(&config.0))?);
        }
        connection.receive(&line.0);
        Ok(())
    })
}

/// End CONNECTION: its turns are cancelled and its sessions closed.
#[defun]
fn acp_close(env: &Env, connection: i64) -> Result<()> {
    guarded(env, || {
        core()?.close(number(connection)?);
        Ok(())
    })
}

/// Serve an ACP client on standard input and output, with CONFIG.
///
/// Return the connection's number.  A stdio-closed event tells that the client has
/// gone.
#[defun]
fn acp_stdio(env: &Env, config: Text) -> Result<i64> {
    guarded(env, || {
        let config = read_config(Some(&config.0))?;
        Ok(stdio::serve(core()?, config)? as i64)
    })
}

/// Return what PROMPT is answered with in SESSION, with CONFIG, as Markdown.
///
/// Return nil if it begins with no command.  No model is asked.
#[defun]
fn acp_command(env: &Env, session: Text, prompt: Text, config: Text) -> Result<Option<String>> {
    guarded(env, || {
        let config = read_config(Some(&config.0))?;
        let id = SessionId::new(session.0);
        let runtime = &core()?.runtime;
        magent_acp::command_answer(runtime, &id, &config, &prompt.0)
            .transpose()
            .map_err(failed)
    })
}

fn number(id: i64) -> std::result::Result<u64, magent_types::Failure> {
    u64::try_from(id).map_err(|_| bad_argument(format!("There is no connection {id}.")))
}

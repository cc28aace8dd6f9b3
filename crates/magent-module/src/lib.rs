//! The dynamic module of Magent.
//!
//! This crate owns the border to Emacs: the functions that Lisp calls, the conversion
//! of values, the pipe that wakes Emacs, the conversion of failures to conditions, and
//! the bridge to standard input and output.  Every function returns at once; nothing
//! here decides anything.  It is the only crate that may be unsafe, and each place says
//! why it is sound.

mod api;
mod channel;
mod core;
mod defuns;
mod defuns_acp;
mod defuns_session;
mod errors;
mod outbox;
mod process;
mod reports;
mod session;
mod stdio;
mod terminal;
mod text;

use emacs::{Env, Result};

emacs::plugin_is_GPL_compatible!();

#[emacs::module(
    name = "magent-core-module",
    defun_prefix = "magent-core",
    separator = "-",
    mod_in_name = false
)]
fn init(_: &Env) -> Result<()> {
    process::ignore_sigpipe();
    errors::install_panic_hook();
    Ok(())
}

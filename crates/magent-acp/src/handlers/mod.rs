//! One file per group of methods; each handler reads schema types and writes them.

mod initialize;
mod session_list;
mod session_open;
mod session_options;
mod session_prompt;
mod session_steering;

pub(crate) use initialize::initialize;
pub(crate) use session_list::session_list;
pub(crate) use session_open::{session_close, session_fork, session_load, session_new};
pub(crate) use session_options::{session_set_config_option, session_set_mode};
pub(crate) use session_prompt::{session_cancel, session_prompt};
pub(crate) use session_steering::session_steering;

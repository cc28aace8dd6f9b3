//! For tests only: a model server whose every byte is scripted, and temporary projects.
//!
//! This crate must never be a normal dependency of anything that users run.

#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot be set up has failed"
)]

mod chat;
mod project;
mod server;

pub use chat::ChatStream;
pub use project::TempProject;
pub use server::{CapturedRequest, Reply, ScriptedServer, Step};

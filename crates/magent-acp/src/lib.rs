//! The Agent Client Protocol, version 1, on the agent's side.
//!
//! This crate owns everything that is said over ACP: the table of methods, the
//! conversion of requests into calls of the runtime, the conversion of reports into
//! updates, and the pace at which updates are sent.  It must never decide anything
//! about a turn, touch a file, or know how its lines travel: they come in as text and
//! go out through a [`LineSink`].

#![forbid(unsafe_code)]

mod commands;
mod connection;
mod error;
mod from_acp;
mod handlers;
mod methods;
mod outgoing;
mod rpc;
mod to_acp;

pub use commands::answer as command_answer;
pub use connection::{Connection, ConnectionSettings};
pub use outgoing::{LineSink, Pace};

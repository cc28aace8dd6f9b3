//! The real program, over a real socket.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

mod client;
mod directives;
mod http;
mod process;
mod provider;
mod tour;

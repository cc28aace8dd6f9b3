//! The transport against a real socket, and the codecs against what providers send.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking, as tests do"
)]

mod broken;
mod corpus;
mod play;
mod silence;
mod transport;
mod wire;

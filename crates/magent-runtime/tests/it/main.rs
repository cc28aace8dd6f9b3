//! Whole turns: the runtime with a scripted model over real HTTP, real tools, real files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking, as tests do"
)]

mod cancel;
mod cancel_fuzz;
mod compaction;
mod failures;
mod permissions;
mod recovery;
mod sessions;
mod steering;
mod support;
mod turns;

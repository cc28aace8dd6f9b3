//! Behaviour of the ledger and its files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking, as tests do"
)]

mod crash;
mod damage;
mod files;
mod fork;
mod lifecycle;
mod lists;
mod migrate;
mod recover;
mod replay;
mod support;
mod views;

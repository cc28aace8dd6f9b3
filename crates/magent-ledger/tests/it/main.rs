//! Behaviour of the ledger and its files.

mod crash;
mod files;
mod lifecycle;
mod replay;
mod support;
mod views;

//! Whole turns: the runtime with a scripted model over real HTTP, real tools, real files.

mod cancel;
mod failures;
mod permissions;
mod sessions;
mod support;
mod turns;

//! The tools a model can call.
//!
//! This crate owns, per tool, the specification the model reads and the code that
//! runs it, the catalogue that lists them all, the checks every call passes
//! (arguments against the schema, the identity of a path), and the bounding of
//! results.  It never decides whether a call may run, never asks the user, never
//! talks to a model, and reaches Emacs and the session's storage only through the
//! ports of [`ToolContext`].

#![forbid(unsafe_code)]
#![expect(
    clippy::result_large_err,
    reason = "a tool fails once per call, where the size of its error costs nothing"
)]

mod arguments;
mod bounds;
mod builtin;
mod catalog;
mod context;
mod path;
mod revision;
mod tool;

#[cfg(test)]
mod test_support;

pub use arguments::{ArgumentError, check_arguments};
pub use bounds::{BoundedOutput, OutputBounds, bound_output, clip_lines};
pub use catalog::{Catalog, builtin_catalog};
pub use context::{
    HostError, HostPort, LiveOutput, ProcessSetup, ReadFilter, SpillError, SpillPage, SpillReader,
    ToolContext, ToolLimits,
};
pub use path::{PathError, Resource, resolve_path};
pub use revision::revision_of;
pub use tool::{Call, Tool};

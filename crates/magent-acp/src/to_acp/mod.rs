//! The runtime's terms as the client gets them.

pub(crate) mod diffs;
pub(crate) mod options;
pub(crate) mod replay;
pub(crate) mod tools;
pub(crate) mod updates;

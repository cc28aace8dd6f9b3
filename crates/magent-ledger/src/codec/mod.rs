//! The JSON of session files.  Keys are exact: an unknown or missing one is refused.

mod event;
mod fields;
mod thread;
mod unique;

pub(crate) use event::encode_lines;
pub use event::{decode_event, encode_event};
pub(crate) use fields::Fields;
pub use thread::{decode_snapshot, encode_snapshot};
pub(crate) use unique::{parse_first, parse_unique};

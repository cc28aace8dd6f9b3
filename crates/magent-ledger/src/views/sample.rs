//! What a sample asked for, rebuilt from the ledger.

use magent_types::{Item, Thread};
use serde_json::Value;

/// The keys of a header whose long texts are recorded once and named afterwards.
pub const SHARED_HEADER_KEYS: [&str; 2] = ["system", "wire-tools"];

/// A sample's whole header.  A text that an earlier sample recorded is looked up there;
/// if that sample is missing the answer is `None`, and nothing is guessed.
pub fn sample_header(thread: &Thread, sample: &Item) -> Option<Value> {
    let mut header = sample.metadata.get("header")?.clone();
    for key in SHARED_HEADER_KEYS {
        let Some(name) = header.get(key).and_then(|text| text.get("same-as")) else {
            continue;
        };
        let name = name.as_str()?;
        let source = thread
            .turns
            .iter()
            .flat_map(|turn| &turn.items)
            .find(|item| item.id.as_str() == name)?;
        header[key] = source.metadata.get("header")?.get(key)?.clone();
    }
    Some(header)
}

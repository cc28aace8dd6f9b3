//! A line of a journal is an event that is written the same way again, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use magent_ledger::{decode_event, encode_event};

fuzz_target!(|line: &[u8]| {
    let Ok(value) = serde_json::from_slice(line) else {
        return;
    };
    if let Ok(event) = decode_event(value) {
        let again = decode_event(encode_event(&event));
        assert_eq!(again.ok().as_ref(), Some(&event));
    }
});

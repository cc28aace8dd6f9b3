//! Whatever a model writes as arguments passes or is refused; it never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use magent_tools::{builtin_catalog, check_arguments};

fuzz_target!(|input: (u8, &str)| {
    let (which, text) = input;
    let catalog = builtin_catalog();
    let tools: Vec<_> = catalog.iter().collect();
    let tool = &tools[usize::from(which) % tools.len()];
    let _ = check_arguments(tool.spec(), text);
});

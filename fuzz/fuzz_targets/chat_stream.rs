//! Any answer of chat completions has one end or is an error, the same however it is cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use magent_types::Dialect;

#[path = "../../crates/magent-sampling/tests/it/play.rs"]
mod play;

fuzz_target!(|bytes: &[u8]| {
    // Reasoning of this model is kept, which is more to go wrong.
    let route = play::route(Dialect::OpenAiChat, "deepseek", "http://localhost/");
    play::play_every_way(&route, bytes, play::some_cut(bytes));
});

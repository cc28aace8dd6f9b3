//! OpenAI chat completions, and everything that calls itself compatible with it.
//!
//! The format is that of the provider's API reference for `/v1/chat/completions`.

mod calls;
mod content;
mod decode;
mod encode;
mod native;
mod thinking;

use serde_json::Value;

use super::{Codec, Decoder};
use crate::{Route, SampleRequest};

// What the portable form of an answer lacks is kept as one object with these keys: the
// reasoning of DeepSeek, that of OpenRouter, and for each call what Gemini adds to it.
const REASONING_CONTENT: &str = "reasoning_content";
const REASONING_DETAILS: &str = "reasoning_details";
const CALLS: &str = "calls";
const EXTRA_CONTENT: &str = "extra_content";

/// The codec.
pub(super) struct OpenAiChat;

impl Codec for OpenAiChat {
    fn check(&self, route: &Route, request: &SampleRequest) -> Result<(), String> {
        thinking::check(route, request.params.thinking)
    }

    fn encode(&self, route: &Route, request: &SampleRequest) -> Value {
        encode::body(route, request)
    }

    fn decoder(&self, route: &Route) -> Box<dyn Decoder> {
        Box::new(decode::ChatDecoder::new(route))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

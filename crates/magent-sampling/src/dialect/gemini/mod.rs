//! Google Gemini.
//!
//! The format is that of the provider's API reference for `models.generateContent` and
//! `models.streamGenerateContent?alt=sse`, version v1beta.  The URL names the model and
//! says whether the answer comes as a stream, so the body says neither.

mod contents;
mod decode;
mod encode;
mod parts;
mod thinking;
mod usage;

use serde_json::Value;

use super::{Codec, Decoder};
use crate::{Route, SampleRequest};

/// The codec.
pub(super) struct Gemini;

impl Codec for Gemini {
    fn check(&self, route: &Route, request: &SampleRequest) -> Result<(), String> {
        thinking::check(route, &request.params)
    }

    fn encode(&self, route: &Route, request: &SampleRequest) -> Value {
        encode::body(route, request)
    }

    fn decoder(&self, route: &Route) -> Box<dyn Decoder> {
        Box::new(decode::GeminiDecoder::new(route.host()))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
#[path = "encode_tests.rs"]
mod encode_tests;

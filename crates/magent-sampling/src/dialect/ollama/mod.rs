//! Ollama's own protocol.
//!
//! The format is that of its API reference for `/api/chat`: a stream has one JSON object a
//! line, and an answer in one body is the same object with everything in it.

mod decode;
mod encode;
mod message;
mod thinking;

use serde_json::Value;

use super::{Codec, Decoder, Framing};
use crate::{Route, SampleRequest};

/// The codec.
pub(super) struct Ollama;

impl Codec for Ollama {
    fn check(&self, route: &Route, request: &SampleRequest) -> Result<(), String> {
        thinking::check(route, &request.params)
    }

    fn encode(&self, route: &Route, request: &SampleRequest) -> Value {
        encode::body(route, request)
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn decoder(&self, route: &Route) -> Box<dyn Decoder> {
        Box::new(decode::OllamaDecoder::new(route.host()))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
#[path = "encode_tests.rs"]
mod encode_tests;

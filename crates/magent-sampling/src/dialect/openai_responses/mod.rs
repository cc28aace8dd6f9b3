//! OpenAI Responses.
//!
//! The format is that of the provider's API reference for `/v1/responses`.  Nothing is
//! stored at the provider: every request tells the whole conversation, and reasoning
//! comes back to it in the encrypted form in which it was given.

mod decode;
mod encode;
mod fields;
mod item;
mod output;
mod thinking;

use serde_json::Value;

use super::{Codec, Decoder};
use crate::{Route, SampleRequest};

/// The codec.
pub(super) struct OpenAiResponses;

impl Codec for OpenAiResponses {
    fn check(&self, route: &Route, request: &SampleRequest) -> Result<(), String> {
        thinking::check(route, &request.params)
    }

    fn encode(&self, route: &Route, request: &SampleRequest) -> Value {
        encode::body(route, request)
    }

    fn decoder(&self, route: &Route) -> Box<dyn Decoder> {
        Box::new(decode::ResponsesDecoder::new(route))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

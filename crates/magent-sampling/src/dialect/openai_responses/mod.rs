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

use magent_types::ModelEvent;
use serde_json::Value;

use super::{Codec, Decoder};
use crate::{ProviderError, Route, SampleRequest};

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

    fn decode_body(
        &self,
        route: &Route,
        body: &Value,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
        let mut decoder = decode::ResponsesDecoder::new(route);
        decoder.whole(body, out)?;
        decoder.finish(out)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

//! OpenAI chat completions, and everything that calls itself compatible with it.
//!
//! The format is that of the provider's API reference for `/v1/chat/completions`.

mod decode;
mod encode;

use magent_types::ModelEvent;
use serde_json::Value;

use super::{Codec, Decoder};
use crate::{ProviderError, Route, SampleRequest};

/// The codec.
pub(super) struct OpenAiChat;

impl Codec for OpenAiChat {
    fn encode(&self, route: &Route, request: &SampleRequest) -> Value {
        encode::body(route, request)
    }

    fn decoder(&self, route: &Route) -> Box<dyn Decoder> {
        Box::new(decode::ChatDecoder::new(route.host()))
    }

    fn decode_body(
        &self,
        route: &Route,
        body: &Value,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
        let mut decoder = decode::ChatDecoder::new(route.host());
        decoder.whole(body, out)?;
        decoder.finish(out)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

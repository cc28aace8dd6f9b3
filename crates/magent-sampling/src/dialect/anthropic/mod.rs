//! Anthropic Messages, and what calls itself compatible with it.
//!
//! The format is that of the provider's API reference for `/v1/messages`, version
//! 2023-06-01.

mod blocks;
mod decode;
mod encode;
mod thinking;

use serde_json::Value;

use super::{Codec, Decoder};
use crate::{Route, SampleRequest};

/// The codec.
pub(super) struct Anthropic;

impl Codec for Anthropic {
    fn encode(&self, route: &Route, request: &SampleRequest) -> Value {
        encode::body(route, request)
    }

    fn decoder(&self, route: &Route) -> Box<dyn Decoder> {
        Box::new(decode::MessagesDecoder::new(route.host()))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

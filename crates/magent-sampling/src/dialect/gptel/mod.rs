//! What the core and `magent-sampling-gptel.el` say to each other, for backends whose
//! protocol only gptel speaks.
//!
//! The request is one JSON object: `backend`, `model`, `system`, `stream`, `speeches`, `tools`
//! (each with `name`, `description` and `parameters`, a schema as JSON text) and, if they are
//! set, `temperature` and `max-tokens`.  A speech has the role `user` with `text`, or the
//! role `model` with `text` and `calls`, each with `id`, `name`, `arguments` (JSON text),
//! `output` and `failed`.
//!
//! The answer comes as objects with a `type`: `text` and `reasoning` with `text`; `call` with
//! `id`, `name` and `arguments`, which are JSON text; `usage` with `input`, `output` and
//! `cached`; and at last `end` with `stop`, or `error` with `message` and, if known, `status`
//! (that of HTTP) and `kind`: `truncated`, `protocol` or `unreachable`.

mod decode;
mod encode;

use magent_types::Thinking;
use serde_json::Value;

use super::{Codec, Decoder, Framing};
use crate::{Route, SampleRequest};

/// The codec.
pub(super) struct Gptel;

impl Codec for Gptel {
    /// gptel has no words for how much a model is to think.
    fn check(&self, route: &Route, request: &SampleRequest) -> Result<(), String> {
        let params = &request.params;
        if params.thinking == Thinking::Auto && params.effort.is_none() {
            return Ok(());
        }
        Err(format!(
            "How much {}:{} is to think cannot be told through gptel. Set the thinking mode to \
             auto and no thought level, or give the provider's own field as a request parameter \
             of the backend.",
            route.backend, route.model
        ))
    }

    fn encode(&self, route: &Route, request: &SampleRequest) -> Value {
        encode::request(route, request)
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn decoder(&self, route: &Route) -> Box<dyn Decoder> {
        Box::new(decode::GptelDecoder::new(route.backend.clone()))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

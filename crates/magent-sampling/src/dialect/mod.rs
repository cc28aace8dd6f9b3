//! Codecs: how each provider's protocol says a request and an answer.

mod anthropic;
#[cfg(test)]
mod call_name_tests;
mod framing;
mod gemini;
mod gptel;
mod numbered;
mod ollama;
mod openai_chat;
mod openai_responses;
mod speech;
#[cfg(test)]
pub(crate) mod test_support;
mod wire;

pub use framing::{EventDecoder, Framing};
use magent_types::{Dialect, ModelEvent};
use serde_json::Value;

use crate::{ProviderError, Route, SampleRequest, SseEvent};

/// Turns requests into bodies and makes decoders for the answers.
pub trait Codec: Send + Sync {
    /// Whether the protocol can say what is asked; if not, why, as a sentence.  What was
    /// chosen by name must never be left out silently.
    fn check(&self, _route: &Route, _request: &SampleRequest) -> Result<(), String> {
        Ok(())
    }

    /// The body of the request.
    fn encode(&self, route: &Route, request: &SampleRequest) -> Value;

    /// How a streamed answer is cut into events.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// A decoder for one answer that comes as a stream of events.
    fn decoder(&self, route: &Route) -> Box<dyn Decoder>;

    /// Decodes an answer that comes as one body.
    fn decode_body(
        &self,
        route: &Route,
        body: &Value,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
        let mut decoder = self.decoder(route);
        decoder.whole(body, out)?;
        decoder.finish(out)
    }
}

/// Decodes one answer, event by event.
pub trait Decoder: Send {
    /// Decodes an event.  After an error nothing more is decoded.
    fn event(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError>;

    /// Decodes an answer that came as one body instead.
    fn whole(&mut self, body: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError>;

    /// How much of the answer is held back until it is whole: grows with every piece of a
    /// call, and not with events that say nothing.
    fn held(&self) -> usize {
        0
    }

    /// Whether the answer is whole, so that the connection need not be read further.
    fn is_complete(&self) -> bool;

    /// Ends the answer: gives what was held back until it was whole, or says that it
    /// is not.
    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError>;
}

/// The codec of a dialect.
pub fn codec_for(dialect: Dialect) -> &'static dyn Codec {
    match dialect {
        Dialect::OpenAiChat => &openai_chat::OpenAiChat,
        Dialect::OpenAiResponses => &openai_responses::OpenAiResponses,
        Dialect::Anthropic => &anthropic::Anthropic,
        Dialect::Gemini => &gemini::Gemini,
        Dialect::Ollama => &ollama::Ollama,
        Dialect::Gptel => &gptel::Gptel,
    }
}

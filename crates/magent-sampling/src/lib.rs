//! Requests to models.
//!
//! This crate owns the provider-neutral request, the codecs that turn it into a
//! provider's bytes and those bytes into events, the SSE decoder, the HTTP transport,
//! and the words in which a provider's failure is told.  Codecs do no IO: bytes in,
//! events out, and any split of the bytes gives the same events.  It must never run a
//! tool, decide whether a turn goes on, or keep a key longer than a request.

#![forbid(unsafe_code)]

mod dialect;
mod error;
mod escapes;
mod fingerprint;
mod redact;
mod request;
mod route;
mod sampler;
mod secrets;
mod sse;
mod transport;

pub use dialect::{Codec, Decoder, EventDecoder, Framing, codec_for};
pub use error::{HttpFailure, ProviderError, Retry};
pub use fingerprint::fingerprint;
pub use redact::Redactor;
pub use request::{SampleRequest, WireTool};
pub use route::{ProxyChoice, Route, Secret};
pub use sampler::{Patience, SampleLimits, Sampler, pass_on};
pub use sse::{SseDecoder, SseEvent};
pub use transport::HttpSampler;

//! HTTP: the only place that opens a connection to a model.

mod client;
mod http;
mod response;

pub use http::HttpSampler;

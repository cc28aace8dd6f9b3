//! One attempt over HTTP.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use magent_types::{ModelEvent, parse_json};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::client::Clients;
use super::response::{BodyKind, ERROR_BODY_LIMIT, body_kind, http_failure};
use crate::redact::StreamRedactor;
use crate::{
    Codec, EventDecoder, Patience, ProviderError, Redactor, Route, SampleLimits, SampleRequest,
    Sampler, codec_for, pass_on,
};

/// The most bytes of an answer.
const BODY_LIMIT: usize = 64 << 20;

/// Gets answers over HTTP in the dialects that the core speaks.
#[derive(Default)]
pub struct HttpSampler {
    clients: Clients,
}

impl HttpSampler {
    /// Makes a sampler; no connection is opened before the first request.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl Sampler for HttpSampler {
    async fn sample(
        &self,
        route: &Route,
        request: &SampleRequest,
        limits: SampleLimits,
        cancel: &CancellationToken,
        events: mpsc::Sender<ModelEvent>,
    ) -> Result<(), ProviderError> {
        let codec = codec_for(route.dialect);
        codec.check(route, request).map_err(ProviderError::Route)?;
        let attempt = Attempt {
            route,
            codec,
            answer: StreamRedactor::new(Redactor::for_route(route)),
            patience: Patience::new(limits),
            events,
        };
        let client = self.clients.for_route(route)?;
        // Dropping the attempt closes its connection.
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ProviderError::Cancelled),
            result = attempt.run(client, request) => result,
        }
    }
}

struct Attempt<'a> {
    route: &'a Route,
    codec: &'a dyn Codec,
    /// What the answer passes through.
    answer: StreamRedactor,
    patience: Patience,
    events: mpsc::Sender<ModelEvent>,
}

impl Attempt<'_> {
    async fn run(
        mut self,
        client: reqwest::Client,
        request: &SampleRequest,
    ) -> Result<(), ProviderError> {
        let body = self.codec.encode(self.route, request).to_string();
        let send = self.http_request(&client, body)?.send();
        let response = self
            .within(send)
            .await?
            .map_err(|error| self.transport_error(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.refusal(response).await);
        }
        let result = match body_kind(response.headers(), request.stream) {
            BodyKind::Events => self.events(response).await,
            BodyKind::Json => self.body(response).await,
            BodyKind::Page => Err(self.unexpected("a web page instead of an answer")),
        };
        let mut rest = Vec::new();
        self.answer.flush(&mut rest);
        self.send(rest).await?;
        result
    }

    fn http_request(
        &self,
        client: &reqwest::Client,
        body: String,
    ) -> Result<reqwest::RequestBuilder, ProviderError> {
        let url = reqwest::Url::parse(self.route.url.reveal()).map_err(|error| {
            ProviderError::Route(format!(
                "The URL of backend {} cannot be used: {error}.",
                self.route.backend
            ))
        })?;
        let mut request = client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            // Some proxies hold a compressed stream back until it is whole.
            .header(ACCEPT_ENCODING, "identity")
            .body(body);
        for (name, value) in &self.route.headers {
            let backend = &self.route.backend;
            // What is no name may be the key in its place.
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
                ProviderError::Route(format!("A header of backend {backend} has no usable name."))
            })?;
            let mut value = HeaderValue::from_bytes(value.reveal().as_bytes()).map_err(|_| {
                ProviderError::Route(format!(
                    "The header {name} of backend {backend} cannot be sent."
                ))
            })?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        Ok(request)
    }

    async fn within<T>(&self, work: impl Future<Output = T>) -> Result<T, ProviderError> {
        self.patience.within(self.route, work).await
    }

    async fn events(&mut self, response: reqwest::Response) -> Result<(), ProviderError> {
        let mut frames = EventDecoder::new(self.codec.framing());
        let mut decoder = self.codec.decoder(self.route);
        let mut stream = response.bytes_stream();
        let mut raw = Vec::new();
        let mut out = Vec::new();
        let mut size = 0;
        loop {
            let piece = self.within(stream.next()).await?;
            let broken = match piece {
                Some(Ok(bytes)) => {
                    size += bytes.len();
                    if size > BODY_LIMIT {
                        return Err(self.unexpected("an answer that does not end"));
                    }
                    frames.push(&bytes, &mut raw);
                    None
                }
                Some(Err(error)) => Some(error),
                None => {
                    frames.finish(&mut raw);
                    let result = self.decode(&mut *decoder, &mut raw, &mut out);
                    let result = result.and_then(|()| decoder.finish(&mut out));
                    self.pass_on(&mut out).await?;
                    return result.map_err(|error| self.clean(error));
                }
            };
            let held = decoder.held();
            let result = self.decode(&mut *decoder, &mut raw, &mut out);
            let goes_on = decoder.held() > held || out.iter().any(is_progress);
            self.pass_on(&mut out).await?;
            if goes_on {
                self.patience.progress();
            }
            result.map_err(|error| self.clean(error))?;
            if decoder.is_complete() {
                decoder
                    .finish(&mut out)
                    .map_err(|error| self.clean(error))?;
                return self.pass_on(&mut out).await;
            }
            if broken.is_some() {
                // A connection that breaks after the answer's own end cost nothing.
                let whole = decoder.finish(&mut out);
                self.pass_on(&mut out).await?;
                return whole.map_err(|_| ProviderError::Truncated {
                    host: self.route.host(),
                });
            }
        }
    }

    fn decode(
        &self,
        decoder: &mut dyn crate::Decoder,
        raw: &mut Vec<crate::SseEvent>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
        for event in raw.drain(..) {
            decoder.event(&event, out)?;
        }
        Ok(())
    }

    async fn pass_on(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        let mut clean = Vec::with_capacity(out.len());
        for event in out.drain(..) {
            self.answer.pass(event, &mut clean);
        }
        self.send(clean).await
    }

    async fn send(&self, events: Vec<ModelEvent>) -> Result<(), ProviderError> {
        pass_on(&self.events, events).await
    }

    async fn body(&mut self, response: reqwest::Response) -> Result<(), ProviderError> {
        let bytes = self.read(response, BODY_LIMIT).await?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(self.unexpected("an empty answer"));
        }
        let value: Value = parse_json(&String::from_utf8_lossy(&bytes))
            .map_err(|error| self.unexpected(&format!("the answer is not JSON ({error})")))?;
        let mut out = Vec::new();
        let result = self.codec.decode_body(self.route, &value, &mut out);
        self.pass_on(&mut out).await?;
        result.map_err(|error| self.clean(error))
    }

    async fn refusal(&mut self, response: reqwest::Response) -> ProviderError {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = self.read(response, ERROR_BODY_LIMIT).await;
        let body = body.unwrap_or_default();
        ProviderError::Http(http_failure(
            status,
            &headers,
            &body,
            &self.answer.redactor,
            self.route.has_key(),
        ))
    }

    async fn read(
        &mut self,
        response: reqwest::Response,
        limit: usize,
    ) -> Result<Vec<u8>, ProviderError> {
        let mut stream = response.bytes_stream();
        let mut body = Vec::new();
        while let Some(piece) = self.within(stream.next()).await? {
            let piece: Bytes = piece.map_err(|error| self.transport_error(&error))?;
            // Servers send white space while a slow model is at work.
            if !piece.trim_ascii().is_empty() {
                self.patience.progress();
            }
            body.extend_from_slice(&piece);
            if body.len() >= limit {
                body.truncate(limit);
                break;
            }
        }
        Ok(body)
    }

    fn unexpected(&self, problem: &str) -> ProviderError {
        ProviderError::Protocol {
            host: self.route.host(),
            problem: problem.to_owned(),
        }
    }

    fn transport_error(&self, error: &reqwest::Error) -> ProviderError {
        let host = self.route.host();
        if error.is_body() || error.is_decode() {
            return ProviderError::Truncated { host };
        }
        ProviderError::Unreachable {
            host,
            problem: self.answer.redactor.clean(&innermost(error)),
            lasting: is_lasting(error),
        }
    }

    fn clean(&self, error: ProviderError) -> ProviderError {
        match error {
            ProviderError::Reported { message, code } => ProviderError::Reported {
                message: self.answer.redactor.clean(&message),
                code: code.map(|code| self.answer.redactor.clean(&code)),
            },
            ProviderError::Protocol { host, problem } => ProviderError::Protocol {
                host,
                problem: self.answer.redactor.clean(&problem),
            },
            other => other,
        }
    }
}

/// Whether an event is part of an answer.  Some servers count tokens all the while.
fn is_progress(event: &ModelEvent) -> bool {
    !matches!(event, ModelEvent::Usage(_))
}

/// A certificate or a protocol that does not fit stays so; a server or network that is not
/// there may come back.
fn is_lasting(error: &reqwest::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>()
            && io.kind() == std::io::ErrorKind::InvalidData
        {
            return true;
        }
        cause = error.source();
    }
    error.is_builder() || error.is_redirect()
}

/// The cause at the bottom says most; the layers above only repeat the URL, which may
/// carry a key.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let text = cause.to_string();
    if error.is_timeout() {
        "the connection took too long".to_owned()
    } else {
        text
    }
}

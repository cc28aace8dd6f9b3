//! The HTTP side: connections, paths, and bodies that are sent beat by beat.
//!
//! A body is a future like any other, so hyper drops it with the connection when the
//! client goes away; nothing runs on for nobody.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use crate::answer::{Answer, Reply};
use crate::request::{ChatRequest, DEFAULT_MODEL};
use crate::script;
use crate::stream::{Act, Beat, Delivery};
use crate::usage::usage;

/// The models there are; they do the same.
const MODELS: [&str; 2] = [DEFAULT_MODEL, "demo-2"];

/// Longer requests are refused.
const MOST_BYTES: usize = 64 << 20;

/// When no connection can be accepted, usually for want of file descriptors, trying again
/// at once would only burn time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// What all connections share.
struct Provider {
    pace: Duration,
    started: u64,
    answers: AtomicU64,
}

/// Serves until the future is dropped.
pub(crate) async fn run(listener: TcpListener, pace: Duration) {
    let provider = Arc::new(Provider {
        pace,
        started: now().as_millis().try_into().unwrap_or_default(),
        answers: AtomicU64::new(0),
    });
    loop {
        match listener.accept().await {
            Ok((connection, _)) => {
                tokio::spawn(serve(connection, Arc::clone(&provider)));
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn serve(connection: TcpStream, provider: Arc<Provider>) {
    // Words should leave one by one; if that cannot be set, they come in clumps.
    let _ = connection.set_nodelay(true);
    let service = service_fn(move |request| {
        let provider = Arc::clone(&provider);
        async move { Ok::<_, Infallible>(provider.respond(request).await) }
    });
    // Clients break connections as they like, and a script may as well: no error here is
    // anything to tell.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(connection), service)
        .await;
}

impl Provider {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/v1/models") => json_response(StatusCode::OK, &self.models()),
            (&Method::POST, "/v1/chat/completions") => self.complete(request).await,
            (method, path @ ("/v1/models" | "/v1/chat/completions")) => error_response(
                StatusCode::METHOD_NOT_ALLOWED,
                &format!("{method} is not for {path}"),
            ),
            (_, path) => error_response(
                StatusCode::NOT_FOUND,
                &format!("there is no {path} here, only /v1/models and /v1/chat/completions"),
            ),
        }
    }

    fn models(&self) -> Value {
        let created = self.started / 1000;
        let models: Vec<Value> = MODELS
            .iter()
            .map(
                |id| json!({"id": id, "object": "model", "created": created, "owned_by": "magent"}),
            )
            .collect();
        json!({"object": "list", "data": models})
    }

    async fn complete(&self, request: Request<Incoming>) -> Response<Body> {
        let body = Limited::new(request.into_body(), MOST_BYTES)
            .collect()
            .await;
        let body = match body {
            Ok(body) => body.to_bytes(),
            Err(error) => {
                let problem = format!("the body cannot be read: {error}");
                return error_response(StatusCode::BAD_REQUEST, &problem);
            }
        };
        let request = match ChatRequest::parse(&body) {
            Ok(request) => request,
            Err(error) => return error_response(StatusCode::BAD_REQUEST, &error.to_string()),
        };
        match script::reply(&request) {
            Ok(Reply::Answer(answer)) => self.deliver(&request, answer),
            Ok(Reply::Http(status)) => {
                let status = StatusCode::from_u16(status);
                let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                error_response(status, &format!("the script says HTTP {}", status.as_u16()))
            }
            Err(error) => error_response(StatusCode::BAD_REQUEST, &error.to_string()),
        }
    }

    fn deliver(&self, request: &ChatRequest, answer: Answer) -> Response<Body> {
        let number = self.answers.fetch_add(1, Ordering::Relaxed);
        let wanted = !request.stream || request.include_usage;
        let delivery = Delivery {
            usage: wanted.then(|| usage(request, &answer)),
            answer,
            // The start makes ids differ from those of an earlier run, which a resumed
            // conversation may still hold.
            id: format!("{:x}{number:04x}", self.started),
            created: now().as_secs(),
            model: request.model.clone(),
            pace: self.pace,
        };
        if request.stream {
            let mut response =
                response(StatusCode::OK, "text/event-stream", play(delivery.events()));
            let headers = response.headers_mut();
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            response
        } else {
            response(StatusCode::OK, "application/json", play(delivery.body()))
        }
    }
}

/// A body that follows the beats.
fn play(beats: impl Iterator<Item = Beat> + Send + 'static) -> Body {
    let frames = stream::unfold(beats, |mut beats| async move {
        let Beat { pause, act } = beats.next()?;
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        let frame = match act {
            Act::Send(bytes) => Ok(Frame::data(bytes)),
            // An error in a body makes hyper close the connection without the mark that
            // ends a body, which is what a broken connection looks like.
            Act::Break => Err(io::Error::other("the script breaks the connection")),
            Act::Hang => std::future::pending().await,
        };
        Some((frame, beats))
    });
    StreamBody::new(frames).boxed_unsync()
}

fn error_response(status: StatusCode, message: &str) -> Response<Body> {
    let kind = if status.is_server_error() {
        "server_error"
    } else {
        "invalid_request_error"
    };
    let error = json!({"message": message, "type": kind, "code": status.as_u16()});
    json_response(status, &json!({"error": error}))
}

fn json_response(status: StatusCode, body: &Value) -> Response<Body> {
    let body = Full::new(Bytes::from(body.to_string()));
    let body = body.map_err(|never| match never {}).boxed_unsync();
    response(status, "application/json", body)
}

fn response(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn now() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

//! A model server on loopback that answers each request with a script.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::ChatStream;

/// One thing the server does while it answers.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Waits.
    Wait(Duration),
    /// Keeps the connection open and sends nothing more until the client goes away.
    Hang,
    /// Breaks the connection off in the middle of the body.
    Break,
}

/// One answer.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    steps: Vec<Step>,
}

impl Reply {
    /// An answer with this status and content type and no body yet.
    pub fn new(status: u16, content_type: &str) -> Self {
        Self {
            status,
            headers: vec![("Content-Type".into(), content_type.into())],
            steps: Vec::new(),
        }
    }

    /// A stream, sent at once.
    pub fn stream(stream: &ChatStream) -> Self {
        Self::new(200, "text/event-stream").step(Step::Send(stream.bytes("\n")))
    }

    /// An answer of a text only.
    pub fn answer(text: &str) -> Self {
        Self::stream(&ChatStream::answer(text))
    }

    /// An answer that calls one tool.
    pub fn calling(id: &str, name: &str, arguments: &Value) -> Self {
        Self::stream(&ChatStream::calling(id, name, arguments))
    }

    /// A JSON body.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json").step(Step::Send(body.to_string().into_bytes()))
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds a step.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

/// A request the server got.
#[derive(Clone, Debug)]
pub struct CapturedRequest {
    /// The request line's path.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

impl CapturedRequest {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The messages of a chat request.
    pub fn messages(&self) -> &[Value] {
        self.body
            .get("messages")
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// Fails unless every call of an assistant message is followed by its result and
    /// every result has its call, which real providers insist on.
    pub fn check_calls(&self) {
        let mut open: Vec<&str> = Vec::new();
        for message in self.messages() {
            if message["role"] == "tool" {
                let id = message["tool_call_id"].as_str().expect("a call id");
                let place = open.iter().position(|known| *known == id);
                open.remove(place.unwrap_or_else(|| panic!("a result without a call: {id}")));
            } else {
                assert!(open.is_empty(), "calls without results: {open:?}");
            }
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                open.push(call["id"].as_str().expect("an id"));
                let arguments = call["function"]["arguments"].as_str().expect("arguments");
                let arguments: Value = serde_json::from_str(arguments).expect("JSON arguments");
                assert!(arguments.is_object(), "{arguments}");
            }
        }
        assert!(open.is_empty(), "calls without results: {open:?}");
    }
}

#[derive(Default)]
struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<CapturedRequest>>,
    gone: Mutex<u32>,
}

/// The server; it stops when dropped.
pub struct ScriptedServer {
    address: std::net::SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl ScriptedServer {
    /// Starts a server that gives these answers in order.  A request too many gets
    /// HTTP 599, which no test expects.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared::default());
        shared.replies.lock().extend(replies);
        let state = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&state);
                tokio::spawn(async move {
                    // A client that breaks off is part of many tests.
                    if serve(stream, &state).await.is_err() {
                        *state.gone.lock() += 1;
                    }
                });
            }
        });
        Self {
            address,
            shared,
            task,
        }
    }

    /// The endpoint's URL.
    pub fn url(&self) -> String {
        format!("http://{}/v1/chat/completions", self.address)
    }

    /// Adds an answer.
    pub fn push(&self, reply: Reply) {
        self.shared.replies.lock().push_back(reply);
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<CapturedRequest> {
        self.shared.requests.lock().clone()
    }

    /// How many clients went away before their answer was whole.
    pub fn clients_gone(&self) -> u32 {
        *self.shared.gone.lock()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let request = read_request(&mut stream).await?;
    shared.requests.lock().push(request);
    let reply = shared.replies.lock().pop_front();
    let reply = reply.unwrap_or_else(|| Reply::new(599, "text/plain"));
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    // Chunked, so that a broken connection can be told from an end.
    head.push_str("Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    for step in reply.steps {
        match step {
            Step::Send(bytes) if bytes.is_empty() => {}
            Step::Send(bytes) => {
                stream
                    .write_all(format!("{:x}\r\n", bytes.len()).as_bytes())
                    .await?;
                stream.write_all(&bytes).await?;
                stream.write_all(b"\r\n").await?;
                stream.flush().await?;
            }
            Step::Wait(time) => {
                tokio::select! {
                    () = tokio::time::sleep(time) => {}
                    gone = wait_until_gone(&mut stream) => return gone,
                }
            }
            Step::Hang => return wait_until_gone(&mut stream).await,
            Step::Break => return Ok(()),
        }
    }
    stream.write_all(b"0\r\n\r\n").await?;
    stream.shutdown().await
}

async fn wait_until_gone(stream: &mut TcpStream) -> io::Result<()> {
    let mut byte = [0_u8; 1];
    loop {
        if stream.read(&mut byte).await? == 0 {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> io::Result<CapturedRequest> {
    let mut bytes = Vec::new();
    let mut piece = [0_u8; 16 * 1024];
    let head_end = loop {
        if let Some(end) = find(&bytes, b"\r\n\r\n") {
            break end;
        }
        let count = stream.read(&mut piece).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..count]);
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.lines();
    let path = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .unwrap_or_default()
        .to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse::<usize>().ok())
        .unwrap_or(0);
    let mut body = bytes.split_off(head_end + 4);
    while body.len() < length {
        let count = stream.read(&mut piece).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        body.extend_from_slice(&piece[..count]);
    }
    Ok(CapturedRequest {
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    })
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}

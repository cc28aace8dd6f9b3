//! What we add to the time that a model takes for its first token.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use magent_sampling::{HttpSampler, SampleLimits, SampleRequest, Sampler as _};
use magent_types::{ConversationEntry, Dialect, ModelEvent, SamplingParams};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::Failure;
use crate::codecs::route;
use crate::report::{Figure, median, millis, percentile};
use crate::world::block_on;

const REQUESTS: usize = 200;

/// How long the model thinks: long enough for everybody to wait for it.
const THINKING: Duration = Duration::from_millis(5);

const HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
const TOKEN: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello there\"}}]}\n\n";
const END: &str =
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// When the server had read a request, and when it sent the first token.
type Stamps = (Instant, Instant);

/// Reads a request, of which only its end matters.
fn read_request(stream: &mut TcpStream) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    let mut part = [0_u8; 16 * 1024];
    loop {
        let count = stream.read(&mut part)?;
        bytes.extend_from_slice(part.get(..count).unwrap_or_default());
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Ok(());
            }
        }
        if count == 0 {
            return Err("the request broke off".into());
        }
    }
}

fn answer(mut stream: TcpStream) -> Result<Stamps, Failure> {
    stream.set_nodelay(true)?;
    read_request(&mut stream)?;
    let asked = Instant::now();
    stream.write_all(HEAD.as_bytes())?;
    thread::sleep(THINKING);
    let sent = Instant::now();
    stream.write_all(TOKEN.as_bytes())?;
    thread::sleep(THINKING);
    stream.write_all(END.as_bytes())?;
    Ok((asked, sent))
}

/// Asks once; gives when the first token was there.
async fn ask(sampler: &HttpSampler, url: &str) -> Result<Instant, Failure> {
    let route = route(Dialect::OpenAiChat, url);
    let request = SampleRequest {
        model: "m".into(),
        system: "Be good.".into(),
        conversation: vec![ConversationEntry::User("Hello?".into())],
        tools: Vec::new(),
        params: SamplingParams::default(),
        stream: true,
    };
    let limits = SampleLimits {
        inactivity: Some(Duration::from_secs(10)),
    };
    let cancel = CancellationToken::new();
    let (sender, mut events) = mpsc::channel(64);
    let watching = async {
        let mut first = None;
        while let Some(event) = events.recv().await {
            if matches!(event, ModelEvent::TextDelta(_)) {
                first.get_or_insert_with(Instant::now);
            }
        }
        first
    };
    let (result, first) = tokio::join!(
        sampler.sample(&route, &request, limits, &cancel, sender),
        watching
    );
    result?;
    first.ok_or_else(|| "there was no token".into())
}

/// From the prompt to the request at the server, and from the first byte of the answer to
/// its event.
pub(crate) fn first_token() -> Result<Vec<Figure>, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/v1/chat/completions", listener.local_addr()?);
    block_on(async {
        let sampler = HttpSampler::new();
        let (mut before, mut after, mut both) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..REQUESTS {
            let socket = listener.try_clone()?;
            let server = thread::spawn(move || answer(socket.accept()?.0));
            let begun = Instant::now();
            let first = ask(&sampler, &url).await?;
            let stamps = server.join().map_err(|_| "the server panicked")?;
            let (asked, sent) = stamps?;
            let (there, back) = (asked - begun, first.saturating_duration_since(sent));
            before.push(there);
            after.push(back);
            both.push(there + back);
        }
        let slow = format!("p99 {:.2} ms", millis(percentile(both.clone(), 99)));
        Ok(vec![
            Figure::within("added to the first token", median(both), 2.0).detail(&slow),
            Figure::plain("of it, until the request is sent", median(before)),
            Figure::plain("of it, from its first byte to the event", median(after)),
        ])
    })
}

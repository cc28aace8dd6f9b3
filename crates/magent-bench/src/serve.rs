//! A model on loopback that streams at a given rate, for the figures of Emacs.

use std::io::Read as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::Failure;
use crate::serve_reply::Reply;

/// The pause between two writes.
const TICK: Duration = Duration::from_millis(2);

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                    Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n";

/// Serves until the end of input, so that it ends with the program that started it.
pub(crate) fn serve(url_file: &Path) -> Result<(), Failure> {
    std::thread::Builder::new().name("input".into()).spawn(|| {
        let mut input = Vec::new();
        // Whether it ends or breaks, nobody is there any more.
        let _ = std::io::stdin().read_to_end(&mut input);
        std::process::exit(0);
    })?;
    // One thread leaves the machine to whoever is measured.
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(accept(url_file))
}

async fn accept(url_file: &Path) -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}/v1\n", listener.local_addr()?);
    let temporary = url_file.with_extension("new");
    std::fs::write(&temporary, url)?;
    std::fs::rename(&temporary, url_file)?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            if let Err(error) = answer(stream).await {
                eprintln!("magent-bench: {error}");
            }
        });
    }
}

async fn answer(mut stream: TcpStream) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let request = read_body(&mut stream).await?;
    stream.write_all(HEAD.as_bytes()).await?;
    let mut reply = Reply::to(&request);
    let begun = Instant::now();
    while !reply.is_done() {
        let due = reply.due(begun.elapsed());
        if due.is_empty() {
            tokio::time::sleep(TICK).await;
            continue;
        }
        let head = format!("{:x}\r\n", due.len());
        stream
            .write_all(&[head.as_bytes(), due.as_bytes(), b"\r\n"].concat())
            .await?;
    }
    stream.write_all(b"0\r\n\r\n").await?;
    Ok(stream.shutdown().await?)
}

/// Reads a request and returns its body.
async fn read_body(stream: &mut TcpStream) -> Result<Value, Failure> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err("the client went away before its request was whole".into());
        }
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let length: usize = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .and_then(|length| length.trim().parse().ok())
            .unwrap_or(0);
        if bytes.len() >= end + 4 + length {
            return Ok(serde_json::from_slice(&bytes[end + 4..])?);
        }
    }
}

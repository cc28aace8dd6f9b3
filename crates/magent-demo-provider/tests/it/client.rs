//! A small HTTP client that sees what a polished one would hide: bodies that end early.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use serde_json::Value;

use crate::provider::PATIENCE;

/// A connection on which a response has begun.
pub struct Connection {
    stream: BufReader<TcpStream>,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// The bytes of the body that came so far.
    pub body: String,
}

/// A response that has ended.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: String,
    /// Whether the body ended as HTTP wants it.
    pub whole: bool,
}

impl Connection {
    pub fn open(port: u16, method: &str, path: &str, body: &str) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let status = line(&mut stream).unwrap();
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut headers = Vec::new();
        loop {
            let line = line(&mut stream).unwrap();
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        Self {
            stream,
            status: status.expect("a status"),
            headers,
            body: String::new(),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(known, _)| known == name);
        header.map(|(_, value)| value.as_str())
    }

    /// Reads a part of the body; `false` at its end.
    pub fn part(&mut self) -> io::Result<bool> {
        let (size, chunked) = match self.header("content-length") {
            Some(length) => (length.parse().unwrap(), false),
            None => {
                let size = line(&mut self.stream)?;
                (usize::from_str_radix(&size, 16).unwrap(), true)
            }
        };
        let mut part = vec![0; size];
        self.stream.read_exact(&mut part)?;
        self.body.push_str(&String::from_utf8(part).unwrap());
        if chunked {
            line(&mut self.stream)?;
        }
        Ok(chunked && size > 0)
    }

    /// Reads until the body has this text.
    pub fn wait_for(&mut self, text: &str) {
        while !self.body.contains(text) {
            assert!(self.part().unwrap(), "only {:?} came", self.body);
        }
    }

    /// Sets how long a read may wait.
    pub fn set_patience(&self, patience: std::time::Duration) {
        let stream = self.stream.get_ref();
        stream.set_read_timeout(Some(patience)).unwrap();
    }

    /// Goes away, but looks whether the server does, too.
    pub fn end_sending(&self) {
        self.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    /// Reads until the body or the connection ends.
    pub fn answer(mut self) -> Answer {
        let whole = loop {
            match self.part() {
                Ok(true) => {}
                Ok(false) => break true,
                Err(error) if is_end(&error) => break false,
                Err(error) => panic!("{error}, after {:?}", self.body),
            }
        };
        Answer {
            status: self.status,
            body: self.body,
            whole,
        }
    }
}

fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
    )
}

fn line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    match stream.read_line(&mut line)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim_end().to_owned()),
    }
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }

    /// The chunks of a stream.
    pub fn chunks(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|l| l.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]")
            .map(|data| serde_json::from_str(data).expect("a chunk"))
            .collect()
    }

    /// One field of all deltas, joined.
    fn joined(&self, pointer: &str) -> String {
        let pointer = format!("/choices/0/delta{pointer}");
        let chunks = self.chunks();
        let parts = chunks.iter().filter_map(|chunk| chunk.pointer(&pointer));
        parts.filter_map(Value::as_str).collect()
    }

    pub fn text(&self) -> String {
        self.joined("/content")
    }

    pub fn reasoning(&self) -> String {
        self.joined("/reasoning_content")
    }

    /// The calls: id, name and arguments.
    pub fn calls(&self) -> Vec<(String, String, String)> {
        let mut calls: Vec<(String, String, String)> = Vec::new();
        for chunk in self.chunks() {
            let Some(piece) = chunk.pointer("/choices/0/delta/tool_calls/0") else {
                continue;
            };
            let text = |pointer: &str| {
                let text = piece.pointer(pointer).and_then(Value::as_str);
                text.unwrap_or_default().to_owned()
            };
            let index = usize::try_from(piece["index"].as_u64().unwrap()).unwrap();
            if index == calls.len() {
                calls.push((text("/id"), text("/function/name"), String::new()));
            }
            calls[index].2.push_str(&text("/function/arguments"));
        }
        calls
    }

    pub fn finish_reason(&self) -> Option<String> {
        let chunks = self.chunks();
        let mut reasons = chunks
            .iter()
            .filter_map(|chunk| chunk.pointer("/choices/0/finish_reason")?.as_str());
        reasons.next().map(str::to_owned)
    }

    pub fn usage(&self) -> Option<Value> {
        self.chunks().last()?.get("usage").cloned()
    }
}

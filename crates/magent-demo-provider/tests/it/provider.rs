//! A running demo provider.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Answer, Connection};

/// Nothing here takes longer, unless something is wrong.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The program, ready to be started with more arguments.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_magent-demo-provider"));
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A provider that ends with the test.
pub struct Provider {
    pub child: Child,
    pub url: String,
    pub port: u16,
    stdin: Option<ChildStdin>,
}

impl Provider {
    /// Starts one that does not pause between words.
    pub fn start() -> Self {
        Self::start_with(&["--delay-ms", "0"])
    }

    pub fn start_with(arguments: &[&str]) -> Self {
        let mut child = command(arguments).spawn().expect("the program");
        let stdin = child.stdin.take();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout"));
        stdout.read_line(&mut line).expect("the ready line");
        child.stdout = Some(stdout.into_inner());
        let url = line.trim_end().to_owned();
        let port = url
            .strip_prefix("http://127.0.0.1:")
            .and_then(|rest| rest.strip_suffix("/v1")?.parse().ok())
            .unwrap_or_else(|| panic!("no URL: {line:?}"));
        Self {
            child,
            url,
            port,
            stdin,
        }
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Sends a chat request and returns while the answer is on its way.
    pub fn open(&self, body: &Value) -> Connection {
        let text = body.to_string();
        Connection::open(self.port, "POST", "/v1/chat/completions", &text)
    }

    /// Sends a chat request and waits for the whole answer.
    pub fn chat(&self, body: &Value) -> Answer {
        self.open(body).answer()
    }

    /// Streams the answer to a prompt.
    pub fn prompt(&self, prompt: &str) -> Answer {
        self.chat(&streaming(json!([{"role": "user", "content": prompt}])))
    }

    /// Waits for the exit status.
    pub fn exit_code(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the provider runs on");
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request for a stream with usage.
pub fn streaming(messages: Value) -> Value {
    json!({
        "model": "demo-1",
        "stream": true,
        "stream_options": {"include_usage": true},
        "messages": messages,
    })
}

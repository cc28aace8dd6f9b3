//! What the model of the measurements says, and when.

use std::time::Duration;

use magent_testkit::ChatStream;
use serde_json::{Value, json};

/// The text of a piece: as long as a few tokens.
const PIECE: &str = "twenty bytes of it, ";

/// An answer under way.
pub(crate) struct Reply {
    /// The bytes of a piece of text.
    piece: String,
    pieces: usize,
    per_second: usize,
    sent: usize,
    /// What follows the pieces, until it is sent.
    end: Option<String>,
}

impl Reply {
    /// The answer to a request.  A prompt is `stream COUNT RATE`: so many pieces, so many
    /// each second; or `read COUNT PATH`: so many calls of `read_file`.
    pub(crate) fn to(request: &Value) -> Self {
        let messages = request["messages"].as_array();
        let last = messages.and_then(|messages| messages.last());
        let prompt = match last {
            Some(message) if message["role"] == "user" => text_of(&message["content"]),
            _ => String::new(),
        };
        let words: Vec<&str> = prompt.split_whitespace().collect();
        let number = |word: &str| word.parse().unwrap_or(1);
        match words.as_slice() {
            ["stream", count, rate] => Self::new(number(count), number(rate), finish("stop")),
            ["read", count, path] => Self::new(0, 1, reading(number(count), path)),
            _ => Self::new(1, 1_000, finish("stop")),
        }
    }

    fn new(pieces: usize, per_second: usize, end: ChatStream) -> Self {
        Self {
            piece: bytes(&ChatStream::new().text(PIECE)),
            pieces,
            per_second,
            sent: 0,
            end: Some(bytes(&end)),
        }
    }

    /// What is to be sent by now and was not sent before.
    pub(crate) fn due(&mut self, elapsed: Duration) -> String {
        let due = (elapsed.as_secs_f64() * self.per_second as f64) as usize + 1;
        let count = due.min(self.pieces) - self.sent;
        self.sent += count;
        let mut text = self.piece.repeat(count);
        if self.sent == self.pieces {
            text.extend(self.end.take());
        }
        text
    }

    /// Whether everything is sent.
    pub(crate) fn is_done(&self) -> bool {
        self.end.is_none()
    }
}

/// The text of a message, which is a string or a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

fn bytes(stream: &ChatStream) -> String {
    String::from_utf8_lossy(&stream.bytes("\n")).into_owned()
}

fn finish(reason: &str) -> ChatStream {
    ChatStream::new().finish(reason).usage(10, 5).done()
}

fn reading(count: usize, path: &str) -> ChatStream {
    let mut stream = ChatStream::new();
    for number in 0..count {
        let arguments = json!({"path": path, "source": "disk"});
        stream = stream.call(
            number as u64,
            &format!("call-{number}"),
            "read_file",
            &arguments,
        );
    }
    stream.finish("tool_calls").usage(10, 5).done()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_at_their_rate_and_all_of_them_do() {
        let prompt = json!({"messages": [{"role": "user", "content": "stream 10 1000"}]});
        let mut reply = Reply::to(&prompt);
        let pieces = |text: &str| text.matches(PIECE).count();
        assert_eq!(pieces(&reply.due(Duration::ZERO)), 1);
        assert_eq!(pieces(&reply.due(Duration::from_millis(4))), 4);
        assert!(!reply.is_done());
        let rest = reply.due(Duration::from_secs(9));
        assert_eq!(pieces(&rest), 5);
        assert!(rest.ends_with("data: [DONE]\n\n"), "{rest}");
        assert!(reply.is_done());
    }

    #[test]
    fn calls_are_made_once() {
        let prompt = json!([{"type": "text", "text": "read 3 a.txt"}]);
        let mut messages = vec![json!({"role": "user", "content": prompt})];
        let calls = |messages: &[Value]| {
            let mut reply = Reply::to(&json!({"messages": messages}));
            reply
                .due(Duration::ZERO)
                .matches("\"name\":\"read_file\"")
                .count()
        };
        assert_eq!(calls(&messages), 3);
        messages.push(json!({"role": "tool", "content": "text"}));
        assert_eq!(calls(&messages), 0);
    }
}

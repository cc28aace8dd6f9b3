//! An answer as it goes over the wire: a series of beats, made while they are sent.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::answer::{Answer, Call, Ending, Piece};
use crate::words::chunks;

/// The bytes of a piece of a call's arguments.
const ARGUMENT_BYTES: usize = 20;

/// What was sent before a break is to arrive, so it gets a moment.
const BEFORE_BREAK: Duration = Duration::from_millis(20);

/// Something to do, after a pause.
#[derive(Clone, Debug)]
pub(crate) struct Beat {
    /// The pause.
    pub(crate) pause: Duration,
    /// What to do then.
    pub(crate) act: Act,
}

/// Something to do on a connection.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Send this.
    Send(Bytes),
    /// Break the connection.
    Break,
    /// Do nothing for ever.
    Hang,
}

/// An answer on its way to a client.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    /// What to tell.
    pub(crate) answer: Answer,
    /// The answer's id, different from all others.
    pub(crate) id: String,
    /// When it was made, in seconds since 1970.
    pub(crate) created: u64,
    /// The model that tells it.
    pub(crate) model: String,
    /// The usage, if the client wants to know.
    pub(crate) usage: Option<Value>,
    /// The pause between words.
    pub(crate) pace: Duration,
}

impl Delivery {
    /// The beats of an answer in server-sent events.
    pub(crate) fn events(self) -> impl Iterator<Item = Beat> + Send {
        let start = self.delta(&json!({"role": "assistant", "content": ""}));
        let thoughts = self.deltas("reasoning_content", self.answer.thoughts(self.pace));
        let text = self.deltas("content", self.answer.text(self.pace));
        let end = self.end();
        std::iter::once(start)
            .chain(thoughts)
            .chain(text)
            .chain(end)
    }

    /// The pieces of a text.  A flood has millions of them, so all that they have in
    /// common is made once.
    fn deltas<P: Iterator<Item = Piece> + Send>(
        &self,
        key: &'static str,
        pieces: P,
    ) -> impl Iterator<Item = Beat> + Send + use<P> {
        let empty = self.chunk_text(&json!({key: ""}), None);
        // No text in JSON looks like this: its quotes would be escaped.
        let place = format!("\"{key}\":\"\"");
        let (before, after) = empty.split_once(&place).unwrap_or((&empty, ""));
        let (before, after) = (format!("{before}\"{key}\":"), after.to_owned());
        pieces.map(move |piece| Beat {
            pause: piece.pause,
            ..event(&format!("{before}{}{after}", Value::from(piece.text)))
        })
    }

    /// Everything after the text.
    fn end(&self) -> Vec<Beat> {
        let reason = match (self.answer.ending, self.answer.calls.is_empty()) {
            (Ending::Break, _) => return vec![broken()],
            (Ending::Hang, _) => return vec![hanging()],
            (Ending::Cut, _) => "length",
            (Ending::Whole, false) => "tool_calls",
            (Ending::Whole, true) => "stop",
        };
        let calls = self.answer.calls.iter().enumerate();
        let mut beats: Vec<Beat> = calls
            .flat_map(|(index, call)| self.call_beats(index, call))
            .collect();
        beats.push(self.chunk(&json!({}), Some(reason)));
        if let Some(usage) = &self.usage {
            let chunk = self.object("chat.completion.chunk", Vec::new(), Some(usage));
            beats.push(event(&chunk.to_string()));
        }
        beats.push(event("[DONE]"));
        beats
    }

    fn call_beats(&self, index: usize, call: &Call) -> Vec<Beat> {
        let mut first = self.call(index, call);
        if let Some(fields) = first.as_object_mut() {
            fields.insert("index".into(), index.into());
        }
        if let Some(arguments) = first.pointer_mut("/function/arguments") {
            *arguments = "".into();
        }
        let mut beats = vec![self.delta(&json!({"tool_calls": [first]}))];
        beats.extend(chunks(&call.arguments, ARGUMENT_BYTES).iter().map(|piece| {
            let part = json!({"index": index, "function": {"arguments": piece}});
            self.delta(&json!({"tool_calls": [part]}))
        }));
        beats
    }

    fn delta(&self, delta: &Value) -> Beat {
        self.chunk(delta, None)
    }

    fn chunk(&self, delta: &Value, reason: Option<&str>) -> Beat {
        event(&self.chunk_text(delta, reason))
    }

    fn chunk_text(&self, delta: &Value, reason: Option<&str>) -> String {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        let chunk = self.object("chat.completion.chunk", vec![choice], None);
        chunk.to_string()
    }

    /// The beats of an answer in one body, which comes when the last word would have.
    pub(crate) fn body(self) -> impl Iterator<Item = Beat> + Send {
        let mut pause = Duration::ZERO;
        let mut gather = |pieces: &mut dyn Iterator<Item = Piece>| {
            let mut whole = String::new();
            for piece in pieces {
                pause = pause.saturating_add(piece.pause);
                whole.push_str(&piece.text);
            }
            whole
        };
        let reasoning = gather(&mut self.answer.thoughts(self.pace));
        let text = gather(&mut self.answer.text(self.pace));
        let body = self.whole(&reasoning, &text).to_string();
        let send = |body: String| Beat {
            pause,
            act: Act::Send(body.into()),
        };
        match self.answer.ending {
            Ending::Whole | Ending::Cut => vec![send(body)],
            Ending::Break => {
                let half = body.chars().take(body.chars().count() / 2).collect();
                vec![send(half), broken()]
            }
            Ending::Hang => vec![hanging()],
        }
        .into_iter()
    }

    fn whole(&self, reasoning: &str, text: &str) -> Value {
        let content = if text.is_empty() {
            Value::Null
        } else {
            text.into()
        };
        let mut message = Map::new();
        message.insert("role".into(), "assistant".into());
        message.insert("content".into(), content);
        if !reasoning.is_empty() {
            message.insert("reasoning_content".into(), reasoning.into());
        }
        let calls = self.answer.calls.iter().enumerate();
        let calls: Vec<Value> = calls.map(|(index, call)| self.call(index, call)).collect();
        let reason = match (self.answer.ending, calls.is_empty()) {
            (Ending::Cut, _) => "length",
            (_, true) => "stop",
            (_, false) => "tool_calls",
        };
        if !calls.is_empty() {
            message.insert("tool_calls".into(), calls.into());
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": reason});
        self.object("chat.completion", vec![choice], self.usage.as_ref())
    }

    /// A whole call.  Its id is unique because the answer's is.
    fn call(&self, index: usize, call: &Call) -> Value {
        json!({
            "id": format!("call_{}_{index}", self.id),
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        })
    }

    /// What chunks and bodies have in common.
    fn object(&self, kind: &str, choices: Vec<Value>, usage: Option<&Value>) -> Value {
        let mut object = json!({
            "id": format!("chatcmpl-{}", self.id),
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        });
        if let (Some(usage), Some(fields)) = (usage, object.as_object_mut()) {
            fields.insert("usage".into(), usage.clone());
        }
        object
    }
}

fn event(data: &str) -> Beat {
    Beat {
        pause: Duration::ZERO,
        act: Act::Send(format!("data: {data}\n\n").into()),
    }
}

fn broken() -> Beat {
    Beat {
        pause: BEFORE_BREAK,
        act: Act::Break,
    }
}

fn hanging() -> Beat {
    Beat {
        pause: Duration::ZERO,
        act: Act::Hang,
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;

//! The blocks of an answer while they grow.

use magent_types::{ModelCall, ModelEvent};
use serde_json::{Map, Value, json};

use crate::dialect::numbered::Numbered;
use crate::dialect::speech::arguments_object;
use crate::dialect::wire::arguments_text;

/// The blocks so far.
#[derive(Default)]
pub(super) struct Blocks {
    blocks: Numbered<Block>,
    /// How much they say.
    size: usize,
}

impl Blocks {
    /// Whether there are more blocks than any answer has.
    pub(super) fn are_too_many(&self) -> bool {
        self.blocks.are_too_many()
    }

    /// How much the blocks say so far.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// A block begins.
    pub(super) fn add(&mut self, index: Option<u64>, block: Block) {
        self.size += 1;
        self.blocks.add(index, block);
    }

    /// Takes a piece of the newest block at an index, or of the last one.  Some gateways
    /// leave out how a block begins; then its pieces tell what it is.
    pub(super) fn delta(&mut self, index: Option<u64>, delta: &Value, out: &mut Vec<ModelEvent>) {
        let at = self
            .blocks
            .newest(|known, _| index.is_none() || known == index);
        if let Some(block) = at.and_then(|at| self.blocks.get_mut(at)) {
            self.size += block.delta(delta, out);
        } else if let Some(kind) = kind_of(delta) {
            let mut block = Block::start(&json!({"type": kind}), out);
            self.size += block.delta(delta, out);
            self.add(index, block);
        }
    }

    /// The calls, and all blocks as the API takes them back.  In an answer that was `cut`
    /// off, a call at its end that had not come to its input is none: without it it would
    /// mean something else.
    pub(super) fn finish(&mut self, cut: bool) -> (Vec<ModelCall>, Option<Value>) {
        let mut blocks = self.blocks.take();
        blocks.pop_if(|last| cut && last.is_bare_call());
        let native: Vec<Value> = blocks.iter().filter_map(Block::native).collect();
        let calls = blocks.iter().filter_map(Block::call).collect();
        (calls, (!native.is_empty()).then(|| native.into()))
    }
}

/// The kind of block that a piece belongs to.
fn kind_of(delta: &Value) -> Option<&'static str> {
    match delta.get("type")?.as_str()? {
        "text_delta" => Some("text"),
        "thinking_delta" => Some("thinking"),
        "input_json_delta" => Some("tool_use"),
        _ => None,
    }
}

/// A block, and what of it came in pieces.
pub(super) struct Block {
    /// As it began.
    start: Map<String, Value>,
    /// Text or thinking so far, that of the start included.
    text: String,
    /// The input of a call, as the model writes it.
    input: String,
    signature: String,
    citations: Vec<Value>,
}

impl Block {
    /// Begins a block, and tells what it says already.
    pub(super) fn start(block: &Value, out: &mut Vec<ModelEvent>) -> Self {
        let mut this = Self {
            start: block.as_object().cloned().unwrap_or_default(),
            text: String::new(),
            input: String::new(),
            signature: String::new(),
            citations: Vec::new(),
        };
        for key in ["text", "thinking"] {
            if let Some(Value::String(text)) = block.get(key) {
                this.grow(key, text, out);
            }
        }
        this
    }

    fn kind(&self) -> &str {
        self.start
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Takes a piece.  Returns how much it says.
    pub(super) fn delta(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) -> usize {
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        let said = match delta.get("type").and_then(Value::as_str) {
            Some("text_delta") => {
                self.grow("text", text("text"), out);
                text("text")
            }
            Some("thinking_delta") => {
                self.grow("thinking", text("thinking"), out);
                text("thinking")
            }
            Some("signature_delta") => {
                self.signature.push_str(text("signature"));
                text("signature")
            }
            Some("input_json_delta") => {
                self.input.push_str(text("partial_json"));
                text("partial_json")
            }
            Some("citations_delta") => {
                self.citations.extend(delta.get("citation").cloned());
                return 1;
            }
            _ => "",
        };
        said.len()
    }

    fn grow(&mut self, key: &str, text: &str, out: &mut Vec<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        out.push(if key == "text" {
            ModelEvent::TextDelta(text.to_owned())
        } else {
            ModelEvent::ReasoningDelta(text.to_owned())
        });
    }

    /// The call, if the block is one.
    pub(super) fn call(&self) -> Option<ModelCall> {
        if self.kind() != "tool_use" {
            return None;
        }
        let text = |key: &str| {
            let value = self.start.get(key).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        Some(ModelCall {
            id: text("id"),
            name: text("name"),
            arguments: self.arguments(),
        })
    }

    /// The input in pieces, or whole as it began.
    fn arguments(&self) -> String {
        if !self.input.trim().is_empty() {
            return self.input.clone();
        }
        arguments_text(self.start.get("input"))
    }

    /// Whether the block is a call without any input.
    fn is_bare_call(&self) -> bool {
        self.kind() == "tool_use" && self.arguments() == "{}" && self.input.trim().is_empty()
    }

    /// The whole block as the API takes it back; none if it refuses it.
    pub(super) fn native(&self) -> Option<Value> {
        let mut block = self.start.clone();
        match self.kind() {
            "text" => {
                if self.text.trim().is_empty() {
                    return None;
                }
                block.insert("text".into(), self.text.as_str().into());
                match self.citations.as_slice() {
                    [] => drop(block.remove("citations")),
                    citations => drop(block.insert("citations".into(), citations.into())),
                }
            }
            "thinking" => {
                if !self.signature.is_empty() {
                    block.insert("signature".into(), self.signature.as_str().into());
                }
                // Without its signature the API refuses the block.
                let signature = block.get("signature").and_then(Value::as_str);
                signature.filter(|signature| !signature.is_empty())?;
                block.insert("thinking".into(), self.text.as_str().into());
            }
            kind if kind.ends_with("tool_use") => {
                block.insert("input".into(), arguments_object(&self.arguments()));
            }
            "" => return None,
            _ => {}
        }
        Some(Value::Object(block))
    }
}

//! One item of an answer, put together from all that tells of it.

use std::collections::BTreeMap;

use magent_types::ModelCall;
use serde_json::{Map, Value, json};

use super::fields::{arguments_of, real_text};
use crate::dialect::wire;

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Words.
    Message,
    /// Reasoning.
    Reasoning,
    /// A call of one of our tools.
    Call,
    /// Anything else, which is only told again.
    Other,
}

impl Kind {
    /// The kind of an item as it was given.
    pub(super) fn of(item: &Value) -> Option<Self> {
        match real_text(item, "type") {
            Some("message") => Some(Self::Message),
            Some("reasoning") => Some(Self::Reasoning),
            Some("function_call") => Some(Self::Call),
            Some(_) => Some(Self::Other),
            None => None,
        }
    }
}

/// What an event tells of the item it belongs to.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The item's place in the answer.
    pub(super) index: Option<u64>,
    /// The item's id.
    pub(super) id: Option<&'a str>,
    /// The call's id.
    pub(super) call_id: Option<&'a str>,
    /// What the item must be.
    pub(super) kind: Option<Kind>,
}

impl<'a> Place<'a> {
    /// The place that an event about a part of an item names.
    pub(super) fn of_event(event: &'a Value, kind: Kind) -> Self {
        Self {
            index: event.get("output_index").and_then(Value::as_u64),
            id: real_text(event, "item_id"),
            call_id: real_text(event, "call_id"),
            kind: Some(kind),
        }
    }

    /// The place of a whole item.
    pub(super) fn of_item(item: &'a Value, index: Option<u64>) -> Self {
        Self {
            index,
            id: real_text(item, "id"),
            call_id: real_text(item, "call_id"),
            kind: Kind::of(item),
        }
    }
}

/// Part of an item's reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thought {
    /// Of the summary.
    Summary(u64),
    /// Of the reasoning itself.
    Content(u64),
}

/// An item of an answer.
#[derive(Default)]
pub(super) struct Item {
    index: Option<u64>,
    /// Where it stands among the items; its index, if that is known.
    pub(super) order: u64,
    id: Option<String>,
    call_id: Option<String>,
    kind: Option<Kind>,
    /// Whether its beginning was told.
    pub(super) begun: bool,
    /// The item as the provider gave it last, with what it gave only before.
    given: Map<String, Value>,
    /// The words that were passed on, by part.
    pub(super) words: BTreeMap<u64, String>,
    /// The reasoning that was passed on, by part.
    pub(super) thoughts: BTreeMap<Thought, String>,
    /// Whether the words are a refusal.
    pub(super) refused: bool,
    name: String,
    /// The pieces of the arguments.
    pub(super) pieces: String,
    /// The arguments as they were given in one; this counts more than pieces.
    whole: Option<String>,
    /// The arguments with which the item began; any others count more.
    first: Option<String>,
}

impl Item {
    /// An item of which nothing is known but where it stands.
    pub(super) fn new(order: u64) -> Self {
        Self {
            order,
            ..Self::default()
        }
    }

    /// Takes what a place tells and is not known yet.
    pub(super) fn learn(&mut self, place: &Place<'_>) {
        if let (None, Some(index)) = (self.index, place.index) {
            self.index = Some(index);
            self.order = index;
        }
        if self.id.is_none() {
            self.id = place.id.map(str::to_owned);
        }
        if self.call_id.is_none() {
            self.call_id = place.call_id.map(str::to_owned);
        }
        if self.kind.is_none() {
            self.kind = place.kind;
        }
    }

    /// Whether the item can be of the place's kind.
    pub(super) fn fits(&self, place: &Place<'_>) -> bool {
        !differ(self.kind, place.kind)
    }

    /// Whether the item is known to be of the place's kind.
    pub(super) fn has_kind_of(&self, place: &Place<'_>) -> bool {
        same(self.kind, place.kind)
    }

    /// Whether both have the same id.
    pub(super) fn has_id_of(&self, place: &Place<'_>) -> bool {
        same(self.id.as_deref(), place.id)
    }

    /// Whether both have an id, and not the same.
    pub(super) fn differs_in_id(&self, place: &Place<'_>) -> bool {
        differ(self.id.as_deref(), place.id)
    }

    /// Whether both have the same call id.
    pub(super) fn has_call_id_of(&self, place: &Place<'_>) -> bool {
        same(self.call_id.as_deref(), place.call_id)
    }

    /// Whether both have a call id, and not the same.
    pub(super) fn differs_in_call_id(&self, place: &Place<'_>) -> bool {
        differ(self.call_id.as_deref(), place.call_id)
    }

    /// Whether both have the same index.
    pub(super) fn has_index_of(&self, place: &Place<'_>) -> bool {
        same(self.index, place.index)
    }

    /// Whether both have an index, and not the same.
    pub(super) fn differs_in_index(&self, place: &Place<'_>) -> bool {
        differ(self.index, place.index)
    }

    /// The phase that the provider gave the message.
    pub(super) fn phase(&self) -> Option<String> {
        wire::real_text(self.given.get("phase")).map(str::to_owned)
    }

    /// What the item is, if known.
    pub(super) fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// Whether the provider gave the item itself, not only pieces of it.
    pub(super) fn is_given(&self) -> bool {
        !self.given.is_empty()
    }

    /// Takes the item as the provider gives it, at its beginning or when it is done.
    pub(super) fn give(&mut self, item: &Value, done: bool) {
        self.call(item, done);
        let Some(fields) = item.as_object() else {
            return;
        };
        let mut given = fields.clone();
        for (key, value) in std::mem::take(&mut self.given) {
            // What is given later counts, unless it says nothing.
            if given.get(&key).is_none_or(is_blank) {
                given.insert(key, value);
            }
        }
        self.given = given;
    }

    /// Takes the name and the arguments of a call.
    pub(super) fn call(&mut self, fields: &Value, done: bool) {
        if let Some(name) = real_text(fields, "name") {
            name.clone_into(&mut self.name);
        }
        if let Some(arguments) = arguments_of(fields) {
            let known = if done {
                &mut self.whole
            } else {
                &mut self.first
            };
            *known = Some(arguments);
        }
    }

    fn arguments(&self) -> &str {
        let pieces = Some(self.pieces.as_str()).filter(|pieces| !pieces.trim().is_empty());
        self.whole
            .as_deref()
            .or(pieces)
            .or(self.first.as_deref())
            .unwrap_or_default()
    }

    /// The call, if the item is one.  In an answer that was `cut` off, a call that had not
    /// come to its arguments is none: without them it would mean something else.
    pub(super) fn model_call(&self, cut: bool) -> Option<ModelCall> {
        let arguments = self.arguments();
        let blank = arguments.is_empty();
        let whole = self.given.get("status").and_then(Value::as_str) == Some("completed");
        if self.kind != Some(Kind::Call) || (blank && (self.name.is_empty() || (cut && !whole))) {
            return None;
        }
        let id = self.call_id.as_ref().or(self.id.as_ref());
        Some(ModelCall {
            id: id.cloned().unwrap_or_default(),
            name: self.name.clone(),
            arguments: arguments.to_owned(),
        })
    }

    /// The item to tell again.  What the provider gave only in pieces is put into it.
    pub(super) fn native(&self, cut: bool) -> Option<Value> {
        let mut given = self.given.clone();
        match self.kind {
            Some(Kind::Call) => {
                let call = self.model_call(cut)?;
                given
                    .entry("type")
                    .or_insert_with(|| "function_call".into());
                given.insert("call_id".into(), call.id.into());
                given.insert("name".into(), call.name.into());
                given.insert("arguments".into(), call.arguments.into());
            }
            Some(Kind::Message) if given.get("content").is_none_or(is_blank) => {
                let text: String = self.words.values().map(String::as_str).collect();
                if text.is_empty() && given.is_empty() {
                    return None;
                }
                given.entry("type").or_insert_with(|| "message".into());
                given.entry("role").or_insert_with(|| "assistant".into());
                if !text.is_empty() {
                    let part = if self.refused {
                        json!({"type": "refusal", "refusal": text})
                    } else {
                        json!({"type": "output_text", "text": text, "annotations": []})
                    };
                    given.insert("content".into(), vec![part].into());
                }
            }
            _ => {}
        }
        (!given.is_empty()).then_some(Value::Object(given))
    }
}

fn same<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
    one.is_some() && one == other
}

fn differ<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
    one.is_some() && other.is_some() && one != other
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        _ => false,
    }
}

//! The calls of an answer while they grow.

use magent_types::{ModelCall, parse_json};
use serde_json::Value;

use super::EXTRA_CONTENT;
use crate::dialect::numbered::Numbered;
use crate::dialect::wire::{arguments_said, real_text};

/// The calls so far.
#[derive(Default)]
pub(super) struct Calls {
    calls: Numbered<Call>,
    /// The one that the last piece belonged to.
    last: Option<usize>,
    /// How much they say.
    size: usize,
}

struct Call {
    call: ModelCall,
    /// What the provider adds to the call and wants back.
    extra: Option<Value>,
}

/// What a piece tells of its call.
struct Piece<'a> {
    index: Option<u64>,
    id: Option<&'a str>,
    name: Option<&'a str>,
    arguments: String,
}

impl<'a> Piece<'a> {
    fn read(piece: &'a Value) -> Self {
        let function = piece.get("function").unwrap_or(&Value::Null);
        Self {
            index: piece.get("index").and_then(Value::as_u64),
            id: real_text(piece.get("id")),
            name: real_text(function.get("name")),
            arguments: arguments_said(function.get("arguments")),
        }
    }
}

impl Call {
    /// Whether a piece at the same place, with an id that tells nothing, begins another
    /// call: it has a name, and what is known is whole or has not come to its arguments.
    fn is_followed_by(&self, piece: &Piece<'_>) -> bool {
        let known = self.call.arguments.trim();
        let is_whole = || {
            // Asked first because it is cheap: names may come with every piece.
            known.ends_with('}') && matches!(parse_json(known), Ok(Value::Object(_)))
        };
        match piece.name {
            Some(name) if name == self.call.name => {
                piece.arguments.trim_start().starts_with('{') && is_whole()
            }
            Some(_) => !self.call.name.is_empty() && (known.is_empty() || is_whole()),
            None => false,
        }
    }

    /// Whether a piece tells the whole call again.
    fn is_repeated_by(&self, piece: &Piece<'_>) -> bool {
        piece.id == Some(self.call.id.as_str())
            && piece.name == Some(self.call.name.as_str())
            && piece.arguments == self.call.arguments
            && piece.arguments.len() > 1
    }
}

impl Calls {
    /// Whether there are more calls than any answer has.
    pub(super) fn are_too_many(&self) -> bool {
        self.calls.are_too_many()
    }

    /// How much the calls say so far.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Takes a piece of a call.  Ids and names count once.
    pub(super) fn take(&mut self, value: &Value) {
        let piece = Piece::read(value);
        let at = match self.find(&piece) {
            Some(at) => at,
            None => self.add(piece.index),
        };
        self.last = Some(at);
        let Some(known) = self.calls.get_mut(at) else {
            return;
        };
        if known.is_repeated_by(&piece) {
            return;
        }
        if let (Some(id), true) = (piece.id, known.call.id.is_empty()) {
            id.clone_into(&mut known.call.id);
        }
        if let (Some(name), true) = (piece.name, known.call.name.is_empty()) {
            name.clone_into(&mut known.call.name);
        }
        known.call.arguments.push_str(&piece.arguments);
        self.size += piece.arguments.len();
        if let Some(extra) = value.get(EXTRA_CONTENT).filter(|extra| !extra.is_null()) {
            known.extra = Some(extra.clone());
        }
    }

    fn add(&mut self, index: Option<u64>) -> usize {
        self.size += 1;
        let call = ModelCall {
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
        };
        self.calls.add(index, Call { call, extra: None })
    }

    /// Which call a piece belongs to: the one at its index.  Some servers give every call
    /// the index 0, with an id of its own or with none.  Others leave the index out and
    /// send whole calls; there a new id, or a name without an id, begins a new call.
    fn find(&self, piece: &Piece<'_>) -> Option<usize> {
        let has_id = |call: &Call| piece.id == Some(call.call.id.as_str());
        if piece.index.is_none() {
            return match (piece.id, piece.name) {
                (Some(_), _) => self.calls.newest(|_, call| has_id(call)),
                (None, Some(_)) => None,
                (None, None) => self.last,
            };
        }
        let at = self.calls.newest(|index, _| index == piece.index)?;
        let known = self.calls.get(at)?;
        if piece.id.is_some() && !known.call.id.is_empty() && !has_id(known) {
            // Some servers give each piece an id of its own, but a name only to the first.
            return self
                .calls
                .newest(|index, call| index == piece.index && has_id(call))
                .or_else(|| self.calls.newest(|_, call| has_id(call)))
                .or_else(|| piece.name.is_none().then_some(at));
        }
        let goes_on = known.is_repeated_by(piece) || !known.is_followed_by(piece);
        goes_on.then_some(at)
    }

    /// All calls in their order, and what the provider adds to each, if it does at all.
    /// In an answer that was `cut` off, a last call that had not come to its arguments is
    /// none: without them it would mean something else.
    pub(super) fn finish(&mut self, cut: bool) -> (Vec<ModelCall>, Option<Value>) {
        let mut calls = self.calls.take();
        // A piece that never got a name is no call, unless it says something.
        calls.retain(|call| !call.call.name.is_empty() || !call.call.arguments.trim().is_empty());
        calls.pop_if(|last| cut && last.call.arguments.trim().is_empty());
        let extras: Vec<Value> = calls
            .iter()
            .map(|call| call.extra.clone().unwrap_or(Value::Null))
            .collect();
        let has_extras = extras.iter().any(|extra| !extra.is_null());
        let calls = calls.into_iter().map(|call| call.call).collect();
        (calls, has_extras.then(|| extras.into()))
    }
}

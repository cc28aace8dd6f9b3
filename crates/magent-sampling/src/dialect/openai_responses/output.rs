//! The items of an answer.
//!
//! An item is told of up to three times over: when it begins, when it is done, and in
//! the whole answer, with pieces in between.  Servers differ in which of these they send
//! and in what names the item each time: its place, its id or the id of its call.

use std::collections::BTreeSet;

use magent_types::{ModelCall, ModelEvent};
use serde_json::Value;

use super::fields::{is_refusal, part_text};
use super::item::{Item, Kind, Place, Thought};
use crate::dialect::wire::MOST_ITEMS;

/// The items, and what of them was passed on.
#[derive(Default)]
pub(super) struct Output {
    items: Vec<Item>,
    /// The message whose words were passed on last, unless its end was passed on too.
    said: Option<usize>,
    /// The reasoning that was passed on last, if no words came after it.
    thought: Option<(usize, Thought)>,
    /// Whether a new part of reasoning was announced.
    new_thought: bool,
    refused: bool,
}

impl Output {
    /// Whether there are more items than any answer has.
    pub(super) fn is_too_long(&self) -> bool {
        self.items.len() > MOST_ITEMS
    }

    /// How many items there are, and how much their calls say so far.
    pub(super) fn size(&self) -> usize {
        self.items.iter().map(|item| 1 + item.pieces.len()).sum()
    }

    /// Whether the model refused.
    pub(super) fn refused(&self) -> bool {
        self.refused
    }

    /// The item at a place, which is a new one if none is known there.
    pub(super) fn at(&mut self, place: &Place<'_>) -> usize {
        match self.find(place) {
            Some(at) => {
                if let Some(item) = self.items.get_mut(at) {
                    item.learn(place);
                }
                at
            }
            None => self.add(place),
        }
    }

    fn add(&mut self, place: &Place<'_>) -> usize {
        let last = self.items.iter().map(|item| item.order).max();
        let mut item = Item::new(last.map_or(0, |last| last.saturating_add(1)));
        item.learn(place);
        self.items.push(item);
        self.items.len() - 1
    }

    /// Some servers give every item the index 0, some give new ids to one item each time,
    /// and some repeat the id of a call for another; hence the order of what is asked.
    fn find(&self, place: &Place<'_>) -> Option<usize> {
        let newest = |test: &dyn Fn(&Item) -> bool| {
            let mut items = self.items.iter();
            items.rposition(|item| item.fits(place) && test(item))
        };
        newest(&|item| item.has_id_of(place))
            .or_else(|| newest(&|item| item.has_index_of(place) && !item.differs_in_call_id(place)))
            .or_else(|| {
                newest(&|item| {
                    item.has_call_id_of(place)
                        && !(item.differs_in_index(place) && item.differs_in_id(place))
                })
            })
            .or_else(|| {
                newest(&|item| {
                    place.index.is_none()
                        && item.has_kind_of(place)
                        && !item.differs_in_id(place)
                        && !item.differs_in_call_id(place)
                })
            })
    }

    /// An item begins.
    pub(super) fn begin(&mut self, index: Option<u64>, item: &Value) {
        let place = Place::of_item(item, index);
        let known = self.find(&place).filter(|at| {
            self.items.get(*at).is_some_and(|item| {
                // No item begins twice, so at the same place this one is another.
                !item.begun
                    || item.has_id_of(&place)
                    || item.has_call_id_of(&place)
                    || item.has_index_of(&place) && !item.differs_in_id(&place)
            })
        });
        let at = known.unwrap_or_else(|| self.add(&place));
        if let Some(known) = self.items.get_mut(at) {
            known.learn(&place);
            known.begun = true;
            known.give(item, false);
        }
    }

    /// An item is done.
    pub(super) fn done(&mut self, index: Option<u64>, item: &Value, out: &mut Vec<ModelEvent>) {
        let at = self.at(&Place::of_item(item, index));
        self.settle(at, item, out);
    }

    /// The whole answer is there; all its items are done.
    pub(super) fn complete(&mut self, items: &[Value], out: &mut Vec<ModelEvent>) {
        let mut ids = BTreeSet::new();
        let most = items.len().min(MOST_ITEMS.saturating_add(1));
        let items = items.get(..most).unwrap_or_default();
        let places: Vec<(Place<'_>, &Value)> = (0..)
            .zip(items)
            .map(|(index, item)| (Place::of_item(item, Some(index)), item))
            .filter(|(place, item)| {
                // An item that is there twice counts once.
                let id = place.id.or(place.call_id);
                item.is_object() && id.is_none_or(|id| ids.insert((place.kind, id)))
            })
            .collect();
        let mut free = vec![true; self.items.len()];
        let mut known: Vec<Option<usize>> = places
            .iter()
            .map(|(place, _)| {
                self.claim(&mut free, place, &|item| item.has_id_of(place))
                    .or_else(|| self.claim(&mut free, place, &|item| item.has_call_id_of(place)))
            })
            .collect();
        // The place in the whole answer is a weak sign, since some servers leave items out
        // of it, so it counts only for those that nothing else tells apart.
        for ((place, _), known) in places.iter().zip(&mut known) {
            *known = known
                .or_else(|| {
                    self.claim(&mut free, place, &|item| {
                        item.has_index_of(place) && !item.differs_in_call_id(place)
                    })
                })
                .or_else(|| {
                    self.claim(&mut free, place, &|item| {
                        item.has_kind_of(place)
                            && !item.differs_in_id(place)
                            && !item.differs_in_call_id(place)
                    })
                });
        }
        for ((place, item), known) in places.iter().zip(known) {
            let at = known.unwrap_or_else(|| self.add(place));
            if let Some(item) = self.items.get_mut(at) {
                item.learn(place);
            }
            self.settle(at, item, out);
        }
    }

    /// The first free item that the test holds for, which then is no longer free.
    fn claim(
        &self,
        free: &mut [bool],
        place: &Place<'_>,
        test: &dyn Fn(&Item) -> bool,
    ) -> Option<usize> {
        let mut items = self.items.iter().zip(free.iter());
        let at = items.position(|(item, free)| *free && item.fits(place) && test(item))?;
        *free.get_mut(at)? = false;
        Some(at)
    }

    /// Takes an item that is done, and passes on what of its text never came in pieces.
    fn settle(&mut self, at: usize, item: &Value, out: &mut Vec<ModelEvent>) {
        let Some(known) = self.items.get_mut(at) else {
            return;
        };
        known.give(item, true);
        let silent = known.thoughts.is_empty();
        let part = known.words.keys().next_back().copied().unwrap_or(0);
        match known.kind() {
            Some(Kind::Message) => {
                let parts = parts_of(item, "content");
                if parts.iter().any(is_refusal) {
                    self.refuse(at);
                }
                let whole: String = parts.iter().map(part_text).collect();
                if let Some(rest) = self.unsaid(at, &whole) {
                    self.say(at, part, rest, out);
                }
                if self.said == Some(at) {
                    self.end(out);
                }
            }
            Some(Kind::Reasoning) if silent => {
                for (index, part) in (0..).zip(parts_of(item, "summary")) {
                    self.think(at, Thought::Summary(index), part_text(part), out);
                }
                if self.items.get(at).is_some_and(|it| it.thoughts.is_empty()) {
                    for (index, part) in (0..).zip(parts_of(item, "content")) {
                        self.think(at, Thought::Content(index), part_text(part), out);
                    }
                }
            }
            _ => {}
        }
    }

    /// What of a message's words was not passed on.  Nothing if other words were.
    fn unsaid<'a>(&self, at: usize, whole: &'a str) -> Option<&'a str> {
        let mut rest = whole;
        for shown in self.items.get(at)?.words.values() {
            rest = rest.strip_prefix(shown.as_str())?;
        }
        Some(rest)
    }

    /// The item's words are a refusal.
    pub(super) fn refuse(&mut self, at: usize) {
        self.refused = true;
        if let Some(item) = self.items.get_mut(at) {
            item.refused = true;
        }
    }

    /// Passes on words.
    pub(super) fn say(&mut self, at: usize, part: u64, text: &str, out: &mut Vec<ModelEvent>) {
        let Some(item) = self.items.get_mut(at).filter(|_| !text.is_empty()) else {
            return;
        };
        item.words.entry(part).or_default().push_str(text);
        if self.said.is_some_and(|said| said != at) {
            self.end_message(out);
        }
        self.said = Some(at);
        self.thought = None;
        out.push(ModelEvent::TextDelta(text.to_owned()));
    }

    /// The message whose words were passed on last has no more of them.
    fn end_message(&mut self, out: &mut Vec<ModelEvent>) {
        if let Some(said) = self.said.take() {
            let phase = self.items.get(said).and_then(Item::phase);
            out.push(ModelEvent::MessageEnd(phase));
        }
    }

    /// The answer is whole.  Nothing has to tell the end of its last message but its phase.
    pub(super) fn end(&mut self, out: &mut Vec<ModelEvent>) {
        let last = self.said.and_then(|said| self.items.get(said));
        if last.and_then(Item::phase).is_some() {
            self.end_message(out);
        }
    }

    /// Passes on what of the words of a part that is done never came in pieces.
    pub(super) fn say_rest(&mut self, at: usize, part: u64, text: &str, out: &mut Vec<ModelEvent>) {
        let Some(item) = self.items.get(at) else {
            return;
        };
        let rest = match item.words.get(&part) {
            Some(shown) => text.strip_prefix(shown.as_str()),
            // Pieces without an index all went to the first part.
            None => item
                .words
                .get(&0)
                .is_none_or(|shown| !shown.ends_with(text))
                .then_some(text),
        };
        self.say(at, part, rest.unwrap_or_default(), out);
    }

    /// A new part of reasoning begins.
    pub(super) fn new_thought(&mut self) {
        self.new_thought = true;
    }

    /// Passes on reasoning.
    pub(super) fn think(
        &mut self,
        at: usize,
        part: Thought,
        text: &str,
        out: &mut Vec<ModelEvent>,
    ) {
        let Some(item) = self.items.get_mut(at).filter(|_| !text.is_empty()) else {
            return;
        };
        item.thoughts.entry(part).or_default().push_str(text);
        let announced = std::mem::take(&mut self.new_thought);
        let last = self.thought.replace((at, part));
        let apart = last.is_some_and(|last| announced || last != (at, part));
        out.push(ModelEvent::ReasoningDelta(set_apart(apart, text)));
    }

    /// Passes on what of a part of reasoning that is done never came in pieces.
    pub(super) fn think_rest(
        &mut self,
        at: usize,
        part: Thought,
        text: &str,
        out: &mut Vec<ModelEvent>,
    ) {
        let Some(item) = self.items.get(at) else {
            return;
        };
        let rest = match item.thoughts.get(&part) {
            Some(shown) => text.strip_prefix(shown.as_str()),
            None => {
                let first = match part {
                    Thought::Summary(_) => Thought::Summary(0),
                    Thought::Content(_) => Thought::Content(0),
                };
                let shown = item.thoughts.get(&first);
                shown
                    .is_none_or(|shown| !shown.ends_with(text))
                    .then_some(text)
            }
        };
        self.think(at, part, rest.unwrap_or_default(), out);
    }

    /// Takes a piece of the arguments of the call.
    pub(super) fn piece(&mut self, at: usize, piece: &str) {
        if let Some(item) = self.items.get_mut(at) {
            item.pieces.push_str(piece);
        }
    }

    /// Takes all arguments of the call.
    pub(super) fn call(&mut self, at: usize, fields: &Value) {
        if let Some(item) = self.items.get_mut(at) {
            item.call(fields, true);
        }
    }

    /// The calls in the order of the answer, and the answer to tell again, if the provider
    /// gave an item at all.  Both have the same calls, since results are paired by order.
    pub(super) fn take(&mut self, cut: bool) -> (Vec<ModelCall>, Option<Value>) {
        let mut items = std::mem::take(&mut self.items);
        items.sort_by_key(|item| item.order);
        let calls = items.iter().filter_map(|item| item.model_call(cut));
        let native: Vec<Value> = items.iter().filter_map(|item| item.native(cut)).collect();
        let given = items.iter().any(Item::is_given) && !native.is_empty();
        (calls.collect(), given.then(|| native.into()))
    }
}

fn parts_of<'a>(item: &'a Value, key: &str) -> &'a [Value] {
    item.get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn set_apart(apart: bool, text: &str) -> String {
    let between = if apart { "\n\n" } else { "" };
    format!("{between}{text}")
}

//! The parts of an answer that servers number, while they grow.

use super::wire::MOST_ITEMS;

/// Parts in the order in which they began.  Some servers give all of them the same number,
/// others none, so a number alone names no part.
pub(super) struct Numbered<T> {
    parts: Vec<Part<T>>,
}

struct Part<T> {
    /// The index that the server gave it.
    index: Option<u64>,
    /// Where it stands among the parts: at its index, else after the one before it.
    order: u64,
    value: T,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { parts: Vec::new() }
    }
}

impl<T> Numbered<T> {
    /// Whether there are more parts than any answer has.
    pub(super) fn are_too_many(&self) -> bool {
        self.parts.len() > MOST_ITEMS
    }

    /// A part begins.  Returns its place.
    pub(super) fn add(&mut self, index: Option<u64>, value: T) -> usize {
        let last = self.parts.iter().map(|part| part.order).max();
        let order = index.or(last).unwrap_or(0);
        self.parts.push(Part {
            index,
            order,
            value,
        });
        self.parts.len() - 1
    }

    /// The place of the newest part that passes a test of its index and itself.
    pub(super) fn newest(&self, test: impl Fn(Option<u64>, &T) -> bool) -> Option<usize> {
        self.parts
            .iter()
            .rposition(|part| test(part.index, &part.value))
    }

    /// The part at a place.
    pub(super) fn get(&self, place: usize) -> Option<&T> {
        self.parts.get(place).map(|part| &part.value)
    }

    /// The part at a place.
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.parts.get_mut(place).map(|part| &mut part.value)
    }

    /// All parts in their order; none are left.
    pub(super) fn take(&mut self) -> Vec<T> {
        let mut parts = std::mem::take(&mut self.parts);
        parts.sort_by_key(|part| part.order);
        parts.into_iter().map(|part| part.value).collect()
    }
}

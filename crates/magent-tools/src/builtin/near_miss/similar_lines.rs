//! Finding the lines of a text that are most like some wanted lines.

use std::collections::HashMap;

use super::looser::loosen;

/// A common line such as a closing brace says little, so that only its first
/// places count.
const MAX_PLACES: usize = 64;

/// Longer lines are not compared letter by letter.
const MAX_LINE: usize = 2_000;

/// Lines must share this part of their letter pairs to be called similar.
const SIMILAR: f64 = 0.6;

/// Where the wanted lines begin if as many of them as possible stand where they
/// should; `None` if none of them is there at all.
pub(super) fn best_window(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    if wanted.len() < 2 {
        return None;
    }
    let wanted: Vec<String> = wanted.iter().map(|line| loosen(line)).collect();
    let mut places: HashMap<&str, Vec<usize>> = wanted
        .iter()
        .filter(|line| !line.is_empty())
        .map(|line| (line.as_str(), Vec::new()))
        .collect();
    for (index, line) in lines.iter().enumerate() {
        if let Some(found) = places.get_mut(loosen(line).as_str())
            && found.len() < MAX_PLACES
        {
            found.push(index);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (offset, line) in wanted.iter().enumerate() {
        for index in places.get(line.as_str()).into_iter().flatten() {
            if let Some(start) = index.checked_sub(offset) {
                *votes.entry(start).or_default() += line.len();
            }
        }
    }
    // A few braces in the right place are no similarity.
    let enough = (wanted.iter().map(String::len).sum::<usize>() / 4).max(2);
    votes
        .into_iter()
        .filter(|(_, weight)| *weight >= enough)
        .max_by_key(|(start, weight)| (*weight, usize::MAX - start))
        .map(|(start, _)| start)
}

/// The line that is most like the longest wanted line, and the index of that one.
pub(super) fn most_similar(lines: &[&str], wanted: &[&str]) -> Option<(usize, usize)> {
    let (wanted_index, anchor) = wanted
        .iter()
        .map(|line| loosen(line))
        .enumerate()
        .max_by_key(|(_, line)| line.len())?;
    if anchor.len() > MAX_LINE {
        return None;
    }
    let anchor_pairs = letter_pairs(&anchor);
    let anchor_count: usize = anchor_pairs.values().sum();
    let mut best = (SIMILAR, None);
    for (index, line) in lines.iter().enumerate() {
        if line.len() > MAX_LINE {
            continue;
        }
        let pairs = letter_pairs(&loosen(line));
        let count: usize = pairs.values().sum();
        let shared: usize = pairs
            .iter()
            .map(|(pair, times)| anchor_pairs.get(pair).copied().unwrap_or(0).min(*times))
            .sum();
        if anchor_count + count == 0 {
            continue;
        }
        let score = (2 * shared) as f64 / (anchor_count + count) as f64;
        if score > best.0 {
            best = (score, Some(index));
        }
    }
    best.1.map(|index| (index, wanted_index))
}

fn letter_pairs(line: &str) -> HashMap<(char, char), usize> {
    let mut pairs = HashMap::new();
    for pair in line.chars().zip(line.chars().skip(1)) {
        *pairs.entry(pair).or_default() += 1;
    }
    pairs
}

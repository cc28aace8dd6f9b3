//! The token usage of an answer: invented, but plausible and growing as a real one is.

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::request::ChatRequest;
use crate::words::words;

/// A rule of thumb that holds for English and is good enough for a demonstration.
const CHARACTERS_PER_TOKEN: usize = 4;

/// Servers cache whole blocks of a prompt.
const CACHE_BLOCK: usize = 64;

/// The usage object of an answer.
pub(crate) fn usage(request: &ChatRequest, answer: &Answer) -> Value {
    let prompt = (request.size / CHARACTERS_PER_TOKEN + 1) as u64;
    let cached = request.known / CHARACTERS_PER_TOKEN / CACHE_BLOCK * CACHE_BLOCK;
    let reasoning = words(&answer.reasoning).len() as u64;
    let calls: usize = answer
        .calls
        .iter()
        .map(|call| (call.name.len() + call.arguments.len()) / CHARACTERS_PER_TOKEN + 1)
        .sum();
    let completion = reasoning + answer.text_pieces() + calls as u64;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    })
}

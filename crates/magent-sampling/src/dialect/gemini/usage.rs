//! The tokens used.

use magent_types::Usage;
use serde_json::Value;

/// What was told so far.  Every event tells the sums anew, and leaves out what is zero or
/// not yet known.
#[derive(Default)]
pub(super) struct Tokens {
    prompt: Option<u64>,
    tool_prompt: Option<u64>,
    answer: Option<u64>,
    thoughts: Option<u64>,
    cached: Option<u64>,
}

impl Tokens {
    /// Takes the numbers of an event; gives the usage if it changed.
    pub(super) fn take(&mut self, metadata: &Value) -> Option<Usage> {
        let before = self.usage();
        for (known, key) in [
            (&mut self.prompt, "promptTokenCount"),
            (&mut self.tool_prompt, "toolUsePromptTokenCount"),
            (&mut self.answer, "candidatesTokenCount"),
            (&mut self.thoughts, "thoughtsTokenCount"),
            (&mut self.cached, "cachedContentTokenCount"),
        ] {
            *known = metadata.get(key).and_then(Value::as_u64).or(*known);
        }
        let usage = self.usage();
        (usage != before).then_some(usage)
    }

    /// The API counts cached tokens as part of the prompt, and thoughts apart from the
    /// answer.
    fn usage(&self) -> Usage {
        Usage {
            input: sum(self.prompt, self.tool_prompt),
            output: sum(self.answer, self.thoughts),
            reasoning: self.thoughts,
            cached_read: self.cached,
            cached_write: None,
        }
    }
}

fn sum(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    match (left, right) {
        (None, None) => None,
        _ => Some(left.unwrap_or(0).saturating_add(right.unwrap_or(0))),
    }
}

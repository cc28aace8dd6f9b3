//! What other parts read of a ledger.  A view is derived, never kept.

mod conversation;
mod transcript;

pub use conversation::{HistoryLimit, conversation};
pub use transcript::{TranscriptEntry, first_words, transcript};

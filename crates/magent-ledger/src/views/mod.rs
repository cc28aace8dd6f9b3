//! What other parts read of a ledger.  A view is derived, never kept.

mod compaction;
mod conversation;
mod sample;
mod transcript;

pub use compaction::{COMPACTION, can_compact, compaction_request, is_compaction};
pub use conversation::{HistoryLimit, conversation};
pub use sample::{SHARED_HEADER_KEYS, sample_header};
pub use transcript::{TranscriptEntry, first_words, transcript};

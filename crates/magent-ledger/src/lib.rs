//! The ledger: what happened in a session, and the files that keep it.
//!
//! This crate owns the state machine of threads, turns and items, the journal of
//! events that is the only way to change them, the views that other parts read, the
//! three files of a saved session with their lock, and the store of results that
//! were too long for a model.  It must never decide what happens next in a turn,
//! talk to a model or a user interface, or know about async tasks: writing runs on
//! a thread of its own, and callers hear of it by callback.

#![forbid(unsafe_code)]

mod apply;
mod codec;
mod error;
mod fork;
mod header;
mod images;
mod ledger;
mod reconcile;
mod record;
mod spill;
mod store;
mod views;

pub use codec::{decode_event, decode_snapshot, encode_event, encode_snapshot};
pub use error::{LedgerError, ShapeError};
pub use header::{ApprovalOverride, SCHEMA_VERSION, SessionHeader};
pub use images::ImageStore;
pub use ledger::{Ledger, Snapshot};
pub use record::{NewTurn, UserWords};
pub use spill::{SpillError, SpillPage, SpillSettings, SpillStore};
pub use store::{
    LoadReport, LoadedSession, OpenFrom, RecoveredSession, SaveOutcome, SessionDirectory,
    SessionLock, SessionSummary, SessionWriter, StorageReport, StoreWriter, WriterSettings,
};
pub use views::{
    COMPACTION, HistoryLimit, SHARED_HEADER_KEYS, TranscriptEntry, can_compact, compaction_request,
    conversation, first_words, is_compaction, sample_header, transcript,
};

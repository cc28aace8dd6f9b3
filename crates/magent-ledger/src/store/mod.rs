//! The files of saved sessions.

mod delete;
mod directory;
mod files;
mod follow;
mod list;
mod load;
mod lock;
mod migrate;
mod open_session;
mod recover;
mod write_worker;
mod writer;

pub use directory::SessionDirectory;
pub(crate) use files::{SET_ASIDE, SessionFiles, create_private_directory, hex, replace_file};
pub use list::SessionSummary;
pub use load::{LoadReport, LoadedSession};
pub use lock::SessionLock;
pub use recover::RecoveredSession;
pub use writer::{
    OpenFrom, SaveOutcome, SessionWriter, StorageReport, StoreWriter, WriterSettings,
};

//! The runtime: everything that happens between a prompt and its answer.
//!
//! This crate owns the registry of live sessions, the queue, the turn loop with its
//! epochs and request builder, the orchestrator of tool calls, approvals, the audit,
//! and the calls of the core to Emacs.  It must never know a user interface's protocol
//! or a provider's format, and nothing in it waits on the thread of Emacs.

#![forbid(unsafe_code)]

mod admission;
mod agents;
mod approval;
mod audit;
mod authority;
mod authorization;
mod batch;
mod builder;
mod bus;
mod call_audit;
mod calls;
mod compaction;
mod config;
mod drive;
mod error;
mod execution;
mod export;
mod fork;
mod host;
mod host_sampler;
mod images;
mod live;
mod models;
mod option_reader;
mod orchestrator;
mod queue;
mod recorder;
mod replay;
mod runtime;
mod sample;
mod services;
mod session;
mod session_export;
mod session_files;
mod session_options;
mod session_registry;
mod settlement;
mod steering;
mod submission;
mod turn;
mod turn_context;

pub use agents::{AgentRegistry, builtin_agents};
pub use approval::{ApprovalDecision, ApprovalMode};
pub use audit::{AuditRecord, AuditTarget};
pub use authority::AuthorityRow;
pub use bus::{Observer, ObserverId};
pub use compaction::AutoCompact;
pub use config::{ReasoningDisplay, RuntimeConfig};
pub use error::RuntimeError;
pub use export::ExportFormat;
pub use host::{HostBridge, HostRequest, HostSink};
pub use magent_tools::{Catalog, clip_lines};
pub use models::{ModelCatalog, ModelChoice};
pub use runtime::{Runtime, RuntimePorts, StorageWatcher};
pub use session::ReplayEntry;
pub use session_registry::{SessionInfo, SessionListing, SessionOptions};
pub use submission::{SubmitRequest, Submitted, ToolSelection};

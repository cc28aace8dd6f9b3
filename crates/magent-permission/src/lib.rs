//! Whether a call may run.
//!
//! This crate owns the meaning of permission rules: matching, the order in which
//! rules, session decisions and policies count, what a model may see, and the words
//! that explain a decision.  It is pure: it reads no file, asks nobody, and knows
//! tools only by their permission keys.
//!
//! Permissions are a workflow of confirmations.  They are no sandbox.

#![forbid(unsafe_code)]

mod decide;
mod defaults;
mod exposure;
mod rules;

pub use decide::{Authorization, Policy, Request, SessionOverrides, Source, decide};
pub use defaults::{PERMISSION_KEYS, build_rules, plan_rules};
pub use exposure::{Exposure, exposure};
pub use rules::{ResourceName, RuleError, RuleHit, RuleTable};

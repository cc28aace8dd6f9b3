//! The plan a model keeps of its own work.

use crate::status::status_type;

status_type!(
    /// Status of one step of a plan.
    PlanStatus {
        /// Not begun.
        Pending = "pending",
        /// Being worked on; at most one step of a plan.
        InProgress = "in_progress",
        /// Done.
        Completed = "completed",
    }
);

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanEntry {
    /// What is to be done.
    pub step: String,
    /// How far it is.
    pub status: PlanStatus,
}

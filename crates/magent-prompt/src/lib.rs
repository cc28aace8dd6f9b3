//! What a model is told before the conversation.
//!
//! This crate owns the bundled prompt resources, the discovery of project
//! instructions, and the order in which a system text is put together.  It must never
//! grant anything: prompts guide a model, permissions are enforced elsewhere.

#![forbid(unsafe_code)]

mod assembly;
mod instructions;
mod resource;

pub use assembly::{SystemText, assemble};
pub use instructions::{InstructionSettings, project_instructions};
pub use resource::{ResourceError, prompt_resource, resource_names};

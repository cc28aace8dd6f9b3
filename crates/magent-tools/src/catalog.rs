//! The list of all tools.

use std::sync::Arc;

use crate::Tool;
use crate::builtin;

/// The tools in their fixed order; names are unique.
#[derive(Clone)]
pub struct Catalog {
    tools: Arc<[Arc<dyn Tool>]>,
}

impl Catalog {
    /// Makes a catalogue out of tools with different names.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self {
            tools: tools.into(),
        }
    }

    /// Finds a tool by its name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }

    /// All tools in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }
}

/// Every tool that Magent has.
pub fn builtin_catalog() -> Catalog {
    Catalog::new(vec![
        Arc::new(builtin::ReadFile::new()),
        Arc::new(builtin::WriteFile::new()),
        Arc::new(builtin::EditFile::new()),
        Arc::new(builtin::Grep::new()),
        Arc::new(builtin::Glob::new()),
        Arc::new(builtin::Bash::new()),
        Arc::new(builtin::ReadToolOutput::new()),
        Arc::new(builtin::UpdatePlan::new()),
    ])
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;

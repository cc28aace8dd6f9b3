//! What every tool is.

use async_trait::async_trait;
use magent_types::{FileDiff, Location, ToolError, ToolOutput, ToolSpec};
use serde_json::{Map, Value};

use crate::{Resource, ToolContext};

/// A call that passed the checks of its schema and has its path frozen.
#[derive(Clone, Debug)]
pub struct Call {
    /// The arguments: they fit the tool's schema, and optional ones that were
    /// null are gone.
    pub arguments: Map<String, Value>,
    /// The file named by the tool's resource argument, if the tool has one.
    pub resource: Option<Resource>,
}

impl Call {
    /// A text argument; empty if it is absent.
    pub fn text(&self, name: &str) -> &str {
        self.arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// An integer argument, if it is there.  To JSON Schema `2.0` is an integer like
    /// `2`; one out of range becomes the nearest that is in it.
    pub fn integer(&self, name: &str) -> Option<i64> {
        let number = self.arguments.get(name)?;
        number
            .as_i64()
            .or_else(|| number.as_u64().map(|_| i64::MAX))
            // The conversion of a float saturates.
            .or_else(|| number.as_f64().map(|float| float as i64))
    }

    /// A truth value; false if it is absent.
    pub fn flag(&self, name: &str) -> bool {
        self.arguments
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or_default()
    }
}

/// A tool: what the model is told about it, and what it does.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What is fixed about the tool.
    fn spec(&self) -> &ToolSpec;

    /// One line about this call for people, without the model's own reason.
    fn title(&self, call: &Call, context: &ToolContext) -> String;

    /// What the audit may keep of the arguments: lengths and names, never contents.
    fn audit_preview(&self, arguments: &Map<String, Value>) -> Map<String, Value>;

    /// Whether the call's output is worth watching while it runs.
    fn has_live_output(&self) -> bool {
        false
    }

    /// The part of a result's text that people want to see: what only the model needs,
    /// such as revisions, left out.
    fn display_content<'a>(&self, content: &'a str) -> &'a str {
        content
    }

    /// The places a call touches, known before it runs.
    fn locations(&self, call: &Call) -> Vec<Location> {
        call.resource
            .iter()
            .map(|resource| Location {
                path: resource.path().to_owned(),
                line: None,
            })
            .collect()
    }

    /// Whether the arguments say something that can be done at all, so that nobody is
    /// asked to approve what cannot.  Reads no file: what one holds
    /// must not be told before the call is allowed.
    fn check(&self, _call: &Call, _context: &ToolContext) -> Result<(), ToolError> {
        Ok(())
    }

    /// What the call would change, for the user to see before it is approved.
    /// Must change nothing; when it cannot be told, the answer is empty, since a
    /// preview that fails must never stop the call itself.
    async fn preview(&self, _call: &Call, _context: &ToolContext) -> Vec<FileDiff> {
        Vec::new()
    }

    /// Runs the call.  Returns soon after `context.cancel` fires, leaving nothing
    /// behind: no process, no temporary file.
    async fn run(&self, call: &Call, context: &ToolContext) -> Result<ToolOutput, ToolError>;
}

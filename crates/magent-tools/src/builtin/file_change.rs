//! What `write_file` and `edit_file` have in common: the proof that the caller
//! saw the file, the way a change reaches it, and the result.

use std::path::Path;

use magent_types::{FileDiff, Location, ToolError, ToolOutput};
use serde_json::{Map, Value, json};

use super::atomic_write::{Previous, WriteError, write_atomically};
use super::blocking::StopFlag;
use super::change_summary::{ChangeSummary, summarize_change};
use super::host;
use super::text_file::{Content, FileBytes, FileError, Utf8Text, classify, read_bytes};
use crate::{Call, Resource, ToolContext, revision_of};

/// What a caller expects to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Nothing: the file is to be made.
    Absent,
    /// The file with this revision.
    Revision(String),
}

impl Expected {
    /// Reads the argument `expected_revision`.
    pub(crate) fn parse(text: &str) -> Result<Self, ToolError> {
        let text = text.trim();
        if text == "absent" {
            return Ok(Self::Absent);
        }
        if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self::Revision(text.to_ascii_lowercase()));
        }
        Err(ToolError::failed(
            "bad_revision",
            "expected_revision must be the 64 hexadecimal digits that read_file, grep or the \
             last change of the file reported, or \"absent\" to make a new file with write_file",
        ))
    }

    /// The argument as Emacs gets it.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Absent => "absent",
            Self::Revision(revision) => revision,
        }
    }

    /// Whether the file is as expected; `actual` is its revision if it exists.
    pub(crate) fn check(&self, actual: Option<&str>, shown: &str) -> Result<(), ToolError> {
        let problem = match (self, actual) {
            (Self::Absent, None) => return Ok(()),
            (Self::Revision(expected), Some(actual)) if expected == actual => return Ok(()),
            (Self::Absent, Some(actual)) => {
                format!("{shown} exists, with revision {actual}, but was expected to be absent")
            }
            (Self::Revision(expected), None) => {
                format!("{shown} does not exist, but was expected with revision {expected}")
            }
            (Self::Revision(expected), Some(actual)) => {
                format!("{shown} has revision {actual}, not the expected {expected}")
            }
        };
        Err(ToolError::failed(
            "stale_revision",
            format!("stale_revision: {problem}. Read the file again before changing it"),
        ))
    }
}

/// What is on the disk where a change is to go.
#[derive(Debug)]
pub(crate) enum Current {
    /// Nothing.
    Missing,
    /// UTF-8 text.
    Utf8 {
        /// The text.
        text: Utf8Text,
        /// The opened file's metadata.
        metadata: Box<std::fs::Metadata>,
        /// SHA-256 of the bytes.
        revision: String,
    },
    /// Text that only Emacs can decode and encode.
    OtherCoding,
}

impl Current {
    /// Reads what is there; binary files are refused.
    pub(crate) fn load(path: &Path, shown: &str, stop: &StopFlag) -> Result<Self, ToolError> {
        let FileBytes {
            bytes,
            metadata,
            revision,
        } = match read_bytes(path, stop) {
            Ok(file) => file,
            Err(FileError::NotFound) => return Ok(Self::Missing),
            Err(error) => return Err(error.into_tool_error("change", shown)),
        };
        match classify(bytes) {
            Content::Utf8(text) => Ok(Self::Utf8 {
                text,
                metadata: Box::new(metadata),
                revision,
            }),
            Content::OtherCoding => Ok(Self::OtherCoding),
            Content::Binary => Err(FileError::Binary.into_tool_error("change", shown)),
        }
    }

    /// Puts new text in place of what was loaded, and returns its revision.
    pub(crate) fn replace(
        &self,
        path: &Path,
        new: &Utf8Text,
        shown: &str,
        stop: &StopFlag,
    ) -> Result<String, ToolError> {
        let bytes = new.to_bytes();
        let (old_bytes, expected) = match self {
            Self::Utf8 { text, revision, .. } => {
                (text.to_bytes(), Expected::Revision(revision.clone()))
            }
            Self::Missing | Self::OtherCoding => (Vec::new(), Expected::Absent),
        };
        let previous = match self {
            Self::Utf8 { metadata, .. } => Some(Previous {
                metadata: metadata.as_ref(),
                bytes: &old_bytes,
            }),
            Self::Missing | Self::OtherCoding => None,
        };
        let last_check = |path: &Path| {
            stop.check()?;
            let actual = match read_bytes(path, stop) {
                Ok(file) => Some(file.revision),
                Err(FileError::NotFound) => None,
                Err(error) => return Err(error.into_tool_error("change", shown)),
            };
            expected.check(actual.as_deref(), shown)
        };
        match write_atomically(path, &bytes, previous.as_ref(), last_check) {
            Ok(()) => Ok(revision_of(&bytes)),
            Err(WriteError::Refused(error)) => Err(error),
            Err(WriteError::Appeared) => Err(ToolError::failed(
                "stale_revision",
                format!("stale_revision: {shown} has appeared meanwhile; read it first"),
            )),
            Err(WriteError::Io(error)) => Err(FileError::Io(error).into_tool_error("write", shown)),
        }
    }
}

/// The way to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The file itself.
    Disk,
    /// Emacs, because a buffer visits the file or because it is on another host.
    Host(host::HostTarget),
}

/// Finds the way to a file.
pub(crate) async fn route(context: &ToolContext, resource: &Resource) -> Result<Route, ToolError> {
    if resource.is_remote() {
        return Ok(Route::Host(host::HostTarget::File));
    }
    let state = host::buffer_state(context, resource.path()).await?;
    Ok(if state.visiting {
        Route::Host(host::HostTarget::Buffer)
    } else {
        Route::Disk
    })
}

/// The file a call names.
pub(crate) fn resource_of(call: &Call) -> Result<&Resource, ToolError> {
    call.resource
        .as_ref()
        .ok_or_else(|| ToolError::failed("no_path", "the call names no file"))
}

/// A change that was made or would be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// The text before, as people compare it; `None` for a new file.
    pub(crate) old_text: Option<String>,
    /// The text after.
    pub(crate) new_text: String,
    /// Where and how much.
    pub(crate) summary: ChangeSummary,
}

impl Change {
    /// Compares two texts.
    pub(crate) fn between(old_text: Option<String>, new_text: String) -> Self {
        let summary = summarize_change(old_text.as_deref().unwrap_or_default(), &new_text);
        Self {
            old_text,
            new_text,
            summary,
        }
    }

    /// The change as user interfaces show it.
    pub(crate) fn into_diff(self, path: &str) -> FileDiff {
        FileDiff {
            path: path.to_owned(),
            old_text: self.old_text,
            new_text: self.new_text,
            line: Some(self.summary.line),
        }
    }
}

/// The result of a change: `sentence` says what was done, without a full stop.
pub(crate) fn changed_output(
    resource: &Resource,
    sentence: &str,
    revision: &str,
    summary: ChangeSummary,
    diff: Option<FileDiff>,
) -> ToolOutput {
    let ChangeSummary {
        line,
        added,
        removed,
    } = summary;
    ToolOutput {
        value: json!({
            "path": resource.path(),
            "revision": revision,
            "line": line,
            "added": added,
            "removed": removed,
        }),
        content: format!("{sentence}: +{added} -{removed} lines. New revision: {revision}"),
        metadata: Map::from_iter([("revision".to_owned(), Value::from(revision))]),
        diffs: diff.into_iter().collect(),
        locations: vec![Location {
            path: resource.path().to_owned(),
            line: Some(line),
        }],
        plan: None,
    }
}

/// The schema of that result's value.
pub(crate) fn changed_output_schema() -> Value {
    super::schema::output(json!({
        "path": { "type": "string" },
        "revision": { "type": "string" },
        "line": { "type": "integer", "minimum": 1 },
        "added": { "type": "integer", "minimum": 0 },
        "removed": { "type": "integer", "minimum": 0 },
    }))
}

#[cfg(test)]
#[path = "file_change_tests.rs"]
mod tests;

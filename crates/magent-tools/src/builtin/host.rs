//! The operations that only Emacs can do, typed.
//!
//! This module owns their names and shapes and the translation of Emacs's errors;
//! what they mean for a tool is the tool's business.

use std::time::Duration;

use magent_types::ToolError;
use serde_json::{Map, Value, json};

use crate::{HostError, ToolContext};

const DEADLINE: Duration = Duration::from_secs(10);

/// What Emacs knows about a file's buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BufferState {
    /// Whether a buffer visits the file.
    pub(crate) visiting: bool,
}

/// The text of a live buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BufferText {
    /// The whole text, also what is not saved.
    pub(crate) text: String,
    /// SHA-256 of the bytes that saving would write.
    pub(crate) revision: String,
    /// Whether it differs from its file.
    pub(crate) modified: bool,
    /// Whether the user looks at a part of it only.
    pub(crate) narrowed: bool,
    /// The buffer's name.
    pub(crate) buffer: String,
}

/// The text of a file that Emacs decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DecodedFile {
    /// The text, with line feeds.
    pub(crate) text: String,
    /// SHA-256 of the bytes.
    pub(crate) revision: String,
    /// The coding system.
    pub(crate) coding: String,
}

/// What Emacs wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostWritten {
    /// The new revision.
    pub(crate) revision: String,
    /// The text before, if there was one and the operation tells it.
    pub(crate) old_text: Option<String>,
}

/// Which of Emacs's two ways to a file is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostTarget {
    /// The buffer that visits it.
    Buffer,
    /// The file itself, on another host or in another coding than UTF-8.
    File,
}

/// Asks whether a buffer visits the file.  Without an Emacs there are no buffers.
pub(crate) async fn buffer_state(
    context: &ToolContext,
    path: &str,
) -> Result<BufferState, ToolError> {
    let answer = match call(context, "buffer-state", json!({ "path": path })).await {
        Ok(answer) => answer,
        Err(HostError::Absent) => return Ok(BufferState::default()),
        Err(error) => return Err(failure("buffer-state", error)),
    };
    let visiting = flag(&answer, "buffer-state", "visiting")?;
    Ok(BufferState { visiting })
}

/// Reads a live buffer.
pub(crate) async fn buffer_read(
    context: &ToolContext,
    path: &str,
) -> Result<BufferText, ToolError> {
    const OP: &str = "buffer-read";
    let answer = ask(context, OP, json!({ "path": path })).await?;
    Ok(BufferText {
        text: text(&answer, OP, "text")?,
        revision: text(&answer, OP, "revision")?,
        modified: flag(&answer, OP, "modified")?,
        narrowed: flag(&answer, OP, "narrowed")?,
        buffer: text(&answer, OP, "buffer")?,
    })
}

/// Reads a file through Emacs.
pub(crate) async fn file_read(context: &ToolContext, path: &str) -> Result<DecodedFile, ToolError> {
    const OP: &str = "file-read";
    let answer = ask(context, OP, json!({ "path": path })).await?;
    Ok(DecodedFile {
        text: text(&answer, OP, "text")?,
        revision: text(&answer, OP, "revision")?,
        coding: text(&answer, OP, "coding")?,
    })
}

/// Replaces the whole text.
pub(crate) async fn write(
    context: &ToolContext,
    target: HostTarget,
    path: &str,
    expected_revision: &str,
    new_text: &str,
) -> Result<HostWritten, ToolError> {
    let op = match target {
        HostTarget::Buffer => "buffer-write",
        HostTarget::File => "file-write",
    };
    let args = json!({
        "path": path,
        "expected_revision": expected_revision,
        "text": new_text,
    });
    let answer = ask(context, op, args).await?;
    Ok(HostWritten {
        revision: text(&answer, op, "revision")?,
        old_text: optional_text(&answer, "old_text"),
    })
}

/// Replaces one part of the text; the answer is the new revision and the line.
pub(crate) async fn edit(
    context: &ToolContext,
    target: HostTarget,
    path: &str,
    expected_revision: &str,
    old_text: &str,
    new_text: &str,
) -> Result<(String, Option<u32>), ToolError> {
    let op = match target {
        HostTarget::Buffer => "buffer-edit",
        HostTarget::File => "file-edit",
    };
    let args = json!({
        "path": path,
        "expected_revision": expected_revision,
        "old_text": old_text,
        "new_text": new_text,
    });
    let answer = ask(context, op, args).await?;
    let line = answer
        .get("line")
        .and_then(Value::as_u64)
        .and_then(|line| u32::try_from(line).ok());
    Ok((text(&answer, op, "revision")?, line))
}

async fn ask(
    context: &ToolContext,
    op: &str,
    args: Value,
) -> Result<Map<String, Value>, ToolError> {
    call(context, op, args)
        .await
        .map_err(|error| failure(op, error))
}

async fn call(
    context: &ToolContext,
    op: &str,
    args: Value,
) -> Result<Map<String, Value>, HostError> {
    let answer = tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err(HostError::Cancelled),
        answer = context.host.call(op, args, DEADLINE) => answer,
    }?;
    match answer {
        Value::Object(answer) => Ok(answer),
        _ => Err(malformed_answer(op, "an object")),
    }
}

fn failure(op: &str, error: HostError) -> ToolError {
    match error {
        HostError::Failed { code, message } => ToolError::failed(code, message),
        HostError::Cancelled => ToolError::Cancelled,
        HostError::Deadline(_) => ToolError::failed(
            "host_deadline",
            format!("{error} to {op}; it may be busy or waiting for its user"),
        ),
        HostError::Absent => ToolError::failed(
            "host_absent",
            format!("{error}, which this call needs for {op}"),
        ),
    }
}

fn malformed_answer(op: &str, expected: &str) -> HostError {
    HostError::Failed {
        code: "host_protocol".to_owned(),
        message: format!("Emacs's answer to {op} lacks {expected}; this is a bug in Magent"),
    }
}

fn text(answer: &Map<String, Value>, op: &str, key: &str) -> Result<String, ToolError> {
    optional_text(answer, key).ok_or_else(|| failure(op, malformed_answer(op, key)))
}

fn optional_text(answer: &Map<String, Value>, key: &str) -> Option<String> {
    answer.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn flag(answer: &Map<String, Value>, op: &str, key: &str) -> Result<bool, ToolError> {
    answer
        .get(key)
        .and_then(Value::as_bool)
        .ok_or_else(|| failure(op, malformed_answer(op, key)))
}

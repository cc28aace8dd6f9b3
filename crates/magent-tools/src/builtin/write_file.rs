//! The tool `write_file`: makes a file or replaces its whole text.

use std::path::PathBuf;

use async_trait::async_trait;
use magent_types::{ApprovalPolicy, FileDiff, Locality, ToolError, ToolKind, ToolOutput, ToolSpec};
use serde_json::{Map, Value, json};

use super::audit;
use super::blocking::{read_in_background, write_in_background};
use super::display;
use super::file_change::{
    Change, Current, Expected, Route, changed_output, changed_output_schema, resource_of, route,
};
use super::host::{self, HostTarget};
use super::line_ends::LineEnds;
use super::schema;
use super::text_file::Utf8Text;
use crate::{Call, Resource, Tool, ToolContext};

const DESCRIPTION: &str = "\
Create a file or replace its whole text. Missing parent directories are created. \
expected_revision proves that you saw what you replace: the revision that read_file, grep or \
your last change of the file reported, or \"absent\" if the file must not exist yet. \
On stale_revision read the file again. An existing file keeps its mode, its byte order mark \
and its CRLF line ends; write plain line feeds. No final newline is added. \
A file with unsaved changes in Emacs is refused with buffer_conflict; the user has to save it. \
Use edit_file to change a part of a file.";

/// See the module's documentation.
pub(crate) struct WriteFile {
    spec: ToolSpec,
}

impl WriteFile {
    /// Makes the tool.
    pub(crate) fn new() -> Self {
        let parameters = schema::parameters(
            json!({
                "path": {
                    "type": "string",
                    "description": "File, absolute or relative to the project root.",
                },
                "content": { "type": "string", "description": "The whole new text." },
                "expected_revision": {
                    "type": "string",
                    "description": "Revision of the file to replace, or \"absent\".",
                },
            }),
            &["path", "content", "expected_revision"],
        );
        Self {
            spec: ToolSpec {
                name: "write_file",
                description: DESCRIPTION,
                parameters,
                output: changed_output_schema(),
                permission_key: "write",
                resource_argument: Some("path"),
                kind: ToolKind::Edit,
                approval: ApprovalPolicy::Normal,
                locality: Locality::TrampFile,
                audited: true,
            },
        }
    }
}

#[async_trait]
impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, call: &Call, context: &ToolContext) -> String {
        let path = display::call_path(call, context);
        // Clients put the kind before the title and drop a word that repeats it.
        let what = match call.text("expected_revision") {
            "absent" => "new file",
            _ => "whole file",
        };
        display::title(&format!("Edit {path} ({what})"))
    }

    fn audit_preview(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        audit::preview(arguments, &["path"], &["content"])
    }

    async fn preview(&self, call: &Call, context: &ToolContext) -> Vec<FileDiff> {
        preview(call, context).await.into_iter().collect()
    }

    /// The diff says it all.
    fn display_content<'a>(&self, _content: &'a str) -> &'a str {
        ""
    }

    fn check(&self, call: &Call, _context: &ToolContext) -> Result<(), ToolError> {
        let resource = resource_of(call)?;
        if ["/", "/."]
            .iter()
            .any(|end| resource.given().ends_with(end))
        {
            return Err(ToolError::failed(
                "is_directory",
                format!(
                    "{:?} is the name of a directory, not of a file",
                    resource.given()
                ),
            ));
        }
        Expected::parse(call.text("expected_revision")).map(drop)
    }

    async fn run(&self, call: &Call, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.check(call, context)?;
        let resource = resource_of(call)?;
        let expected = Expected::parse(call.text("expected_revision"))?;
        let shown = display::result_path(&context.display_path(resource.path()));
        let target = match route(context, resource).await? {
            Route::Host(target) => target,
            Route::Disk => match write_on_disk(call, context, resource, &expected, &shown).await? {
                Some((change, revision)) => {
                    return Ok(written(resource, &shown, &revision, change));
                }
                None => HostTarget::File,
            },
        };
        let content = call.text("content");
        let path = resource.path();
        let answer = host::write(context, target, path, expected.as_str(), content).await?;
        let content = content.to_owned();
        let old_text = answer.old_text;
        let change = read_in_background(&context.cancel, move |_| {
            Ok(Change::between(old_text, content))
        })
        .await?;
        Ok(written(resource, &shown, &answer.revision, change))
    }
}

/// Writes the file itself, or answers `None` if only Emacs knows its coding.
async fn write_on_disk(
    call: &Call,
    context: &ToolContext,
    resource: &Resource,
    expected: &Expected,
    shown: &str,
) -> Result<Option<(Change, String)>, ToolError> {
    let content = call.text("content").to_owned();
    let path = resource.local().to_owned();
    let (expected, shown) = (expected.clone(), shown.to_owned());
    write_in_background(&context.cancel, move |stop| {
        let current = Current::load(&path, &shown, stop)?;
        let Some((text, change)) = plan(&current, &content, &expected, &shown)? else {
            return Ok(None);
        };
        let revision = current.replace(&path, &text, &shown, stop)?;
        Ok(Some((change, revision)))
    })
    .await
}

/// The text to write and the change it makes; `None` if only Emacs can do it.
fn plan(
    current: &Current,
    content: &str,
    expected: &Expected,
    shown: &str,
) -> Result<Option<(Utf8Text, Change)>, ToolError> {
    let (old, actual) = match current {
        Current::OtherCoding => return Ok(None),
        Current::Missing => (None, None),
        Current::Utf8 { text, revision, .. } => (Some(text), Some(revision.as_str())),
    };
    expected.check(actual, shown)?;
    let ends = old.map_or(LineEnds::Lf, |old| LineEnds::of(&old.text));
    let text = in_form_of(old, ends, content);
    let old_text = old.map(|old| ends.to_feeds(&old.text).into_owned());
    let new_text = ends.to_feeds(&text.text).into_owned();
    Ok(Some((text, Change::between(old_text, new_text))))
}

/// The content with the byte order mark and the line ends of the file it replaces.
/// Line ends that the content spells out itself are meant.
fn in_form_of(old: Option<&Utf8Text>, ends: LineEnds, content: &str) -> Utf8Text {
    let (marked, content) = match content.strip_prefix('\u{feff}') {
        Some(rest) => (true, rest),
        None => (false, content),
    };
    let text = if content.contains('\r') {
        content.to_owned()
    } else {
        match ends {
            LineEnds::Crlf => content.replace('\n', "\r\n"),
            LineEnds::Cr => content.replace('\n', "\r"),
            LineEnds::Lf | LineEnds::Mixed => content.to_owned(),
        }
    };
    Utf8Text {
        bom: marked || old.is_some_and(|old| old.bom),
        text,
    }
}

fn written(resource: &Resource, shown: &str, revision: &str, change: Change) -> ToolOutput {
    let verb = if change.old_text.is_none() {
        "Created"
    } else {
        "Wrote"
    };
    let summary = change.summary;
    let diff = change.into_diff(resource.path());
    changed_output(
        resource,
        &format!("{verb} {shown}"),
        revision,
        summary,
        Some(diff),
    )
}

/// The change the call would make; nothing if it cannot be told.
async fn preview(call: &Call, context: &ToolContext) -> Option<FileDiff> {
    let resource = call.resource.as_ref()?;
    let expected = Expected::parse(call.text("expected_revision")).ok()?;
    let content = call.text("content").to_owned();
    if !resource.is_remote() {
        let path = resource.local().to_owned();
        let planned = planned_on_disk(context, path, content.clone(), expected.clone()).await;
        if let Some(change) = planned.ok()? {
            return Some(change.into_diff(resource.path()));
        }
    }
    let old = host::file_read(context, resource.path()).await.ok()?;
    expected.check(Some(&old.revision), "").ok()?;
    Some(Change::between(Some(old.text), content).into_diff(resource.path()))
}

async fn planned_on_disk(
    context: &ToolContext,
    path: PathBuf,
    content: String,
    expected: Expected,
) -> Result<Option<Change>, ToolError> {
    read_in_background(&context.cancel, move |stop| {
        let current = Current::load(&path, "", stop)?;
        Ok(plan(&current, &content, &expected, "")?.map(|(_, change)| change))
    })
    .await
}

#[cfg(test)]
#[path = "write_file_tests.rs"]
mod tests;

//! The tool `edit_file`: replaces one part of a file.

use async_trait::async_trait;
use magent_types::{ApprovalPolicy, FileDiff, Locality, ToolError, ToolKind, ToolOutput, ToolSpec};
use serde_json::{Map, Value, json};

use super::audit;
use super::blocking::{read_in_background, write_in_background};
use super::change_summary::summarize_change;
use super::display;
use super::file_change::{
    Change, Current, Expected, Route, changed_output, changed_output_schema, resource_of, route,
};
use super::host::{self, HostTarget};
use super::schema;
use super::text_edit::{EditError, Edited, edit_text};
use super::text_file::{FileError, Utf8Text};
use crate::{Call, Resource, Tool, ToolContext};

const DESCRIPTION: &str = "\
Replace one part of a file. old_text must be in the file exactly once, character for \
character, including indentation; copy it from read_file without the header, and add lines \
around it if it is found more than once. new_text is taken literally. Write plain line feeds: \
the file keeps its own line ends, byte order mark and mode. expected_revision is the revision \
that read_file, grep or your last change of the file reported; the answer has the new one for \
the next edit. On stale_revision read the file again; on no_match the answer shows the closest \
place and how it differs. A file with unsaved changes in Emacs is refused with buffer_conflict; \
the user has to save it.";

/// See the module's documentation.
pub(crate) struct EditFile {
    spec: ToolSpec,
}

impl EditFile {
    /// Makes the tool.
    pub(crate) fn new() -> Self {
        let parameters = schema::parameters(
            json!({
                "path": {
                    "type": "string",
                    "description": "File, absolute or relative to the project root.",
                },
                "old_text": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The text to replace, found exactly once in the file.",
                },
                "new_text": { "type": "string", "description": "What replaces it." },
                "expected_revision": {
                    "type": "string",
                    "description": "Revision of the file that old_text was taken from.",
                },
            }),
            &["path", "old_text", "new_text", "expected_revision"],
        );
        Self {
            spec: ToolSpec {
                name: "edit_file",
                description: DESCRIPTION,
                parameters,
                output: changed_output_schema(),
                permission_key: "edit",
                resource_argument: Some("path"),
                kind: ToolKind::Edit,
                approval: ApprovalPolicy::Normal,
                locality: Locality::TrampFile,
                audited: true,
            },
        }
    }
}

/// What a call asks for.
#[derive(Clone)]
struct Request {
    old_text: String,
    new_text: String,
    expected: Expected,
    shown: String,
}

impl Request {
    fn of(call: &Call, context: &ToolContext, resource: &Resource) -> Result<Self, ToolError> {
        let shown = display::result_path(&context.display_path(resource.path()));
        let expected = Expected::parse(call.text("expected_revision"))?;
        if expected == Expected::Absent {
            return Err(ToolError::failed(
                "bad_revision",
                "edit_file changes an existing file, so its revision is needed; \
                 write_file makes a new one",
            ));
        }
        let old_text = call.text("old_text").to_owned();
        if old_text.is_empty() {
            let error = EditError::Empty;
            return Err(ToolError::failed(error.code(), error.message(&shown)));
        }
        Ok(Self {
            old_text,
            new_text: call.text("new_text").to_owned(),
            expected,
            shown,
        })
    }

    /// The edited text, or why it cannot be edited.
    fn apply(&self, text: &str) -> Result<Edited, ToolError> {
        edit_text(text, &self.old_text, &self.new_text)
            .map_err(|error| ToolError::failed(error.code(), error.message(&self.shown)))
    }

    /// The edit of what is on the disk; `None` if only Emacs can do it.
    fn plan(&self, current: &Current) -> Result<Option<(Utf8Text, Edited)>, ToolError> {
        let Current::Utf8 { text, revision, .. } = current else {
            return match current {
                Current::Missing => Err(FileError::NotFound.into_tool_error("edit", &self.shown)),
                _ => Ok(None),
            };
        };
        self.expected.check(Some(revision), &self.shown)?;
        let mut edited = self.apply(&text.text)?;
        let new = Utf8Text {
            bom: text.bom,
            text: std::mem::take(&mut edited.raw),
        };
        Ok(Some((new, edited)))
    }
}

#[async_trait]
impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, call: &Call, context: &ToolContext) -> String {
        display::title(&format!("Edit {}", display::call_path(call, context)))
    }

    fn audit_preview(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        audit::preview(arguments, &["path"], &["old_text", "new_text"])
    }

    fn check(&self, call: &Call, context: &ToolContext) -> Result<(), ToolError> {
        Request::of(call, context, resource_of(call)?).map(drop)
    }

    async fn preview(&self, call: &Call, context: &ToolContext) -> Vec<FileDiff> {
        preview(call, context).await.into_iter().collect()
    }

    /// The diff says it all.
    fn display_content<'a>(&self, _content: &'a str) -> &'a str {
        ""
    }

    async fn run(&self, call: &Call, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let resource = resource_of(call)?;
        let request = Request::of(call, context, resource)?;
        let target = match route(context, resource).await? {
            Route::Host(target) => target,
            Route::Disk => match edit_on_disk(&request, context, resource).await? {
                Some(output) => return Ok(output),
                None => HostTarget::File,
            },
        };
        edit_by_host(&request, context, resource, target).await
    }
}

/// Edits the file itself, or answers `None` if only Emacs knows its coding.
async fn edit_on_disk(
    request: &Request,
    context: &ToolContext,
    resource: &Resource,
) -> Result<Option<ToolOutput>, ToolError> {
    let path = resource.local().to_owned();
    let plan = request.clone();
    let edited = write_in_background(&context.cancel, move |stop| {
        let current = Current::load(&path, &plan.shown, stop)?;
        let Some((text, edited)) = plan.plan(&current)? else {
            return Ok(None);
        };
        let revision = current.replace(&path, &text, &plan.shown, stop)?;
        Ok(Some((edited, revision)))
    })
    .await?;
    Ok(edited.map(|(edited, revision)| {
        let summary = edited.summary;
        let diff = change_of(edited).into_diff(resource.path());
        let sentence = format!("Edited {} (line {})", request.shown, summary.line);
        changed_output(resource, &sentence, &revision, summary, Some(diff))
    }))
}

/// Lets Emacs edit the file or the buffer that visits it.
async fn edit_by_host(
    request: &Request,
    context: &ToolContext,
    resource: &Resource,
    target: HostTarget,
) -> Result<ToolOutput, ToolError> {
    let path = resource.path();
    let edited = match text_before(request, context, resource, target).await {
        Some(text) => {
            let own = request.clone();
            let apply = read_in_background(&context.cancel, move |_| own.apply(&text));
            Some(apply.await)
        }
        None => None,
    };
    let answer = host::edit(
        context,
        target,
        path,
        request.expected.as_str(),
        &request.old_text,
        &request.new_text,
    )
    .await;
    let (revision, line) = match (answer, &edited) {
        (Ok(answer), _) => answer,
        // The same verdict on the same text, but with what is close to a miss.
        (Err(ToolError::Failed { code, .. }), Some(Err(own)))
            if matches!(code.as_str(), "no_match" | "not_unique") =>
        {
            return Err(own.clone());
        }
        (Err(error), _) => return Err(error),
    };
    let edited = edited.and_then(Result::ok);
    let mut summary = edited.as_ref().map_or_else(
        || summarize_change(&request.old_text, &request.new_text),
        |edited| edited.summary,
    );
    if let (None, Some(line)) = (&edited, line) {
        summary.line = line.max(1);
    }
    let diff = edited.map(|edited| change_of(edited).into_diff(path));
    let sentence = format!("Edited {} (line {})", request.shown, summary.line);
    Ok(changed_output(
        resource, &sentence, &revision, summary, diff,
    ))
}

/// The text that Emacs is going to edit, for the diff and for a better word about
/// a miss; nothing if no text with the expected revision is at hand.
async fn text_before(
    request: &Request,
    context: &ToolContext,
    resource: &Resource,
    target: HostTarget,
) -> Option<String> {
    let path = resource.path();
    if target == HostTarget::File {
        let file = host::file_read(context, path).await.ok()?;
        return (file.revision == request.expected.as_str()).then_some(file.text);
    }
    // An unmodified buffer has the text of its file, which is cheaper to read here.
    let local = resource.local().to_owned();
    let current = read_in_background(&context.cancel, move |stop| Current::load(&local, "", stop));
    match current.await.ok()? {
        Current::Utf8 { text, revision, .. } if revision == request.expected.as_str() => {
            return Some(text.text);
        }
        _ => {}
    }
    let buffer = host::buffer_read(context, path).await.ok()?;
    (buffer.revision == request.expected.as_str()).then_some(buffer.text)
}

fn change_of(edited: Edited) -> Change {
    Change {
        old_text: Some(edited.shown_old),
        new_text: edited.shown_new,
        summary: edited.summary,
    }
}

/// The change the call would make; nothing if it cannot be told.
async fn preview(call: &Call, context: &ToolContext) -> Option<FileDiff> {
    let resource = call.resource.as_ref()?;
    let request = Request::of(call, context, resource).ok()?;
    if !resource.is_remote() {
        let path = resource.local().to_owned();
        let plan = request.clone();
        let edited = read_in_background(&context.cancel, move |stop| {
            plan.plan(&Current::load(&path, &plan.shown, stop)?)
        });
        if let Some((_, edited)) = edited.await.ok()? {
            return Some(change_of(edited).into_diff(resource.path()));
        }
    }
    let old = host::file_read(context, resource.path()).await.ok()?;
    request.expected.check(Some(&old.revision), "").ok()?;
    let edited = request.apply(&old.text).ok()?;
    Some(change_of(edited).into_diff(resource.path()))
}

#[cfg(test)]
#[path = "edit_file_tests.rs"]
mod tests;

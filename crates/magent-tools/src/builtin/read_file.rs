//! The tool `read_file`: a page of a file or of the buffer that visits it.

use async_trait::async_trait;
use magent_types::{
    ApprovalPolicy, Locality, Location, ToolError, ToolKind, ToolOutput, ToolSpec, one_line,
};
use serde_json::{Map, Value, json};

use super::audit;
use super::blocking::read_in_background;
use super::display;
use super::file_change::resource_of;
use super::host;
use super::line_ends::LineEnds;
use super::line_page::LinePage;
use super::schema;
use super::text_file::{Content, FileError, classify, read_bytes};
use crate::{Call, Resource, Tool, ToolContext};

const DEFAULT_LINES: usize = 200;

const DESCRIPTION: &str = "\
Read a page of a text file. The first line of the answer is a header in brackets with the \
revision, which write_file and edit_file need, the lines shown, the total and the line to go on \
with; the text follows it as it is, without line numbers. A page ends after line_count lines or \
at 8000 characters on a line boundary; continue with start_line=next_start_line. Line ends are \
shown as line feeds; eol= and bom= in the header say what the file really has. \
source \"disk\" reads the saved file. source \"live-buffer\" reads the Emacs buffer that visits \
the file, with unsaved changes; if there is none it fails with buffer_not_found. Binary files, \
directories and files over 50 MiB are refused.";

/// See the module's documentation.
pub(crate) struct ReadFile {
    spec: ToolSpec,
}

impl ReadFile {
    /// Makes the tool.
    pub(crate) fn new() -> Self {
        let parameters = schema::parameters(
            json!({
                "path": {
                    "type": "string",
                    "description": "File, absolute or relative to the project root.",
                },
                "source": {
                    "type": "string",
                    "enum": ["disk", "live-buffer"],
                    "description": "The saved file, or the buffer that visits it.",
                },
                "start_line": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "First line, from 1. Default 1.",
                },
                "line_count": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Most lines to return. Default 200.",
                },
            }),
            &["path", "source"],
        );
        Self {
            spec: ToolSpec {
                name: "read_file",
                description: DESCRIPTION,
                parameters,
                output: output_schema(),
                permission_key: "read",
                resource_argument: Some("path"),
                kind: ToolKind::Read,
                approval: ApprovalPolicy::Normal,
                locality: Locality::TrampFile,
                audited: false,
            },
        }
    }
}

fn output_schema() -> Value {
    schema::output(json!({
        "source": { "type": "string" },
        "modified": { "type": "boolean" },
        "revision": { "type": "string" },
        "start_line": { "type": ["integer", "null"] },
        "end_line": { "type": ["integer", "null"] },
        "total_lines": { "type": "integer" },
        "next_start_line": { "type": ["integer", "null"] },
        "text": { "type": "string" },
    }))
}

/// The text to cut a page from, and what the header says about it.
struct Source {
    name: &'static str,
    modified: bool,
    revision: String,
    text: String,
    /// Header fields that only this source has, right after the state.
    state: String,
    /// Header fields about the form of the text.
    form: String,
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, call: &Call, context: &ToolContext) -> String {
        let path = display::call_path(call, context);
        let range = match (start_of(call), count_of(call)) {
            (None, None) => String::new(),
            (start, None) => format!(":{}-", start.unwrap_or(1)),
            (start, Some(count)) => {
                let start = start.unwrap_or(1);
                format!(":{start}-{}", start.saturating_add(count - 1))
            }
        };
        let live = if is_live(call) { " (live buffer)" } else { "" };
        display::title(&format!("Read {path}{range}{live}"))
    }

    fn audit_preview(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        audit::preview(arguments, &["path", "source"], &[])
    }

    fn locations(&self, call: &Call) -> Vec<Location> {
        let line = start_of(call).and_then(|line| u32::try_from(line).ok());
        call.resource
            .iter()
            .map(|resource| Location {
                path: resource.path().to_owned(),
                line,
            })
            .collect()
    }

    fn display_content<'a>(&self, content: &'a str) -> &'a str {
        match content.split_once('\n') {
            Some((header, text)) if header.starts_with("[read_file ") => text,
            _ => content,
        }
    }

    async fn run(&self, call: &Call, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let resource = resource_of(call)?;
        let range = Range {
            start: start_of(call).unwrap_or(1),
            count: count_of(call).unwrap_or(DEFAULT_LINES),
        };
        let source = if is_live(call) {
            live_source(context, resource).await?
        } else {
            if !resource.is_remote()
                && let Some(output) = read_disk(context, resource, range).await?
            {
                return Ok(output);
            }
            decoded_source(context, resource).await?
        };
        read_in_background(&context.cancel, move |_| Ok(source.page(range))).await
    }
}

/// The lines that a call asks for.
#[derive(Clone, Copy)]
struct Range {
    start: usize,
    count: usize,
}

fn is_live(call: &Call) -> bool {
    call.text("source") == "live-buffer"
}

fn start_of(call: &Call) -> Option<usize> {
    positive(call, "start_line")
}

fn count_of(call: &Call) -> Option<usize> {
    positive(call, "line_count")
}

/// The schema has refused everything below one.
fn positive(call: &Call, name: &str) -> Option<usize> {
    let number = call.integer(name)?.max(1);
    Some(usize::try_from(number).unwrap_or(usize::MAX))
}

async fn live_source(context: &ToolContext, resource: &Resource) -> Result<Source, ToolError> {
    let buffer = host::buffer_read(context, resource.path()).await?;
    Ok(Source {
        name: "live-buffer",
        modified: buffer.modified,
        revision: buffer.revision,
        text: buffer.text,
        state: format!(
            " buffer={} narrowed={}",
            Value::from(one_line(&buffer.buffer)),
            buffer.narrowed
        ),
        form: String::new(),
    })
}

/// A file that Emacs reads, because it is remote or because it is not UTF-8.
async fn decoded_source(context: &ToolContext, resource: &Resource) -> Result<Source, ToolError> {
    let file = host::file_read(context, resource.path()).await?;
    Ok(Source {
        name: "disk",
        modified: false,
        revision: file.revision,
        text: file.text,
        state: String::new(),
        form: format!(" coding={}", one_line(&file.coding)),
    })
}

/// A page of the file itself, or `None` if it is text in another coding than UTF-8.
async fn read_disk(
    context: &ToolContext,
    resource: &Resource,
    range: Range,
) -> Result<Option<ToolOutput>, ToolError> {
    let path = resource.local().to_owned();
    let shown = display::result_path(&context.display_path(resource.path()));
    read_in_background(&context.cancel, move |stop| {
        let refuse = |error: FileError| error.into_tool_error("read", &shown);
        let file = read_bytes(&path, stop).map_err(refuse)?;
        let text = match classify(file.bytes) {
            Content::Utf8(text) => text,
            Content::OtherCoding => return Ok(None),
            Content::Binary => return Err(refuse(FileError::Binary)),
        };
        let ends = LineEnds::of(&text.text);
        let mut form = String::new();
        if let Some(label) = ends.label() {
            form.push_str(&format!(" eol={label}"));
        }
        if text.bom {
            form.push_str(" bom=true");
        }
        let source = Source {
            name: "disk",
            modified: false,
            revision: file.revision,
            text: ends.to_feeds(&text.text).into_owned(),
            state: String::new(),
            form,
        };
        Ok(Some(source.page(range)))
    })
    .await
}

impl Source {
    /// The result with a page of the text.
    fn page(&self, range: Range) -> ToolOutput {
        let page = LinePage::of(&self.text, range.start, range.count);
        let next = page.next_line();
        let lines = match page.lines {
            Some((first, last)) => format!("{first}-{last}"),
            None => "none".to_owned(),
        };
        let content = format!(
            "[read_file source={} modified={}{} revision={} lines={lines} total_lines={} \
             has_more={} next_start_line={}{}]\n{}",
            self.name,
            self.modified,
            self.state,
            self.revision,
            page.total,
            next.is_some(),
            next.map_or_else(|| "none".to_owned(), |next| next.to_string()),
            self.form,
            page.text
        );
        ToolOutput {
            value: json!({
                "source": self.name,
                "modified": self.modified,
                "revision": self.revision,
                "start_line": page.lines.map(|(first, _)| first),
                "end_line": page.lines.map(|(_, last)| last),
                "total_lines": page.total,
                "next_start_line": next,
                "text": page.text,
            }),
            content,
            ..ToolOutput::default()
        }
    }
}

#[cfg(test)]
#[path = "read_file_tests.rs"]
mod tests;

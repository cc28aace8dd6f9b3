//! The tool `read_tool_output`: a page of a result that was too long to show.

use std::sync::Arc;

use async_trait::async_trait;
use magent_types::{
    ApprovalPolicy, Locality, ToolError, ToolKind, ToolOutput, ToolSpec, one_line, shorten,
};
use serde_json::{Map, Value, json};

use super::audit;
use super::blocking::read_in_background;
use super::display;
use super::schema;
use crate::{Call, SpillError, SpillPage, Tool, ToolContext, ToolLimits};

/// What the header may need of the room that a result has.
const HEADER_CHARACTERS: usize = 512;

const DESCRIPTION: &str = "\
Read a page of an earlier result of this session that was cut, by the result_id its notice \
names. Positions are characters, from 1. The first line of the answer is a header in brackets \
with the characters shown, the total and next_start_character to go on with. A page has at most \
8000 characters. Results expire; run the tool again on tool_result_not_found.";

/// See the module's documentation.
pub(crate) struct ReadToolOutput {
    spec: ToolSpec,
}

impl ReadToolOutput {
    /// Makes the tool.
    pub(crate) fn new() -> Self {
        let parameters = schema::parameters(
            json!({
                "result_id": {
                    "type": "string",
                    "description": "Id from the notice of the cut result.",
                },
                "start_character": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "First character, from 1. Default 1.",
                },
                "character_count": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Most characters to return. Default a full page.",
                },
            }),
            &["result_id"],
        );
        Self {
            spec: ToolSpec {
                name: "read_tool_output",
                description: DESCRIPTION,
                parameters,
                output: schema::output(json!({
                    "result_id": { "type": "string" },
                    "start_character": { "type": ["integer", "null"] },
                    "end_character": { "type": ["integer", "null"] },
                    "total_characters": { "type": "integer" },
                    "next_start_character": { "type": ["integer", "null"] },
                    "text": { "type": "string" },
                })),
                permission_key: "read",
                resource_argument: None,
                kind: ToolKind::Read,
                approval: ApprovalPolicy::Normal,
                locality: Locality::Local,
                audited: false,
            },
        }
    }
}

#[async_trait]
impl Tool for ReadToolOutput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, call: &Call, _context: &ToolContext) -> String {
        let id = shorten(&one_line(call.text("result_id")), 60);
        match call.integer("start_character") {
            Some(start) if start > 1 => {
                display::title(&format!("Read output {id} from character {start}"))
            }
            _ => display::title(&format!("Read output {id}")),
        }
    }

    fn audit_preview(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        audit::field_count(arguments)
    }

    async fn run(&self, call: &Call, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let id = call.text("result_id").to_owned();
        if !is_result_id(&id) {
            return Err(not_found(&id, "it is no id of a result"));
        }
        let most = page_limit(&context.limits);
        let start = positive(call, "start_character").unwrap_or(1);
        let count = positive(call, "character_count").map_or(most, |count| count.min(most));
        let spill = Arc::clone(&context.spill);
        read_in_background(&context.cancel, move |_| {
            let page = spill.read(&id, start, count).map_err(|error| match error {
                SpillError::NotFound => not_found(&id, &error.to_string()),
                SpillError::Io(_) => {
                    ToolError::failed("io", format!("the result {id} cannot be read: {error}"))
                }
            })?;
            Ok(page_output(&id, spill.session_id(), start, page))
        })
        .await
    }
}

/// A page and its header must fit the bound of a result, since a page that was cut
/// again could never be read.
fn page_limit(limits: &ToolLimits) -> usize {
    let most = limits.result_max_length.unwrap_or(usize::MAX);
    limits
        .page_characters
        .min(most.saturating_sub(HEADER_CHARACTERS))
        .max(1)
}

fn positive(call: &Call, name: &str) -> Option<usize> {
    let number = call.integer(name)?.max(1);
    Some(usize::try_from(number).unwrap_or(usize::MAX))
}

/// Whether a text can be the id of a result, which is part of a file's name.
fn is_result_id(id: &str) -> bool {
    id.starts_with(|first: char| first.is_ascii_alphanumeric())
        && id
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

fn not_found(id: &str, reason: &str) -> ToolError {
    let id = shorten(&one_line(id), 100);
    ToolError::failed(
        "tool_result_not_found",
        format!("tool_result_not_found: \"{id}\": {reason}. Run the tool again"),
    )
}

fn page_output(id: &str, session: &str, start: usize, page: SpillPage) -> ToolOutput {
    let length = page.text.chars().count();
    let total = page.total_characters;
    let shown = (length > 0).then(|| (start, start + length - 1));
    let next = shown
        .map(|(_, last)| last + 1)
        .filter(|next| *next <= total);
    let characters = match shown {
        Some((first, last)) => format!("{first}-{last}"),
        None => "none".to_owned(),
    };
    let content = format!(
        "[read_tool_output result_id={id} session_id={session} characters={characters} \
         total_characters={total} has_more={} next_start_character={}]\n{}",
        next.is_some(),
        next.map_or_else(|| "none".to_owned(), |next| next.to_string()),
        page.text
    );
    ToolOutput {
        value: json!({
            "result_id": id,
            "start_character": shown.map(|(first, _)| first),
            "end_character": shown.map(|(_, last)| last),
            "total_characters": total,
            "next_start_character": next,
            "text": page.text,
        }),
        content,
        ..ToolOutput::default()
    }
}

#[cfg(test)]
#[path = "read_tool_output_tests.rs"]
mod tests;

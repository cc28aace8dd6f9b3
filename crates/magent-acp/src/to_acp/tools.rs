//! Tool calls as rows, updates and questions.

use agent_client_protocol_schema::v1::{
    ContentBlock, PermissionOption, PermissionOptionKind, RequestPermissionRequest, SessionUpdate,
    TextContent, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind as AcpToolKind,
};
use magent_runtime::Catalog;
use magent_types::{ApprovalPolicy, ApprovalView, ItemStatus, ToolKind, ToolView};
use serde_json::{Map, Value, json};

use super::diffs::diff_content;

/// Longer texts in arguments are cut; the model's own copy is not.
const INPUT_LIMIT: usize = 4_000;
/// Longer lines freeze displays.
const LINE_LIMIT: usize = 1_000;

/// The row of a call that is known.
pub(crate) fn tool_call(view: &ToolView, terminal: bool) -> ToolCall {
    let mut call = ToolCall::new(view.call_id.to_string(), view.title.as_str())
        .kind(kind(view.kind))
        .status(status(view.status))
        .locations(locations(view));
    // A plan has an update of its own; clients take one among the arguments for a
    // proposal that waits for approval.
    if view.name != "update_plan" {
        call = call.raw_input(shown_input(view));
    }
    if terminal && view.live_output {
        call.meta(terminal_info(view))
    } else {
        call
    }
}

/// A call that began to run.
pub(crate) fn tool_started(view: &ToolView) -> ToolCallUpdate {
    let fields = ToolCallUpdateFields::new()
        .status(ToolCallStatus::InProgress)
        .title(view.title.clone());
    ToolCallUpdate::new(view.call_id.to_string(), fields)
}

/// A call that ended.  A client that has seen the output in a terminal does not get it
/// again.
pub(crate) fn tool_ended(view: &ToolView, catalog: &Catalog, terminal: bool) -> ToolCallUpdate {
    let shown_live = terminal && view.live_output;
    let mut content: Vec<ToolCallContent> = Vec::new();
    let text = display_text(view, catalog);
    let failed = view.status != ItemStatus::Completed;
    if !text.trim().is_empty() && (!shown_live || failed) {
        let text = if shown_live {
            // The first line says how it ended; the output is in the terminal.
            text.lines().next().unwrap_or_default().to_owned()
        } else {
            text
        };
        content.push(ContentBlock::Text(TextContent::new(text)).into());
    }
    let mut line = None;
    for diff in &view.diffs {
        let (diff, first) = diff_content(diff);
        content.push(diff);
        line = line.or(first);
    }
    let mut fields = ToolCallUpdateFields::new()
        .status(status(view.status))
        .title(view.title.clone());
    if !content.is_empty() {
        fields = fields.content(content);
    }
    let mut locations = locations(view);
    if let Some(first) = locations.first_mut()
        && first.line.is_none()
    {
        first.line = line;
    }
    if !locations.is_empty() {
        fields = fields.locations(locations);
    }
    let update = ToolCallUpdate::new(view.call_id.to_string(), fields);
    if shown_live && let Some(code) = view.exit_code {
        let exit = json!({"terminal_exit": {
            "terminal_id": view.call_id.as_str(), "exit_code": code, "signal": Value::Null}});
        return update.meta(exit.as_object().cloned());
    }
    update
}

/// A piece of a command's output, for clients that append it to a terminal.
pub(crate) fn terminal_output(call_id: String, text: String) -> SessionUpdate {
    let data = json!({"terminal_output": {"terminal_id": call_id, "data": text}});
    let update = ToolCallUpdate::new(call_id, ToolCallUpdateFields::new());
    SessionUpdate::ToolCallUpdate(update.meta(data.as_object().cloned()))
}

/// The output of a running call, whole, for clients without a terminal.
pub(crate) fn tool_output(call_id: &str, text: &str) -> ToolCallUpdate {
    let fields = ToolCallUpdateFields::new()
        .content(vec![ContentBlock::Text(TextContent::new(text)).into()]);
    ToolCallUpdate::new(call_id.to_owned(), fields)
}

/// The question whether a call may run.  It is about the row that is there already, so
/// that dialog and row are one.
pub(crate) fn permission_request(session: &str, view: &ApprovalView) -> RequestPermissionRequest {
    let tool = &view.tool;
    let mut line = None;
    let mut content = Vec::new();
    for diff in &tool.diffs {
        let (diff, first) = diff_content(diff);
        content.push(diff);
        line = line.or(first);
    }
    let mut locations = locations(tool);
    if let Some(first) = locations.first_mut() {
        first.line = line;
    }
    let mut fields = ToolCallUpdateFields::new()
        .title(tool.title.clone())
        .kind(kind(tool.kind))
        .status(ToolCallStatus::Pending)
        .raw_input(shown_input(tool));
    content.extend(whole_command(tool));
    if !content.is_empty() {
        fields = fields.content(content);
    }
    if !locations.is_empty() {
        fields = fields.locations(locations);
    }
    let mut options = vec![PermissionOption::new(
        "allow_once",
        "Allow",
        PermissionOptionKind::AllowOnce,
    )];
    if view.policy == ApprovalPolicy::Normal {
        options.push(PermissionOption::new(
            "allow_always",
            format!("Always allow {}", view.permission_key),
            PermissionOptionKind::AllowAlways,
        ));
    }
    options.push(PermissionOption::new(
        "reject_once",
        "Reject",
        PermissionOptionKind::RejectOnce,
    ));
    let update = ToolCallUpdate::new(tool.call_id.to_string(), fields);
    RequestPermissionRequest::new(session.to_owned(), update, options)
}

/// The text of a call that people see.
pub(super) fn display_text(view: &ToolView, catalog: &Catalog) -> String {
    let text = match catalog.get(&view.name) {
        Some(tool) if view.status == ItemStatus::Completed => tool.display_content(&view.content),
        _ => &view.content,
    };
    magent_runtime::clip_lines(text, LINE_LIMIT)
}

fn terminal_info(view: &ToolView) -> Map<String, Value> {
    let mut meta = Map::new();
    let info = json!({"terminal_id": view.call_id.as_str()});
    meta.insert("terminal_info".into(), info);
    meta
}

fn locations(view: &ToolView) -> Vec<ToolCallLocation> {
    view.locations
        .iter()
        .map(|location| ToolCallLocation::new(&location.path).line(location.line))
        .collect()
}

fn kind(kind: ToolKind) -> AcpToolKind {
    match kind {
        ToolKind::Read => AcpToolKind::Read,
        ToolKind::Edit => AcpToolKind::Edit,
        ToolKind::Delete => AcpToolKind::Delete,
        ToolKind::Move => AcpToolKind::Move,
        ToolKind::Search => AcpToolKind::Search,
        ToolKind::Execute => AcpToolKind::Execute,
        ToolKind::Think => AcpToolKind::Think,
        ToolKind::Fetch => AcpToolKind::Fetch,
        ToolKind::Other => AcpToolKind::Other,
    }
}

/// ACP knows no cancelled calls; for a client they have failed.
fn status(status: ItemStatus) -> ToolCallStatus {
    match status {
        ItemStatus::Pending => ToolCallStatus::Pending,
        ItemStatus::InProgress => ToolCallStatus::InProgress,
        ItemStatus::Completed => ToolCallStatus::Completed,
        ItemStatus::Failed | ItemStatus::Cancelled => ToolCallStatus::Failed,
    }
}

/// The arguments as they are shown.  A command is shown whole, because people decide by
/// it; its length has a limit of its own.
fn shown_input(view: &ToolView) -> Value {
    match view.kind {
        ToolKind::Execute if view.input.is_object() => view.input.clone(),
        _ => bounded_input(&view.input),
    }
}

/// The text of a command of which the title shows only a part.
fn whole_command(view: &ToolView) -> Option<ToolCallContent> {
    let command = view.input.get("command")?.as_str()?;
    if view.kind != ToolKind::Execute || command.trim() == view.title {
        return None;
    }
    let longest = command.split(|c| c != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or_default().max(2) + 1);
    let text = format!("{fence}sh\n{}\n{fence}", command.trim_end());
    Some(ContentBlock::Text(TextContent::new(text)).into())
}

/// The arguments with long texts cut.  What is no object is shown as one.
fn bounded_input(input: &Value) -> Value {
    match input {
        Value::Object(object) => Value::Object(
            object
                .iter()
                .map(|(key, value)| (key.clone(), bounded(value)))
                .collect(),
        ),
        Value::Null => json!({}),
        other => json!({"arguments": bounded(other)}),
    }
}

fn bounded(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let text = magent_runtime::clip_lines(text, LINE_LIMIT);
            match text.char_indices().nth(INPUT_LIMIT) {
                None => text.into(),
                Some((end, _)) => {
                    let more = text.chars().count() - INPUT_LIMIT;
                    format!("{}\n[…{more} more characters]", &text[..end]).into()
                }
            }
        }
        Value::Array(entries) => entries.iter().map(bounded).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (key.clone(), bounded(value)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

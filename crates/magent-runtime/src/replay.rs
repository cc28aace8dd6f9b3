//! A saved conversation as a user interface shows it again.

use magent_ledger::{TranscriptEntry, transcript};
use magent_tools::Catalog;
use magent_types::{
    CallId, FileDiff, Item, ItemStatus, ItemType, PlanEntry, PlanStatus, Role, Thread, ToolKind,
    ToolView,
};
use serde_json::Value;

use crate::ReplayEntry;

/// Everything that is shown again, in its original order.
pub(crate) fn replay(thread: &Thread, catalog: &Catalog) -> Vec<ReplayEntry> {
    transcript(thread)
        .into_iter()
        .filter_map(|entry| match entry {
            TranscriptEntry::Turn(_) => None,
            TranscriptEntry::Item(item) => replay_item(item, catalog),
        })
        .collect()
}

fn replay_item(item: &Item, catalog: &Catalog) -> Option<ReplayEntry> {
    let text = || item.content.clone().unwrap_or_default();
    let id = item.id.clone();
    match item.kind {
        ItemType::Message => Some(match item.role? {
            Role::User => ReplayEntry::User {
                item: id,
                text: text(),
            },
            Role::Assistant => ReplayEntry::Assistant {
                item: id,
                text: text(),
            },
        }),
        ItemType::Reasoning => Some(ReplayEntry::Reasoning {
            item: id,
            text: text(),
        }),
        ItemType::Tool => Some(ReplayEntry::Tool(Box::new(tool_view(item, catalog)))),
        ItemType::Plan => Some(ReplayEntry::Plan(plan_entries(&item.output))),
        ItemType::Notice => Some(ReplayEntry::Notice(text())),
        ItemType::Provider | ItemType::WorkflowStep | ItemType::Sample => None,
    }
}

/// A call as user interfaces show it, made from its item alone.
pub(crate) fn tool_view(item: &Item, catalog: &Catalog) -> ToolView {
    let name = item.name.clone().unwrap_or_default();
    let tool = catalog.get(&name);
    let title = item.metadata.get("title").and_then(Value::as_str);
    let content = item.output_text().map(str::to_owned).or_else(|| {
        let message = item.error.get("message")?.as_str()?;
        Some(message.to_owned())
    });
    ToolView {
        call_id: item
            .call_id
            .clone()
            .unwrap_or_else(|| CallId::new(item.id.as_str())),
        item_id: item.id.clone(),
        kind: tool.map_or(ToolKind::Other, |tool| tool.spec().kind),
        title: title.unwrap_or(&name).to_owned(),
        input: item.input.clone(),
        status: item.status,
        live_output: tool.is_some_and(|tool| tool.has_live_output()),
        content: crate::live::strip_controls(&content.unwrap_or_default()),
        exit_code: item
            .metadata
            .get("exit-code")
            .and_then(Value::as_i64)
            .and_then(|code| i32::try_from(code).ok()),
        diffs: recorded_diff(item, &name).into_iter().collect(),
        locations: Vec::new(),
        name,
    }
}

/// The change that a successful edit made, out of its arguments.
fn recorded_diff(item: &Item, name: &str) -> Option<FileDiff> {
    if item.status != ItemStatus::Completed {
        return None;
    }
    let text = |key: &str| item.input.get(key).and_then(Value::as_str);
    let path = text("path")?.to_owned();
    let (old_text, new_text) = match name {
        "edit_file" => (Some(text("old_text")?.to_owned()), text("new_text")?),
        "write_file" => (None, text("content")?),
        _ => return None,
    };
    // Parts of a file seldom end with a newline; a display would remark on that.
    let whole_lines = |text: &str| match text {
        "" => String::new(),
        text if text.ends_with('\n') => text.to_owned(),
        text => format!("{text}\n"),
    };
    Some(FileDiff {
        path,
        old_text: old_text.map(|text| whole_lines(&text)),
        new_text: whole_lines(new_text),
        line: None,
    })
}

fn plan_entries(output: &Value) -> Vec<PlanEntry> {
    output
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            Some(PlanEntry {
                step: entry.get("step")?.as_str()?.to_owned(),
                status: PlanStatus::parse(entry.get("status")?.as_str()?)?,
            })
        })
        .collect()
}

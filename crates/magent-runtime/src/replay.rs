//! A saved conversation as a user interface shows it again.

use magent_ledger::{TranscriptEntry, transcript};
use magent_tools::Catalog;
use magent_types::{
    CallId, FileDiff, Item, ItemStatus, ItemType, Location, PlanEntry, PlanStatus, Role, Thread,
    ToolKind, ToolView, Turn, TurnStatus, strip_controls,
};
use serde_json::Value;

use crate::ReplayEntry;
use crate::settlement::failure_header;

/// The key in a thread's metadata that tells what a recovered session lacks.
pub(crate) const MISSING: &str = "missing";

/// Everything that is shown again, in its original order.
pub(crate) fn replay(thread: &Thread, catalog: &Catalog) -> Vec<ReplayEntry> {
    let missing = thread.metadata.get(MISSING).and_then(Value::as_str);
    let missing = missing.map(|missing| {
        ReplayEntry::Notice(format!(
            "This was made of what could be read of a damaged session. Missing: {missing}."
        ))
    });
    let turns = thread.turns.iter();
    let turns = turns.flat_map(|turn| replay_turn(turn, catalog));
    missing.into_iter().chain(turns).collect()
}

/// The same of one turn.
pub(crate) fn replay_turn(turn: &Turn, catalog: &Catalog) -> Vec<ReplayEntry> {
    transcript(turn)
        .into_iter()
        .filter_map(|entry| match entry {
            TranscriptEntry::Item(item) => replay_item(item, catalog),
            TranscriptEntry::Unanswered(turn) => Some(ReplayEntry::Notice(unanswered(turn))),
        })
        .collect()
}

/// Why a turn has no answer: without it half an answer would look like a whole one.
fn unanswered(turn: &Turn) -> String {
    let said = turn.error.get("message").and_then(Value::as_str);
    match said.filter(|said| !said.trim().is_empty()) {
        Some(said) if turn.status == TurnStatus::Failed => format!("The turn failed. {said}"),
        Some(said) => said.to_owned(),
        None => format!(
            "The turn ended without an answer ({}).",
            turn.status.as_str()
        ),
    }
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
    let exit_code = recorded_exit_code(item);
    let content = recorded_content(item, exit_code);
    let locations = recorded_locations(item);
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
        content: strip_controls(&content),
        exit_code,
        diffs: recorded_diff(item, &name, &locations).into_iter().collect(),
        locations,
        name,
    }
}

fn recorded_exit_code(item: &Item) -> Option<i32> {
    let failed = item.metadata.get("exit-code").and_then(Value::as_i64);
    let done = || item.output.get("value")?.get("exit_code")?.as_i64();
    i32::try_from(failed.or_else(done)?).ok()
}

/// What the call put out, or why it failed, without the line that is for models.
fn recorded_content(item: &Item, exit_code: Option<i32>) -> String {
    let failure = |key: &str| item.error.get(key).and_then(Value::as_str);
    match (item.output_text(), failure("code")) {
        (Some(text), Some(code)) => {
            let header = failure_header(code, exit_code);
            text.strip_prefix(&header).unwrap_or(text).to_owned()
        }
        (Some(text), None) => text.to_owned(),
        (None, _) => failure("message").unwrap_or_default().to_owned(),
    }
}

fn recorded_locations(item: &Item) -> Vec<Location> {
    let places = item.metadata.get("locations").and_then(Value::as_array);
    places
        .into_iter()
        .flatten()
        .filter_map(|place| {
            let line = place.get("line").and_then(Value::as_u64);
            Some(Location {
                path: place.get("path")?.as_str()?.to_owned(),
                line: line.and_then(|line| u32::try_from(line).ok()),
            })
        })
        .collect()
}

/// The change that a successful edit made, out of its arguments.
fn recorded_diff(item: &Item, name: &str, locations: &[Location]) -> Option<FileDiff> {
    if item.status != ItemStatus::Completed {
        return None;
    }
    let text = |key: &str| item.input.get(key).and_then(Value::as_str);
    let path = match locations.first() {
        Some(place) => place.path.clone(),
        None => text("path")?.to_owned(),
    };
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

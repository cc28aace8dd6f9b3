//! The end of a call: its result bounded, audited and recorded on its own item.
//!
//! These are steps 8 to 10 of the orchestrator, which every call goes through.

use std::sync::Arc;

use magent_tools::{Call, Tool, bound_output};
use magent_types::{
    EventKind, Item, ItemStatus, ItemType, PlanEntry, ToolError, ToolOutput, shorten,
    strip_controls,
};
use serde_json::{Map, Value, json};

use crate::call_audit::audit_call;
use crate::calls::PendingCall;

use crate::turn_context::TurnContext;

/// Steps 8 to 10.
pub(crate) async fn settle(
    turn: &TurnContext,
    mut pending: PendingCall,
    call: Option<(&Arc<dyn Tool>, &Call)>,
    result: Result<ToolOutput, ToolError>,
) {
    let mut plan = None;
    let (status, error) = match result {
        Ok(output) => {
            plan = output.plan.clone().map(|entries| {
                let explanation = output.metadata.get("explanation").and_then(Value::as_str);
                let explanation = explanation.filter(|text| !text.is_empty());
                (entries, explanation.map(str::to_owned))
            });
            complete(turn, &mut pending, output).await;
            (ItemStatus::Completed, Value::Null)
        }
        Err(ToolError::Cancelled) => (
            ItemStatus::Cancelled,
            json!({"code": "cancelled", "message": "The call was cancelled."}),
        ),
        Err(error) => (ItemStatus::Failed, fail(turn, &mut pending, error).await),
    };
    pending.view.status = status;
    if let Some((tool, call)) = call
        && tool.spec().audited
    {
        let length = pending.view.content.chars().count();
        audit_call(turn, tool, call, &pending, "tool-call-end", |record| {
            record.status = Some(status.as_str().to_owned());
            record.result_length = Some(length);
        });
    }
    let item = pending.item.clone();
    turn.record(|ledger, now| match status {
        ItemStatus::Completed => ledger.complete_item(item, now),
        ItemStatus::Cancelled => ledger.cancel_item(item, error, now),
        _ => ledger.fail_item(item, error, now),
    });
    turn.session().flush_later();
    turn.emit(EventKind::ToolComplete(pending.view));
    if let Some((entries, explanation)) = plan {
        record_plan(turn, entries, explanation);
    }
}

async fn complete(turn: &TurnContext, pending: &mut PendingCall, output: ToolOutput) {
    let text = bound(turn, pending, &output.content, false).await;
    let limit = turn.request().config.output_bounds.max_length;
    let value = bounded_value(output.value.clone(), limit);
    pending.item.output = json!({"value": value, "content": text});
    pending.item.metadata.extend(output.metadata);
    pending.view.content = strip_controls(&text);
    pending.view.exit_code = exit_code(&output.value);
    if !output.diffs.is_empty() {
        pending.view.diffs = output.diffs;
    }
    if !output.locations.is_empty() {
        pending.view.locations = output.locations;
    }
}

/// The value as the ledger keeps it: texts that the content does not show whole are cut
/// there too, or one flood of output would be in the session's files for ever.
fn bounded_value(value: Value, limit: Option<usize>) -> Value {
    let Some(limit) = limit else { return value };
    match value {
        Value::String(text) if text.len() > limit => match text.char_indices().nth(limit) {
            Some((end, _)) => format!("{}[…]", &text[..end]).into(),
            None => text.into(),
        },
        Value::Array(entries) => entries
            .into_iter()
            .map(|entry| bounded_value(entry, Some(limit)))
            .collect(),
        Value::Object(object) => object
            .into_iter()
            .map(|(key, entry)| (key, bounded_value(entry, Some(limit))))
            .collect::<Map<_, _>>()
            .into(),
        other => other,
    }
}

fn exit_code(value: &Value) -> Option<i32> {
    i32::try_from(value.get("exit_code")?.as_i64()?).ok()
}

/// Most characters of the message of a failed call.  What a call put out is bounded apart
/// from it.
const LONGEST_MESSAGE: usize = 4_000;

/// What a model reads of a failed call: how it ended, why, and what it had put out.
async fn fail(turn: &TurnContext, pending: &mut PendingCall, error: ToolError) -> Value {
    let (code, message, content, exit_code, metadata) = match error {
        ToolError::Failed {
            code,
            message,
            content,
            exit_code,
            metadata,
        } => (code, message, content, exit_code, metadata),
        ToolError::Fatal(failure) => (
            failure.code,
            failure.message,
            String::new(),
            None,
            Map::new(),
        ),
        ToolError::Cancelled => (
            "cancelled".to_owned(),
            "The call was cancelled.".to_owned(),
            String::new(),
            None,
            Map::new(),
        ),
    };
    let message = shorten(&message, LONGEST_MESSAGE);
    let body = bound(turn, pending, &content, true).await;
    let mut text = failure_header(&code, exit_code);
    text.push_str(&message);
    if !body.is_empty() {
        text.push_str("\n\n");
        text.push_str(&body);
    }
    pending.item.output = json!({"value": Value::Null, "content": text});
    pending.item.metadata.extend(metadata);
    if let Some(code) = exit_code {
        pending
            .item
            .metadata
            .insert("exit-code".into(), code.into());
    }
    pending.view.exit_code = exit_code;
    pending.view.content = strip_controls(&if body.is_empty() {
        message.clone()
    } else {
        format!("{message}\n\n{body}")
    });
    json!({"code": code, "message": message})
}

/// The line that tells a model how a call failed.  People see the message instead.
pub(crate) fn failure_header(code: &str, exit_code: Option<i32>) -> String {
    let exit = exit_code.map_or("unavailable".to_owned(), |code| code.to_string());
    format!("[status=failed exit_code={exit} code={code}]\n")
}

/// Step 8.  A result that cannot be kept is cut all the same; the call does not fail
/// for it.
async fn bound(
    turn: &TurnContext,
    pending: &mut PendingCall,
    content: &str,
    failed: bool,
) -> String {
    let bounds = &turn.request().config.output_bounds;
    let too_long = bounds
        .max_length
        .is_some_and(|most| content.len() > most && content.chars().count() > most);
    // Its pages are within the limit; a shortened page could never be read on.
    if !too_long || pending.view.name == "read_tool_output" {
        return content.to_owned();
    }
    let spilled = spill(turn, content.to_owned()).await;
    let id = match &spilled {
        Ok(id) => Some(id.as_str()),
        Err(problem) => {
            pending
                .item
                .metadata
                .insert("spill-error".into(), problem.as_str().into());
            None
        }
    };
    let bounded = bound_output(content, failed, bounds, id);
    if let Ok(id) = &spilled {
        let facts = json!({
            "result-id": id,
            "original-characters": bounded.original_characters,
            "bytes": content.len(),
        });
        pending.item.metadata.insert("spill".into(), facts);
    }
    bounded.text
}

async fn spill(turn: &TurnContext, text: String) -> Result<String, String> {
    let store = turn.services.spill.clone();
    let session = Arc::clone(&turn.submission.session);
    let settings = turn.request().config.spill;
    tokio::task::spawn_blocking(move || store.put(&session.scope, &session.id, &text, settings))
        .await
        .map_err(|_| "the spill store ended early".to_owned())?
        .map_err(|error| error.to_string())
}

fn record_plan(turn: &TurnContext, entries: Vec<PlanEntry>, explanation: Option<String>) {
    let turn_id = turn.submission.turn_id.clone();
    turn.record(|ledger, now| {
        let mut item = Item::new(turn_id, ItemType::Plan, now);
        item.status = ItemStatus::InProgress;
        item.content.clone_from(&explanation);
        item.output = entries
            .iter()
            .map(|entry| json!({"step": entry.step, "status": entry.status.as_str()}))
            .collect();
        ledger.start_item(item.clone(), now);
        ledger.complete_item(item, now);
    });
    turn.emit(EventKind::PlanUpdate {
        entries,
        explanation,
    });
}

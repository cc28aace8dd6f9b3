//! Tool calls as the runtime keeps them: from what a model wrote to an item of the
//! ledger.

use std::collections::HashSet;
use std::sync::Arc;

use magent_tools::{Call, Tool};
use magent_types::{
    CallId, FileDiff, Item, ItemStatus, ItemType, Location, ModelCall, ToolKind, ToolView, TurnId,
    UnixSeconds, parse_json, short, shorten,
};
use serde_json::{Value, json};

/// Most characters that are kept of a tool's name.
const LONGEST_NAME: usize = 200;

/// A call on its way through the orchestrator.
pub(crate) struct PendingCall {
    /// Its item in the ledger.
    pub(crate) item: Item,
    /// How user interfaces show it.
    pub(crate) view: ToolView,
    /// The arguments as the model wrote them.
    pub(crate) raw_arguments: String,
}

/// A call that passed the checks and may run.
pub(crate) struct ReadyCall {
    pub(crate) pending: PendingCall,
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) call: Call,
}

impl PendingCall {
    /// Gives a model's call its item and its id, which is unique in the session: the
    /// provider's if it is new, one of ours otherwise.
    pub(crate) fn new(
        call: &ModelCall,
        turn_id: &TurnId,
        used: &mut HashSet<String>,
        tool: Option<&Arc<dyn Tool>>,
        now: UnixSeconds,
    ) -> Self {
        let call_id = if call.id.is_empty() || call.id.len() > 200 || used.contains(&call.id) {
            CallId::fresh()
        } else {
            CallId::new(call.id.as_str())
        };
        used.insert(call_id.as_str().to_owned());
        // No tool has such a long name, so nothing is lost but what a model made up.
        let name = shorten(&call.name, LONGEST_NAME);
        let mut item = Item::new(turn_id.clone(), ItemType::Tool, now);
        item.status = ItemStatus::Pending;
        item.name = Some(name.clone());
        item.call_id = Some(call_id.clone());
        item.input = storable_input(&call.arguments);
        let kind = tool.map_or(ToolKind::Other, |tool| tool.spec().kind);
        let view = ToolView {
            call_id,
            item_id: item.id.clone(),
            title: short(&name),
            name,
            kind,
            input: item.input.clone(),
            status: ItemStatus::Pending,
            live_output: tool.is_some_and(|tool| tool.has_live_output()),
            content: String::new(),
            exit_code: None,
            diffs: Vec::new(),
            locations: Vec::new(),
        };
        Self {
            item,
            view,
            raw_arguments: call.arguments.clone(),
        }
    }

    /// Notes what the checked call is about, for the ledger and for display.
    pub(crate) fn describe(&mut self, title: &str, locations: Vec<Location>) {
        let title = short(title);
        self.item
            .metadata
            .insert("title".into(), title.as_str().into());
        let places: Vec<Value> = locations
            .iter()
            .map(|place| json!({"path": place.path, "line": place.line}))
            .collect();
        if !places.is_empty() {
            self.item.metadata.insert("locations".into(), places.into());
        }
        self.view.title = title;
        self.view.locations = locations;
    }

    pub(crate) fn show_diffs(&mut self, diffs: Vec<FileDiff>) {
        self.view.diffs = diffs;
    }
}

/// The arguments as they are kept: the object, or the text if it is none.
///
/// Deeply nested values are kept as text too, because the file that holds them nests
/// them a few levels further and must stay readable.
fn storable_input(raw: &str) -> Value {
    const DEPTH: usize = 64;
    match parse_json(raw) {
        Ok(value @ Value::Object(_)) if depth(&value) <= DEPTH => value,
        _ if raw.trim().is_empty() => Value::Object(serde_json::Map::new()),
        _ => Value::String(raw.to_owned()),
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(entries) => 1 + entries.iter().map(depth).max().unwrap_or(0),
        Value::Object(entries) => 1 + entries.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The ids that a session's ledger already uses.
pub(crate) fn used_call_ids(thread: &magent_types::Thread) -> HashSet<String> {
    thread
        .turns
        .iter()
        .flat_map(|turn| &turn.items)
        .filter_map(|item| item.call_id.as_ref())
        .map(|id| id.as_str().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(id: &str, used: &mut HashSet<String>) -> PendingCall {
        let call = ModelCall {
            id: id.into(),
            name: "grep".into(),
            arguments: "{\"a\":1}".into(),
        };
        PendingCall::new(&call, &"turn-1".into(), used, None, 1.0)
    }

    #[test]
    fn a_providers_id_is_kept_once_and_replaced_when_it_repeats_or_is_missing() {
        let mut used = HashSet::new();
        assert_eq!(pending("call_0", &mut used).view.call_id.as_str(), "call_0");
        let again = pending("call_0", &mut used);
        assert!(again.view.call_id.as_str().starts_with("call-"));
        let nameless = pending("", &mut used);
        assert_ne!(nameless.view.call_id, again.view.call_id);
        assert_eq!(nameless.item.call_id.as_ref(), Some(&nameless.view.call_id));
    }

    #[test]
    fn a_name_that_a_model_made_up_is_kept_in_short_and_titles_are_a_line() {
        let call = ModelCall {
            id: "a".into(),
            name: format!("a\n{}", "b".repeat(2_000_000)),
            arguments: String::new(),
        };
        let mut call = PendingCall::new(&call, &"turn-1".into(), &mut HashSet::new(), None, 1.0);
        let name = call.item.name.clone().unwrap();
        assert!(name.starts_with("a\nb") && name.chars().count() == LONGEST_NAME);
        assert!(call.view.title.starts_with("a b") && call.view.title.chars().count() == 200);
        call.describe(&"long\n".repeat(1_000), Vec::new());
        assert!(call.view.title.starts_with("long long") && call.view.title.chars().count() == 200);
        assert_eq!(call.item.metadata["title"], call.view.title);
    }

    #[test]
    fn arguments_that_are_no_plain_object_are_kept_as_text() {
        assert_eq!(storable_input("{\"a\":1}"), json!({"a": 1}));
        assert_eq!(storable_input(" "), json!({}));
        assert_eq!(storable_input("{\"a\":"), json!("{\"a\":"));
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100), "]".repeat(100));
        assert_eq!(storable_input(&deep), json!(deep));
    }
}

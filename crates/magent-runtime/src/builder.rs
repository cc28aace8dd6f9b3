//! The request builder: everything a model is asked in one epoch, and the header that
//! lets the request be rebuilt from the ledger.

use std::path::PathBuf;
use std::sync::Arc;

use magent_ledger::{HistoryLimit, compaction_request, conversation};
use magent_permission::{Exposure, exposure};
use magent_prompt::{SystemText, assemble, project_instructions, prompt_resource};
use magent_sampling::{Route, SampleRequest, WireTool};
use magent_tools::Tool;
use magent_types::{Failure, SamplingParams, Scope};
use serde_json::{Value, json};

use crate::authorization::{policy_of, read_filter};
use crate::images::read_images;
use crate::models::resolve_route;
use crate::turn_context::TurnContext;

/// Why an epoch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EpochReason {
    /// It is the first of its turn.
    Initial,
    /// Tool results are to be answered.
    ToolResult,
    /// The user said more while the model answered.
    UserMessage,
}

impl EpochReason {
    fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::ToolResult => "tool-result",
            Self::UserMessage => "user-message",
        }
    }
}

/// Where in its turn an epoch stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EpochContext {
    /// Its number, from 1.
    pub(crate) index: u32,
    /// Why it begins.
    pub(crate) reason: EpochReason,
    /// The loop's phase.
    pub(crate) phase: &'static str,
}

/// One epoch, frozen: nothing that changes later changes it.
pub(crate) struct Epoch {
    pub(crate) context: EpochContext,
    pub(crate) request: SampleRequest,
    pub(crate) route: Route,
    pub(crate) header: Value,
    /// The tools that the model was told about, and may therefore call.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
}

/// Builds an epoch: resolves the route, takes the system text, decides which tools are
/// shown, and renders the conversation out of the ledger.
pub(crate) async fn build(turn: &TurnContext, context: EpochContext) -> Result<Epoch, Failure> {
    let request = turn.request();
    let host = &*turn.services.host;
    let continues = context.reason == EpochReason::ToolResult;
    let resolved = resolve_route(host, &request.choice, continues)
        .await
        .map_err(|error| error.to_failure())?;
    let system = turn.system.get_or_init(|| system_text(turn)).await.clone();
    let mut params: SamplingParams = request.params;
    params.temperature = params.temperature.or(resolved.temperature);
    params.max_tokens = params.max_tokens.or(resolved.max_tokens);
    let route = resolved.route;
    let tools = if route.takes_tools() {
        shown_tools(turn)
    } else {
        Vec::new()
    };
    let wire_tools: Vec<WireTool> = tools.iter().map(wire_tool).collect();
    let limit = HistoryLimit {
        max_messages: request.config.max_history,
    };
    let turn_id = &turn.submission.turn_id;
    let conversation = turn.session().read(|state| {
        let thread = state.ledger.thread();
        if request.is_compaction {
            compaction_request(thread, turn_id)
        } else {
            conversation(thread, turn_id, limit)
        }
    });
    let conversation = read_images(turn, &route, conversation).await;
    let header = json!({
        "phase": context.phase,
        "reason": context.reason.as_str(),
        "profile-agent": request.agent.name,
        "route": route.durable(params).to_json(),
        "presentation": "native",
        "effective-tools": tools.iter().map(|tool| tool.spec().name).collect::<Vec<_>>(),
        "system": system,
        "wire-tools": wire_tools.iter().map(WireTool::to_json).collect::<Vec<_>>(),
    });
    let request = SampleRequest {
        model: request.choice.model.clone(),
        system,
        conversation,
        tools: wire_tools,
        params,
        stream: route.stream,
    };
    Ok(Epoch {
        context,
        request,
        route,
        header,
        tools,
    })
}

fn wire_tool(tool: &Arc<dyn Tool>) -> WireTool {
    let spec = tool.spec();
    WireTool {
        name: spec.name.to_owned(),
        description: spec.description.to_owned(),
        parameters: spec.parameters.clone(),
    }
}

/// The tools of the request that the policy does not rule out.
fn shown_tools(turn: &TurnContext) -> Vec<Arc<dyn Tool>> {
    let policy = policy_of(turn);
    turn.request()
        .tools
        .iter()
        .filter(|tool| exposure(&policy, tool.spec().permission_key) == Exposure::Shown)
        .cloned()
        .collect()
}

async fn system_text(turn: &TurnContext) -> String {
    let request = turn.request();
    let bundled = |name: &str| prompt_resource(name, &[]).unwrap_or_default();
    let system = match &request.config.system_prompt {
        Some(text) => text.clone(),
        None => bundled("system.org"),
    };
    assemble(&SystemText {
        system,
        role: request.agent.prompt.clone().unwrap_or_default(),
        project: project_text(turn),
        instructions: instructions(turn).await,
        trust: bundled("trust.org"),
        ..SystemText::default()
    })
}

fn project_text(turn: &TurnContext) -> String {
    let about = &turn.services.about;
    match &turn.session().scope {
        Scope::Global => format!("# Where you work\n\nNo project.\n{about}"),
        Scope::Project(root) => format!(
            "# Where you work\n\nProject root: {root}\nRelative paths start there.\n{about}"
        ),
    }
}

/// Project instructions are read on a thread for slow disks.
async fn instructions(turn: &TurnContext) -> String {
    let request = turn.request();
    let (Some(root), false) = (
        turn.session().scope.root(),
        turn.session().scope.is_remote(),
    ) else {
        return String::new();
    };
    let root = PathBuf::from(root);
    let files = request.files.clone();
    let settings = request.config.instructions.clone();
    let may_read = read_filter(turn);
    tokio::task::spawn_blocking(move || project_instructions(&root, &files, &settings, &*may_read))
        .await
        .unwrap_or_default()
}

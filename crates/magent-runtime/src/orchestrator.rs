//! From a model's call to its recorded result, in this order and no other:
//!
//!  1. resolve the tool among those this epoch offers
//!  2. check the arguments against the tool's schema
//!  3. give the path its identity and freeze it
//!  4. decide by rules, session decisions and policies
//!  5. ask, if the decision is to ask
//!  6. check that the path still has the same identity
//!  7. run
//!  8. bound the result and spill the rest
//!  9. audit
//! 10. record the result on the call's own item
//!
//! Every path through it ends in step 10, so that each call gets exactly one result.
//! Here are steps 1 to 3; 4 and 5 are in `authorization`, 6 and 7 in `execution`, and
//! the rest in `settlement`.

use std::sync::Arc;

use magent_tools::{Call, Resource, Tool, check_arguments, resolve_path};
use magent_types::{ToolError, short};
use serde_json::Value;

use crate::calls::{PendingCall, ReadyCall};
use crate::execution::tool_context;
use crate::settlement::settle;
use crate::turn_context::TurnContext;

/// Steps 1 to 3.  A call that fails them is settled and `None` returned.
pub(crate) async fn check(
    turn: &TurnContext,
    tools: &[Arc<dyn Tool>],
    mut pending: PendingCall,
) -> Option<ReadyCall> {
    let prepared = prepare(turn, tools, &mut pending).await;
    turn.announce(&pending.view);
    match prepared {
        Ok((tool, call)) => Some(ReadyCall {
            pending,
            tool,
            call,
        }),
        Err(error) => {
            settle(turn, pending, None, Err(error)).await;
            None
        }
    }
}

async fn prepare(
    turn: &TurnContext,
    tools: &[Arc<dyn Tool>],
    pending: &mut PendingCall,
) -> Result<(Arc<dyn Tool>, Call), ToolError> {
    let name = pending.view.name.clone();
    let tool = tools.iter().find(|tool| tool.spec().name == name);
    let Some(tool) = tool else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name).collect();
        return Err(ToolError::failed(
            "unknown_tool",
            format!(
                "There is no tool named {name:?} here. Available: {}.",
                names.join(", ")
            ),
        ));
    };
    let (arguments, reason) = check_arguments(tool.spec(), &pending.raw_arguments)
        .map_err(|error| ToolError::failed("bad_arguments", format!("{name}: {error}.")))?;
    if let Some(reason) = reason {
        pending
            .item
            .metadata
            .insert("reason".into(), short(&reason).into());
    }
    let resource = match tool.spec().resource_argument {
        None => None,
        Some(argument) => {
            let given = arguments.get(argument).and_then(Value::as_str);
            Some(resolve(turn, given.unwrap_or_default()).await?)
        }
    };
    let call = Call {
        arguments,
        resource,
    };
    let context = tool_context(turn, None);
    pending.describe(&tool.title(&call, &context), tool.locations(&call));
    // A call that is cancelled while it waits is shown from what the ledger has.
    turn.record(|ledger, now| ledger.start_item(pending.item.clone(), now));
    tool.check(&call, &context)?;
    Ok((Arc::clone(tool), call))
}

/// Step 3: reading links may touch a slow disk, so it runs on a thread for that.
pub(crate) async fn resolve(turn: &TurnContext, given: &str) -> Result<Resource, ToolError> {
    let context = tool_context(turn, None);
    let text = given.to_owned();
    let resolved = tokio::task::spawn_blocking(move || {
        resolve_path(
            &text,
            &context.base_directory(),
            context.home.as_deref(),
            &context.scope,
        )
    });
    match resolved.await {
        Ok(Ok(resource)) => Ok(resource),
        Ok(Err(error)) => Err(ToolError::Failed {
            code: "canonicalization-deny".to_owned(),
            message: format!("Access denied: {error} ({:?}).", short(given)),
            content: String::new(),
            exit_code: None,
            metadata: [("approval-source".to_owned(), "canonicalization-deny".into())]
                .into_iter()
                .collect(),
        }),
        Err(_) => Err(internal("the path check ended early")),
    }
}

/// The failure of a call by a bug of ours.
pub(crate) fn internal(problem: &str) -> ToolError {
    ToolError::failed("internal", format!("A bug in Magent: {problem}."))
}

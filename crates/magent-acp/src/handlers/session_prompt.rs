//! `session/prompt` and `session/cancel`.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{Error, PromptRequest, PromptResponse, StopReason};
use magent_runtime::{ApprovalMode, SubmitRequest, ToolSelection};
use magent_types::{
    Failure, FailureKind, ItemId, SessionId, SubmissionId, TurnOutcome, TurnStatusKind,
};
use serde_json::{Map, Value};

use crate::commands;
use crate::connection::Connection;
use crate::error::{bad_params, failure_error, runtime_error};
use crate::from_acp::prompt_of;
use crate::handlers::session_options::refresh_options;
use crate::methods::{Handled, read, write};
use crate::outgoing::{TextPiece, TextTarget};
use crate::rpc::response;
use crate::to_acp::updates::prompt_usage;

/// Accepts a prompt; its answer comes when its turn has ended, exactly once.
pub(crate) async fn session_prompt(
    connection: &Arc<Connection>,
    number: u64,
    id: &Value,
    params: Value,
) -> Handled {
    match accept(connection, number, id, params).await {
        Ok(handled) => handled,
        Err(error) => Handled::Answer(Err(error)),
    }
}

async fn accept(
    connection: &Arc<Connection>,
    number: u64,
    id: &Value,
    params: Value,
) -> Result<Handled, Error> {
    let request: PromptRequest = read(params)?;
    let session = connection.check_bound(&request.session_id.0)?;
    let input = prompt_of(request.prompt)?;
    refresh_options(connection, &session);
    let answer = commands::answer(
        &connection.runtime,
        &session,
        &connection.config(),
        &input.words(),
    );
    if let Some(answer) = answer {
        let text = answer.map_err(|error| runtime_error(&error))?;
        return tell(connection, &session, text).map(|answer| Handled::Answer(Ok(answer)));
    }
    let submission = SubmissionId::fresh();
    connection.own(submission.clone());
    let submitted = connection
        .runtime
        .submit(SubmitRequest {
            id: submission.clone(),
            session_id: session.clone(),
            input,
            tools: ToolSelection::All,
            agent: None,
            model: None,
            approval: ApprovalMode::Ask,
            config: connection.config(),
            metadata: Map::new(),
        })
        .await;
    let submitted = submitted.map_err(|error| {
        connection.disown(&submission);
        runtime_error(&error)
    })?;
    // The client may have cancelled, or gone, while the prompt was on its way in.
    if connection.was_cancelled_after(&session, number) || connection.is_closed() {
        connection.runtime.cancel_submission(&submission);
    }
    let connection = Arc::clone(connection);
    let id = id.clone();
    tokio::spawn(async move {
        let answer = match submitted.outcome.await {
            Ok(outcome) => prompt_answer(&outcome),
            Err(_) => Err(failure_error(&Failure::new(
                FailureKind::Internal,
                "lost",
                "A bug in Magent lost the end of this turn.",
            ))),
        };
        connection.disown(&submission);
        connection.sender.message(response(id, answer));
    });
    Ok(Handled::Later)
}

/// A turn that failed is an error, except where the protocol has a stop reason for it.
fn prompt_answer(outcome: &TurnOutcome) -> Result<Value, Error> {
    let code = outcome
        .failure
        .as_ref()
        .map(|failure| failure.code.as_str());
    let stop = match (outcome.status, code) {
        (TurnStatusKind::Completed, _) => StopReason::EndTurn,
        (TurnStatusKind::Cancelled, _) => StopReason::Cancelled,
        (TurnStatusKind::Failed, Some("max-tokens")) => StopReason::MaxTokens,
        (TurnStatusKind::Failed, Some("refusal")) => StopReason::Refusal,
        (TurnStatusKind::Failed, Some("sampling-limit")) => StopReason::MaxTurnRequests,
        (TurnStatusKind::Failed, _) => {
            return Err(match &outcome.failure {
                Some(failure) => failure_error(failure),
                None => bad_params("The turn failed."),
            });
        }
    };
    write(&PromptResponse::new(stop).usage(prompt_usage(outcome.usage)))
}

/// Answers a prompt with a text, without a model.
fn tell(connection: &Connection, session: &SessionId, text: String) -> Result<Value, Error> {
    connection.sender.text(TextPiece {
        session: session.as_str().to_owned(),
        target: TextTarget::Message(ItemId::fresh().as_str().to_owned()),
        text,
    });
    write(&PromptResponse::new(StopReason::EndTurn))
}

pub(crate) fn session_cancel(connection: &Connection, number: u64, params: &Value) {
    if let Some(session) = params.get("sessionId").and_then(Value::as_str) {
        connection.cancel(session, number);
    }
}

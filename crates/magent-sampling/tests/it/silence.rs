//! How long a silent server is waited for, and one that only shows that it is alive.

use std::time::Duration;

use magent_sampling::ProviderError;
use magent_testkit::{ChatStream, Reply, ScriptedServer, Step};
use magent_types::{Dialect, ModelEvent};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::transport::{route, said, sample};

const LIMIT: Duration = Duration::from_millis(200);

/// E22: a server that goes silent while the connection stays open.
#[tokio::test]
async fn silence_ends_the_request_and_keep_alives_do_not_count_as_silence() {
    let silent = Reply::stream(&ChatStream::new().text("a")).step(Step::Hang);
    let server = ScriptedServer::start([silent]).await;
    let cancel = CancellationToken::new();
    let (events, result) = sample(&route(&server.url()), LIMIT, &cancel).await;
    assert_eq!(said(&events), "a");
    assert!(
        matches!(
            result,
            Err(ProviderError::Silent {
                kept_alive: false,
                ..
            })
        ),
        "{result:?}"
    );

    let mut slow = Reply::new(200, "text/event-stream");
    for _ in 0..6 {
        slow = slow
            .step(Step::Wait(Duration::from_millis(100)))
            .step(Step::Send(b": still here\n\n".to_vec()));
    }
    let slow = slow.step(Step::Send(ChatStream::answer("late").bytes("\n")));
    let server = ScriptedServer::start([slow]).await;
    let (events, result) = sample(&route(&server.url()), LIMIT, &cancel).await;
    result.unwrap();
    assert_eq!(said(&events), "late");
}

/// Sends a piece again and again, a quarter of the limit apart, for seven times the limit.
fn repeated(content_type: &str, piece: &str) -> Reply {
    let mut reply = Reply::new(200, content_type);
    for _ in 0..28 {
        reply = reply
            .step(Step::Send(piece.as_bytes().to_vec()))
            .step(Step::Wait(LIMIT / 4));
    }
    reply
}

async fn answer(
    dialect: Dialect,
    reply: Reply,
) -> (Vec<ModelEvent>, Result<(), ProviderError>, Duration) {
    let server = ScriptedServer::start([reply]).await;
    let mut route = route(&server.url());
    route.dialect = dialect;
    let begun = Instant::now();
    let (events, result) = sample(&route, LIMIT, &CancellationToken::new()).await;
    (events, result, begun.elapsed())
}

#[tokio::test]
async fn what_says_nothing_of_the_answer_extends_the_wait_only_so_far() {
    let usage = r#"data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
    let mut cases = JoinSet::new();
    for (dialect, content_type, piece) in [
        (
            Dialect::OpenAiChat,
            "text/event-stream",
            ": PROCESSING\n\n".to_owned(),
        ),
        (Dialect::OpenAiChat, "text/event-stream", "\n".to_owned()),
        (
            Dialect::OpenAiChat,
            "text/event-stream",
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"}}]}\n\n".to_owned(),
        ),
        (
            Dialect::OpenAiChat,
            "text/event-stream",
            format!("{usage}\n\n"),
        ),
        (Dialect::OpenAiChat, "application/json", "\n ".to_owned()),
        (
            Dialect::Anthropic,
            "text/event-stream",
            "event: ping\ndata: {\"type\":\"ping\"}\n\n".to_owned(),
        ),
        (
            Dialect::OpenAiResponses,
            "text/event-stream",
            "data: {\"type\":\"response.in_progress\",\"response\":{}}\n\n".to_owned(),
        ),
        (
            Dialect::Ollama,
            "application/x-ndjson",
            "{\"message\":{\"content\":\"\"},\"done\":false}\n".to_owned(),
        ),
    ] {
        cases.spawn(async move {
            let reply = repeated(content_type, &piece);
            let (_, result, time) = answer(dialect, reply).await;
            (piece, result, time)
        });
    }
    while let Some(case) = cases.join_next().await {
        let (piece, result, time) = case.unwrap();
        let error = result.unwrap_err();
        assert!(
            matches!(
                error,
                ProviderError::Silent {
                    kept_alive: true,
                    ..
                }
            ),
            "{piece:?}: {error:?}"
        );
        assert!(time >= LIMIT * 5 && time < LIMIT * 7, "{piece:?}: {time:?}");
        let text = error.to_failure("Mock", "m").full_text();
        assert!(text.contains("5 times the limit of 0 s"), "{text}");
        assert!(text.contains("magent-request-timeout"), "{text}");
    }
}

/// A model that writes a whole file into a call takes its time, and shows nothing.
#[tokio::test]
async fn pieces_of_a_call_are_part_of_the_answer() {
    let begun = |dialect| match dialect {
        Dialect::Anthropic => json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "tool_use", "id": "a", "name": "t", "input": {}}}),
        Dialect::OpenAiResponses => json!({"type": "response.output_item.added",
            "output_index": 0, "item": {"type": "function_call", "id": "a", "name": "t"}}),
        _ => json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a",
            "function": {"name": "t", "arguments": ""}}]}}]}),
    };
    let piece = |dialect| match dialect {
        Dialect::Anthropic => json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": " "}}),
        Dialect::OpenAiResponses => json!({"type": "response.function_call_arguments.delta",
            "output_index": 0, "item_id": "a", "delta": " "}),
        _ => json!({"choices": [{"delta": {"tool_calls": [{"index": 0,
            "function": {"arguments": " "}}]}}]}),
    };
    let mut cases = JoinSet::new();
    for dialect in [
        Dialect::OpenAiChat,
        Dialect::Anthropic,
        Dialect::OpenAiResponses,
    ] {
        let mut reply = Reply::new(200, "text/event-stream").step(Step::Send(
            format!("data: {}\n\n", begun(dialect)).into_bytes(),
        ));
        for _ in 0..28 {
            reply = reply
                .step(Step::Send(
                    format!("data: {}\n\n", piece(dialect)).into_bytes(),
                ))
                .step(Step::Wait(LIMIT / 4));
        }
        cases.spawn(async move { (dialect, answer(dialect, reply).await) });
    }
    while let Some(case) = cases.join_next().await {
        let (dialect, (_, result, time)) = case.unwrap();
        // The stream ends without the end of its answer.
        assert!(
            matches!(result, Err(ProviderError::Truncated { .. })),
            "{dialect:?}: {result:?}"
        );
        assert!(time >= LIMIT * 7, "{dialect:?}: {time:?}");
    }
}

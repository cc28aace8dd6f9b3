//! Every way in which a server can answer, refuse, break off or fall silent.

use std::time::{Duration, Instant};

use magent_sampling::{
    HttpSampler, ProviderError, Route, SampleLimits, SampleRequest, Sampler, Secret,
};
use magent_testkit::{ChatStream, Reply, ScriptedServer, Step};
use magent_types::{ConversationEntry, Dialect, ModelEvent, SamplingParams, StopReason};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::play;

const KEY: &str = "sk-very-secret-key";

pub(crate) fn route(url: &str) -> Route {
    Route {
        backend: "Mock".into(),
        headers: vec![("Authorization".into(), Secret::new(format!("Bearer {KEY}")))],
        ..play::route(Dialect::OpenAiChat, "m", url)
    }
}

fn request() -> SampleRequest {
    SampleRequest {
        model: "m".into(),
        system: String::new(),
        conversation: vec![ConversationEntry::User("héllo".into())],
        tools: Vec::new(),
        params: SamplingParams::default(),
        stream: true,
    }
}

pub(crate) async fn sample(
    route: &Route,
    inactivity: Duration,
    cancel: &CancellationToken,
) -> (Vec<ModelEvent>, Result<(), ProviderError>) {
    let (sender, mut receiver) = mpsc::channel(64);
    let limits = SampleLimits {
        inactivity: Some(inactivity),
    };
    let sampler = HttpSampler::new();
    let request = request();
    let collect = async {
        let mut events = Vec::new();
        while let Some(event) = receiver.recv().await {
            events.push(event);
        }
        events
    };
    let (result, events) = tokio::join!(
        sampler.sample(route, &request, limits, cancel, sender),
        collect
    );
    (events, result)
}

async fn answer(reply: Reply) -> (Vec<ModelEvent>, Result<(), ProviderError>) {
    let server = ScriptedServer::start([reply]).await;
    let cancel = CancellationToken::new();
    sample(&route(&server.url()), Duration::from_secs(5), &cancel).await
}

pub(crate) fn said(events: &[ModelEvent]) -> String {
    events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::TextDelta(text) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_stream_is_read_and_the_key_sent() {
    let server = ScriptedServer::start([Reply::answer("hi 漢")]).await;
    let cancel = CancellationToken::new();
    let (events, result) = sample(&route(&server.url()), Duration::from_secs(5), &cancel).await;
    result.unwrap();
    assert_eq!(said(&events), "hi 漢");
    assert_eq!(
        events.last(),
        Some(&ModelEvent::Completed(StopReason::EndTurn))
    );
    let request = &server.requests()[0];
    assert_eq!(
        request.header("authorization"),
        Some("Bearer sk-very-secret-key")
    );
    assert_eq!(request.messages()[0]["content"], "héllo");
}

#[tokio::test]
async fn a_stream_in_single_bytes_with_a_pause_inside_a_character_is_read() {
    let stream = ChatStream::answer("•🚀");
    let mut reply = Reply::new(200, "text/event-stream; charset=utf-8");
    for byte in stream.bytes("\r\n") {
        reply = reply.step(Step::Send(vec![byte]));
        if byte > 0xf0 {
            reply = reply.step(Step::Wait(Duration::from_millis(20)));
        }
    }
    let (events, result) = answer(reply).await;
    result.unwrap();
    assert_eq!(said(&events), "•🚀");
}

#[tokio::test]
async fn one_json_body_where_a_stream_was_asked_for_is_read() {
    let body = json!({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]});
    let (events, result) = answer(Reply::json(200, &body)).await;
    result.unwrap();
    assert_eq!(said(&events), "whole");
}

#[tokio::test]
async fn lines_and_events_of_other_protocols_are_read_wherever_they_are_cut() {
    let lines = "{\"message\":{\"content\":\"漢\"},\"done\":false}\n\
        {\"message\":{\"content\":\"!\"},\"done\":true,\"done_reason\":\"stop\"}\n";
    let events = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"漢\"}]}}]}\r\n\r\n\
        data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"!\"}]},\
        \"finishReason\":\"STOP\"}]}\r\n\r\n";
    for (dialect, content_type, answer) in [
        (Dialect::Ollama, "application/x-ndjson", lines),
        (Dialect::Gemini, "text/event-stream", events),
    ] {
        let mut reply = Reply::new(200, content_type);
        for byte in answer.bytes() {
            reply = reply.step(Step::Send(vec![byte]));
        }
        // Gemini's end is that of the connection, Ollama's is in the last line.
        let server = ScriptedServer::start([match dialect {
            Dialect::Ollama => reply.step(Step::Hang),
            _ => reply,
        }])
        .await;
        let mut route = route(&server.url());
        route.dialect = dialect;
        let cancel = CancellationToken::new();
        let (events, result) = sample(&route, Duration::from_secs(5), &cancel).await;
        assert_eq!(result, Ok(()));
        assert_eq!(said(&events), "漢!");
    }
}

/// E70, C65: each refusal names its cause and carries no key, even if the server echoes it.
#[tokio::test]
async fn refusals_are_told_with_status_message_and_hint_and_without_the_key() {
    let cases = [
        (
            Reply::json(
                401,
                &json!({"error": {"message": format!("bad key {KEY}"), "code": "invalid_api_key"}}),
            ),
            "unauthorized",
            "HTTP 401, invalid_api_key",
        ),
        (
            Reply::json(429, &json!({"error": {"message": "slow down"}}))
                .header("Retry-After", "7"),
            "rate-limited",
            "Slow down.",
        ),
        (
            Reply::new(500, "text/html").step(Step::Send(
                format!("<html><head><title>Oops</title></head>Authorization: Bearer {KEY}</html>")
                    .into_bytes(),
            )),
            "server-error",
            "a web page titled \"Oops\"",
        ),
        (
            Reply::json(404, &json!({"detail": "no such model"})),
            "not-found",
            "No such model.",
        ),
        (
            Reply::new(503, "text/plain"),
            "server-error",
            "No further information.",
        ),
        (
            Reply::json(
                400,
                &json!([{"error": {"message": "array", "status": "INVALID"}}]),
            ),
            "http-error",
            "HTTP 400, INVALID",
        ),
        (
            Reply::json(
                400,
                &json!({"error": {"code": 400, "message": "unknown name \"x\"",
                    "status": "INVALID_ARGUMENT"}}),
            ),
            "http-error",
            "HTTP 400, INVALID_ARGUMENT): Unknown name \"x\".",
        ),
        (
            Reply::json(
                500,
                &json!({"error": {"message": "\u{1b}[2J\u{1b}]0;title\u{7}"}}),
            ),
            "server-error",
            "(HTTP 500): No further information.",
        ),
        (
            Reply::new(502, "text/html").step(Step::Send(
                b"<title>\x1b]52;c;ZXZpbA==\x07</title>\x1b[31mBad gateway".to_vec(),
            )),
            "server-error",
            "(HTTP 502): Bad gateway.",
        ),
        (
            Reply::json(404, &json!({"error": "model 'x' not found"})),
            "not-found",
            "Model 'x' not found.",
        ),
    ];
    for (reply, code, part) in cases {
        let (_, result) = answer(reply).await;
        let failure = result.unwrap_err().to_failure("Mock", "m");
        assert_eq!(failure.code, code);
        let text = failure.full_text();
        assert!(text.to_lowercase().contains(&part.to_lowercase()), "{text}");
        assert!(failure.hint.is_some());
        assert!(
            !text.contains(KEY) && !format!("{failure:?}").contains(KEY),
            "{text}"
        );
    }
}

/// Without a key there is none to check.
#[tokio::test]
async fn a_refusal_without_a_key_says_that_none_was_found() {
    let server = ScriptedServer::start([Reply::json(401, &json!({"error": "no"}))]).await;
    let mut keyless = route(&server.url());
    keyless.headers.clear();
    let cancel = CancellationToken::new();
    let (_, result) = sample(&keyless, Duration::from_secs(5), &cancel).await;
    let failure = result.unwrap_err().to_failure("Mock", "m");
    let hint = failure.hint.unwrap();
    assert!(
        hint.contains("No API key was found for backend Mock"),
        "{hint}"
    );
}

#[tokio::test]
async fn an_error_in_the_stream_loses_the_key_it_echoes() {
    let stream = ChatStream::new()
        .text("par")
        .raw(json!({"error": {"message": format!("key {KEY} expired")}}).to_string());
    let (events, result) = answer(Reply::stream(&stream)).await;
    assert_eq!(said(&events), "par");
    let error = result.unwrap_err().to_string();
    assert_eq!(error, "key <redacted> expired");
}

#[tokio::test]
async fn an_unreachable_server_is_told_by_host_and_cause() {
    // Bound and closed again, so that nothing listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .unwrap()
        .port();
    let cancel = CancellationToken::new();
    let url = format!("http://127.0.0.1:{port}/v1?key={KEY}");
    let (_, result) = sample(&route(&url), Duration::from_secs(5), &cancel).await;
    let failure = result.unwrap_err().to_failure("Mock", "m");
    assert_eq!(failure.code, "unreachable");
    let text = failure.full_text();
    assert!(text.contains(&format!("127.0.0.1:{port}")), "{text}");
    assert!(text.contains("refused"), "{text}");
    assert!(!text.contains(KEY), "{text}");
}

#[tokio::test]
async fn a_connection_that_breaks_is_a_truncated_stream_unless_the_answer_was_whole() {
    let half = Reply::stream(&ChatStream::new().text("half")).step(Step::Break);
    let (events, result) = answer(half).await;
    assert_eq!(said(&events), "half");
    assert!(matches!(result, Err(ProviderError::Truncated { .. })));
    let whole = Reply::stream(&ChatStream::new().text("all").finish("stop")).step(Step::Break);
    let (events, result) = answer(whole).await;
    assert_eq!(said(&events), "all");
    result.unwrap();
    let (_, nothing) = answer(Reply::new(200, "text/event-stream")).await;
    assert!(matches!(nothing, Err(ProviderError::Truncated { .. })));
}

#[tokio::test]
async fn a_page_or_an_empty_body_is_no_answer() {
    let page = Reply::new(200, "text/html").step(Step::Send(b"<html>login</html>".to_vec()));
    let (_, result) = answer(page).await;
    assert!(
        matches!(result, Err(ProviderError::Protocol { .. })),
        "{result:?}"
    );
    let (_, result) = answer(Reply::new(200, "application/json")).await;
    assert!(
        matches!(result, Err(ProviderError::Protocol { .. })),
        "{result:?}"
    );
}

#[tokio::test]
async fn a_cancel_closes_the_connection_at_once() {
    for reply in [
        Reply::new(200, "text/event-stream").step(Step::Hang),
        Reply::stream(&ChatStream::new().text("a")).step(Step::Hang),
    ] {
        let server = ScriptedServer::start([reply]).await;
        let cancel = CancellationToken::new();
        let trigger = cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            trigger.cancel();
        });
        let begun = Instant::now();
        let (_, result) = sample(&route(&server.url()), Duration::from_secs(30), &cancel).await;
        assert_eq!(result, Err(ProviderError::Cancelled));
        assert!(begun.elapsed() < Duration::from_secs(5));
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(server.clients_gone(), 1);
    }
}

#[tokio::test]
async fn routes_that_cannot_work_are_refused_before_anything_is_sent() {
    let cancel = CancellationToken::new();
    let mut bad = route("http://127.0.0.1:9/");
    bad.headers = vec![("X-Key".into(), Secret::new("line\nbreak-secret"))];
    let mut misplaced = route("http://127.0.0.1:9/");
    misplaced.headers = vec![("a secret: here".into(), Secret::new(""))];
    for route in [route("no url"), bad, misplaced] {
        let (_, result) = sample(&route, Duration::from_secs(5), &cancel).await;
        let Err(ProviderError::Route(problem)) = result else {
            panic!("{result:?}");
        };
        assert!(
            problem.contains("Mock") && !problem.contains("secret"),
            "{problem}"
        );
    }
}

//! Everything that can go wrong ends the turn with one honest outcome and leaves the
//! next prompt working.

use std::sync::Arc;
use std::time::Duration;

use magent_testkit::{ChatStream, Reply, Step};
use magent_types::{EventKind, StopReason, TurnOutcome, TurnStatusKind};
use parking_lot::Mutex;
use serde_json::json;

use crate::support::{World, read_args, shapes};

/// Runs a prompt that is to fail, then one that is to work.
async fn fails(world: &World, code: &str) -> TurnOutcome {
    let outcome = world.turn("go").await;
    assert_eq!(outcome.status, TurnStatusKind::Failed, "{outcome:?}");
    let failure = outcome.failure.clone().unwrap();
    assert_eq!(failure.code, code, "{failure:?}");
    assert!(!failure.full_text().contains("sk-secret-key"));
    world.server.push(Reply::answer("works again"));
    let next = world.turn("again").await;
    assert_eq!(next.text, "works again");
    world.server.requests().last().unwrap().check_calls();
    outcome
}

#[tokio::test]
async fn refusals_by_the_provider() {
    let world = World::new([Reply::json(401, &json!({"error": {"message": "bad key"}}))]).await;
    fails(&world, "unauthorized").await;
    world
        .server
        .push(Reply::json(429, &json!({"error": {"message": "slow"}})));
    fails(&world, "rate-limited").await;
    let page = Reply::new(500, "text/html").step(Step::Send(b"<html>oops</html>".to_vec()));
    world.server.push(page);
    let outcome = fails(&world, "server-error").await;
    assert!(outcome.failure.unwrap().message.contains("HTTP 500"));
}

/// Case 67.
#[tokio::test]
async fn a_stream_cut_before_any_text_is_asked_for_again_with_the_same_input() {
    let cut = || Reply::stream(&ChatStream::new().reasoning("hm")).step(Step::Break);
    let world = World::new([
        Reply::calling("c1", "read_file", &read_args("a.txt")),
        cut(),
        cut(),
        Reply::answer("third time"),
    ])
    .await;
    world.project.write("a.txt", "x\n");
    let outcome = world.turn("go").await;
    assert_eq!(outcome.text, "third time");
    let requests = world.server.requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(requests[1].body, requests[3].body);
    assert_eq!(
        shapes(&world.saved_items()),
        [
            "message completed",
            "sample completed",
            "tool completed",
            "sample completed",
            "reasoning failed",
            "notice completed",
            "reasoning failed",
            "notice completed",
            "message completed final",
        ]
    );
    assert_eq!(world.saved_items()[3].metadata["attempts"], 3);
}

#[tokio::test]
async fn a_stream_that_keeps_breaking_fails_after_the_last_retry() {
    let cut = || Reply::new(200, "text/event-stream").step(Step::Break);
    let world = World::new([cut(), cut(), cut()]).await;
    fails(&world, "stream-truncated").await;
    assert_eq!(world.server.requests().len(), 4);
}

#[tokio::test]
async fn a_stream_cut_after_text_keeps_the_text_and_is_not_asked_for_again() {
    let world =
        World::new([Reply::stream(&ChatStream::new().text("half")).step(Step::Break)]).await;
    fails(&world, "stream-truncated").await;
    assert_eq!(world.server.requests().len(), 2);
    let requests = world.server.requests();
    let history = requests[1].body["messages"].to_string();
    assert!(history.contains("half"), "{history}");
}

#[tokio::test]
async fn silence_ends_the_turn() {
    let silent = Reply::stream(&ChatStream::new().text("a")).step(Step::Hang);
    let mut world = World::new([silent]).await;
    world.config.request_timeout = Some(Duration::from_millis(150));
    fails(&world, "timeout").await;
}

/// Case 48.
#[tokio::test]
async fn an_empty_answer_fails_without_a_second_request() {
    let empty = ChatStream::new()
        .reasoning("only thoughts")
        .finish("stop")
        .done();
    let world = World::new([Reply::stream(&empty)]).await;
    let outcome = fails(&world, "empty-completion").await;
    assert_eq!(outcome.text, "");
    assert_eq!(world.server.requests().len(), 2);
}

#[tokio::test]
async fn an_error_inside_the_stream_and_token_limits_and_refusals() {
    let error = ChatStream::new()
        .text("par")
        .raw(r#"{"error":{"message":"overloaded"}}"#);
    let world = World::new([Reply::stream(&error)]).await;
    fails(&world, "provider-error").await;
    let cut = ChatStream::new().text("long").finish("length").done();
    world.server.push(Reply::stream(&cut));
    let outcome = fails(&world, "max-tokens").await;
    assert_eq!(outcome.stop, Some(StopReason::MaxTokens));
    let refused = ChatStream::new().text("no").finish("content_filter").done();
    world.server.push(Reply::stream(&refused));
    let outcome = fails(&world, "refusal").await;
    assert_eq!(outcome.stop, Some(StopReason::Refusal));
}

/// Case 41, E54: what the model gets wrong is told to the model, and the turn goes on.
#[tokio::test]
async fn unknown_tools_and_bad_arguments_are_told_to_the_model() {
    let half = ChatStream::new()
        .delta(&json!({"tool_calls": [{"index": 0, "id": "c2", "function":
            {"name": "read_file", "arguments": "{\"path\": \"a"}}]}))
        .finish("tool_calls")
        .done();
    let world = World::new([
        Reply::calling("c1", "no_such_tool", &json!({})),
        Reply::stream(&half),
        Reply::calling("c3", "read_file", &json!({"path": 1, "extra": true})),
        Reply::calling("c4", "read_file", &json!({})),
        Reply::answer("I see"),
    ])
    .await;
    assert_eq!(world.turn("go").await.text, "I see");
    let results = world.results();
    assert!(results[0].contains("no_such_tool") && results[0].contains("read_file"));
    assert!(results[1].contains("not valid JSON"), "{}", results[1]);
    assert!(results[2].contains("bad_arguments"), "{}", results[2]);
    assert!(results[3].contains("missing properties"), "{}", results[3]);
}

#[tokio::test]
async fn a_provider_that_names_a_time_is_asked_again_then_and_one_that_names_none_is_not() {
    let busy = |status: u16, wait: &str| {
        Reply::json(status, &json!({"error": {"message": "busy"}})).header("Retry-After", wait)
    };
    let world = World::new([busy(429, "0"), busy(503, "1"), Reply::answer("at last")]).await;
    assert_eq!(world.turn("go").await.text, "at last");
    let requests = world.server.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0].body, requests[2].body);
    assert_eq!(
        shapes(&world.saved_items()),
        [
            "message completed",
            "sample completed",
            "notice completed",
            "notice completed",
            "message completed final",
        ]
    );
    world.server.push(busy(429, "3600"));
    fails(&world, "rate-limited").await;
    // Three refusals are one too many.
    for _ in 0..3 {
        world.server.push(busy(503, "0"));
    }
    fails(&world, "server-error").await;
}

#[tokio::test]
async fn attempts_count_as_requests() {
    let cut = || Reply::stream(&ChatStream::new().reasoning("hm")).step(Step::Break);
    let mut world = World::new([cut(), cut()]).await;
    world.config.max_sampling_requests = Some(2);
    let outcome = world.turn("go").await;
    assert_eq!(outcome.failure.unwrap().code, "stream-truncated");
    assert_eq!(world.server.requests().len(), 2);
}

/// Case 49.
#[tokio::test]
async fn the_limit_of_requests_ends_the_turn_before_one_too_many() {
    let mut world = World::new([Reply::calling("c1", "read_file", &read_args("a.txt"))]).await;
    world.project.write("a.txt", "x\n");
    world.config.max_sampling_requests = Some(1);
    let outcome = world.turn("go").await;
    assert_eq!(outcome.failure.unwrap().code, "sampling-limit");
    assert_eq!(world.server.requests().len(), 1);
}

/// Case 47.
#[tokio::test]
async fn prompts_that_cannot_run_are_refused_before_anything_is_recorded() {
    let world = World::new([]).await;
    let refuse = async |request| {
        let result = world.runtime.submit(request).await;
        result.unwrap_err().to_failure().code
    };
    assert_eq!(refuse(world.request("  \n")).await, "blank-prompt");
    let mut request = world.request("hi");
    request.agent = Some("nobody".into());
    assert_eq!(refuse(request).await, "unknown-agent");
    let mut request = world.request("hi");
    request.model = Some(magent_runtime::ModelChoice {
        backend: "Mock".into(),
        model: "gone".into(),
    });
    assert_eq!(refuse(request).await, "unknown-model");
    assert!(world.events.lock().is_empty());
    assert!(!world.storage.path().join("sessions").exists());
}

/// A disk that cannot be written: the turn works, the user is told, nothing is lost.
#[tokio::test]
async fn a_failing_disk_is_told_and_costs_nothing() {
    let world = World::new([Reply::answer("one"), Reply::answer("two")]).await;
    let blocker = world.storage.path().join("sessions");
    std::fs::write(&blocker, "in the way").unwrap();
    let told: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
    let watcher = Arc::clone(&told);
    let session = world.session.clone();
    world.runtime.watch_storage(Box::new(move |id, problem| {
        assert_eq!(*id, session);
        watcher.lock().push(problem.map(str::to_owned));
    }));
    assert_eq!(world.turn("first").await.text, "one");
    assert!(told.lock()[0].as_ref().unwrap().contains("sessions"));
    assert_eq!(told.lock().len(), 1);
    let notice = world
        .wait_for(|kind| matches!(kind, EventKind::Notice { text, .. } if text.contains("cannot be saved")))
        .await;
    assert!(format!("{notice:?}").contains("sessions"));
    std::fs::remove_file(&blocker).unwrap();
    assert_eq!(world.turn("second").await.text, "two");
    assert_eq!(told.lock().last().unwrap(), &None);
    let directory = magent_ledger::SessionDirectory::new(&blocker);
    let loaded = directory.load(&world.scope(), &world.session).unwrap();
    assert_eq!(loaded.ledger.thread().turns.len(), 2);
}

/// Whatever a model makes up, nobody has to read megabytes of it.
#[tokio::test]
async fn errors_titles_and_steps_are_short_whatever_a_model_makes_up() {
    let long = "x".repeat(300_000);
    let plan = json!({
        "plan": [{"step": long, "status": "pending"}],
        "explanation": long,
        "reason": long,
    });
    let world = World::new([
        Reply::calling("c1", &long, &json!({})),
        Reply::calling("c2", "read_file", &read_args(&format!("${long}"))),
        Reply::calling(
            "c3",
            "glob",
            &json!({"pattern": format!("[{long}"), "path": "."}),
        ),
        Reply::calling("c4", "update_plan", &plan),
        Reply::answer("done"),
    ])
    .await;
    let outcome = world.turn("go").await;
    assert_eq!(outcome.text, "done");
    let results = world.results();
    assert_eq!(results.len(), 4);
    assert!(results.iter().all(|result| result.len() < 12_000));
    for event in world.events.lock().iter() {
        match &event.kind {
            EventKind::ToolPending(view) | EventKind::ToolComplete(view) => {
                let texts = [&view.name, &view.title, &view.content];
                assert!(texts.iter().all(|text| text.chars().count() <= 5_000));
            }
            EventKind::PlanUpdate {
                entries,
                explanation,
            } => {
                assert_eq!(entries[0].step.chars().count(), 500);
                assert_eq!(explanation.as_ref().unwrap().chars().count(), 500);
            }
            _ => {}
        }
    }
    for item in world.saved_items() {
        let kept = item.metadata.values().map(|value| value.to_string().len());
        assert!(kept.max().unwrap_or_default() < 100_000, "{:?}", item.kind);
        assert!(item.name.unwrap_or_default().len() < 1_000);
    }
}

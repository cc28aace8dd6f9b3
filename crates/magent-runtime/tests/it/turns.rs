//! The main way through: answers, tools, several epochs, several sessions.

use std::time::Duration;

use magent_runtime::{ApprovalDecision, ApprovalMode, ModelChoice, ToolSelection};
use magent_testkit::{ChatStream, Reply, Step};
use magent_types::{EventKind, StopReason, TurnStatusKind};
use serde_json::{Value, json};

use crate::support::{World, outcome, read_args, shapes};

#[tokio::test]
async fn a_plain_answer_is_shown_recorded_and_saved() {
    let stream = ChatStream::new()
        .reasoning("let me ")
        .reasoning("think")
        .text("\n\nHello ")
        .text("漢字")
        .finish("stop")
        .usage(10, 5)
        .done();
    let world = World::new([Reply::stream(&stream)]).await;
    let outcome = world.turn("hi").await;
    assert_eq!(outcome.status, TurnStatusKind::Completed);
    assert_eq!(outcome.text, "Hello 漢字");
    assert_eq!(outcome.stop, Some(StopReason::EndTurn));
    assert_eq!(outcome.usage.input, Some(10));
    assert_eq!(
        world.names(),
        [
            "title-changed",
            "user-message",
            "turn-start",
            "sample-start",
            "reasoning-delta",
            "reasoning-complete",
            "assistant-delta",
            "assistant-complete",
            "sample-end",
            "turn-complete",
        ]
    );
    let items = world.saved_items();
    assert_eq!(
        shapes(&items),
        [
            "message completed",
            "sample completed",
            "reasoning completed",
            "message completed final",
        ]
    );
    assert_eq!(items[1].metadata["usage"]["input-tokens"], 10);
    assert_eq!(items[1].metadata["stop-reason"], "end-turn");
    let saved =
        serde_json::to_string(&items.iter().map(|i| i.metadata.clone()).collect::<Vec<_>>());
    assert!(!saved.unwrap().contains("sk-secret-key"));
}

#[tokio::test]
async fn words_tools_and_words_keep_their_order_and_phases() {
    let calling = ChatStream::new()
        .text("I look first.")
        .call(0, "c1", "read_file", &read_args("notes.txt"))
        .finish("tool_calls")
        .usage(10, 5)
        .done();
    let world = World::new([Reply::stream(&calling), Reply::answer("It says alpha.")]).await;
    world.project.write("notes.txt", "alpha\n");
    let outcome = world.turn("what does it say").await;
    assert_eq!(outcome.text, "It says alpha.");
    assert_eq!(outcome.usage.input, Some(20));
    assert_eq!(
        shapes(&world.saved_items()),
        [
            "message completed",
            "sample completed",
            "message completed commentary",
            "tool completed",
            "sample completed",
            "message completed final",
        ]
    );
    assert!(
        world.results()[0].contains("alpha"),
        "{:?}",
        world.results()
    );
    let requests = world.server.requests();
    let first = requests[0].body["messages"].to_string();
    let second = requests[1].body["messages"].to_string();
    assert!(second.starts_with(first.trim_end_matches(']')));
    assert_eq!(requests[0].body["tools"], requests[1].body["tools"]);
    let words = &requests[1].messages()[2];
    assert_eq!(words["content"], "I look first.");
}

#[tokio::test]
async fn phases_of_the_provider_are_kept_with_each_message() {
    let stream = include_str!("../../../../tests/fixtures/wire/openai-responses/phases.stream");
    let reply = Reply::new(200, "text/event-stream").step(Step::Send(stream.into()));
    let world = World::new([reply]).await;
    let mut request = world.request("look");
    request.model = Some(ModelChoice {
        backend: "Responses".into(),
        model: "m".into(),
    });
    let outcome = outcome(world.runtime.submit(request).await.unwrap()).await;
    // The answer is what the model says it is, without the words about its progress.
    assert_eq!(outcome.text, "Done.");
    let items = world.saved_items();
    let messages: Vec<_> = (items.iter())
        .filter(|item| item.role == Some(magent_types::Role::Assistant))
        .map(|item| (item.phase.as_deref(), item.content.as_deref()))
        .collect();
    assert_eq!(
        messages,
        [
            (Some("commentary"), Some("I look.")),
            (Some("final_answer"), Some("Done.")),
        ]
    );
}

#[tokio::test]
async fn a_tool_row_goes_from_pending_to_completed_under_one_id() {
    let world = World::new([
        Reply::calling("c1", "read_file", &read_args("a.txt")),
        Reply::answer("done"),
    ])
    .await;
    world.project.write("a.txt", "x\n");
    world.turn("read").await;
    let events = world.events.lock();
    let rows: Vec<(&str, &str, &str)> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolPending(view)
            | EventKind::ToolStart(view)
            | EventKind::ToolComplete(view) => Some((
                view.call_id.as_str(),
                view.status.as_str(),
                view.title.as_str(),
            )),
            _ => None,
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("c1", "pending", "Read a.txt"),
            ("c1", "in-progress", "Read a.txt"),
            ("c1", "completed", "Read a.txt"),
        ]
    );
}

#[tokio::test]
async fn an_edit_after_a_read_changes_the_file_and_reports_the_diff() {
    let world = World::new([Reply::calling("c1", "read_file", &read_args("a.txt"))]).await;
    world.project.write("a.txt", "one\ntwo\n");
    let revision = magent_tools::revision_of(b"one\ntwo\n");
    let edit =
        json!({"path": "a.txt", "old_text": "two", "new_text": "2", "expected_revision": revision});
    world.server.push(Reply::calling("c2", "edit_file", &edit));
    world.server.push(Reply::answer("changed"));
    let outcome = world.turn("change it").await;
    assert_eq!(outcome.status, TurnStatusKind::Completed, "{outcome:?}");
    assert_eq!(world.project.read("a.txt"), "one\n2\n");
    let kind = world
        .wait_for(|kind| matches!(kind, EventKind::ToolComplete(view) if view.name == "edit_file"))
        .await;
    let EventKind::ToolComplete(view) = kind else {
        unreachable!()
    };
    assert_eq!(view.diffs.len(), 1);
    assert_eq!(view.diffs[0].old_text.as_deref(), Some("one\ntwo\n"));
    assert_eq!(view.diffs[0].new_text, "one\n2\n");
    let revision = magent_tools::revision_of(b"one\n2\n");
    assert!(world.results()[1].contains(&revision));
}

#[tokio::test]
async fn parallel_calls_get_their_results_in_order_and_repeated_ids_stay_apart() {
    let two = ChatStream::new()
        .call(0, "call_0", "read_file", &read_args("a.txt"))
        .call(1, "call_1", "read_file", &read_args("b.txt"))
        .finish("tool_calls")
        .done();
    let world = World::new([
        Reply::stream(&two),
        // A provider that counts its calls anew in every answer.
        Reply::calling("call_0", "read_file", &read_args("b.txt")),
        Reply::answer("done"),
    ])
    .await;
    world.project.write("a.txt", "alpha\n");
    world.project.write("b.txt", "beta\n");
    world.turn("read both").await;
    let results = world.results();
    assert_eq!(results.len(), 3);
    assert!(results[0].contains("alpha") && results[1].contains("beta"));
    assert!(results[2].contains("beta"));
}

#[tokio::test]
async fn a_plan_is_recorded_and_reported() {
    let plan = json!({"plan": [{"step": "look", "status": "completed"},
        {"step": "change", "status": "in_progress"}], "explanation": "why"});
    let bad = json!({"plan": [{"step": "a", "status": "in_progress"},
        {"step": "b", "status": "in_progress"}]});
    let world = World::new([
        Reply::calling("c1", "update_plan", &plan),
        Reply::calling("c2", "update_plan", &bad),
        Reply::answer("ok"),
    ])
    .await;
    world.turn("plan").await;
    let plans = world
        .events
        .lock()
        .iter()
        .filter(|event| matches!(event.kind, EventKind::PlanUpdate { .. }))
        .count();
    assert_eq!(plans, 1);
    assert!(world.results()[1].contains("failed"));
    let items = world.saved_items();
    let plan = items
        .iter()
        .find(|item| item.kind.as_str() == "plan")
        .unwrap();
    assert_eq!(plan.output[1]["status"], "in_progress");
}

#[tokio::test]
async fn prompts_of_a_session_queue_and_sessions_run_side_by_side() {
    let slow = |text: &str| {
        Reply::new(200, "text/event-stream")
            .step(Step::Wait(Duration::from_millis(800)))
            .step(Step::Send(ChatStream::answer(text).bytes("\n")))
    };
    let world = World::new([slow("one"), slow("other"), Reply::answer("two")]).await;
    let first = world.submit("first").await;
    // The server answers in the order in which it is asked.
    world.wait_for_requests(1).await;
    let mut other = world.request("other");
    other.session_id = world
        .runtime
        .new_session(world.scope(), &world.config)
        .unwrap()
        .id;
    let begun = std::time::Instant::now();
    let other = world.runtime.submit(other).await.unwrap();
    let second = world.submit("second").await;
    assert!(world.runtime.is_busy(&world.session));
    assert_eq!(outcome(first).await.text, "one");
    assert_eq!(outcome(other).await.text, "other");
    assert!(begun.elapsed() < Duration::from_millis(1_500));
    assert_eq!(outcome(second).await.text, "two");
    // The queued prompt did not leak into the request that ran before it.
    let requests = world.server.requests();
    assert_eq!(requests[0].messages().len(), 2);
    assert_eq!(requests.last().unwrap().messages().len(), 4);
}

#[tokio::test]
async fn the_request_can_be_rebuilt_from_the_ledger() {
    let world = World::new([
        Reply::calling("c1", "glob", &json!({"pattern": "*", "path": "."})),
        Reply::answer("done"),
    ])
    .await;
    world.project.write("AGENTS.md", "Be careful with numbers.");
    world.turn("go").await;
    let directory = magent_ledger::SessionDirectory::new(world.storage.path().join("sessions"));
    let loaded = directory.load(&world.scope(), &world.session).unwrap();
    let thread = loaded.ledger.thread();
    let samples: Vec<_> = thread.turns[0]
        .items
        .iter()
        .filter(|item| item.kind.as_str() == "sample")
        .collect();
    assert_eq!(samples.len(), 2);
    for (sample, request) in samples.iter().zip(world.server.requests()) {
        let header = magent_ledger::sample_header(thread, sample).unwrap();
        assert_eq!(header["system"], request.messages()[0]["content"]);
        assert!(
            header["system"]
                .as_str()
                .unwrap()
                .contains("Be careful with numbers.")
        );
        assert_eq!(header["route"]["backend-name"], "Mock");
        let names: Vec<&Value> = request.body["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| &tool["function"]["name"])
            .collect();
        let effective: Vec<&Value> = header["effective-tools"]
            .as_array()
            .unwrap()
            .iter()
            .collect();
        assert_eq!(effective, names);
    }
    assert_eq!(
        samples[1].metadata["header"]["system"]["same-as"],
        samples[0].id.as_str()
    );
}

#[tokio::test]
async fn an_exact_choice_of_tools_is_all_the_model_sees() {
    let world = World::new([Reply::answer("ok")]).await;
    let mut request = world.request("hi");
    request.tools = ToolSelection::Exact(vec!["grep".into()]);
    outcome(world.runtime.submit(request).await.unwrap()).await;
    let tools = world.server.requests()[0].body["tools"].clone();
    assert_eq!(tools.as_array().unwrap().len(), 1);
    let mut request = world.request("hi");
    request.tools = ToolSelection::Exact(vec!["nope".into()]);
    let error = world
        .runtime
        .submit(request)
        .await
        .unwrap_err()
        .to_failure();
    assert_eq!(error.code, "unavailable-tool");
}

#[tokio::test]
async fn live_output_of_a_command_is_reported_while_it_runs() {
    let command = json!({"command": "echo first; sleep 0.4; echo second"});
    let mut world = World::new([
        Reply::calling("c1", "bash", &command),
        Reply::answer("done"),
    ])
    .await;
    world.approval = ApprovalMode::Always;
    let submitted = world.submit("run").await;
    world
        .wait_for(
            |kind| matches!(kind, EventKind::ToolOutput { text, .. } if text.contains("first")),
        )
        .await;
    assert!(!world.names().contains(&"tool-call-complete"));
    assert_eq!(outcome(submitted).await.status, TurnStatusKind::Completed);
    let shown: String = world
        .events
        .lock()
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolOutput { text, .. } => Some(text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, "first\nsecond\n");
    assert!(world.results()[0].contains("second"));
}

/// E4: a command that floods.
#[tokio::test]
async fn a_flood_of_output_reaches_nobody_whole() {
    let command = json!({"command": "yes $(printf 'x%.0s' {1..200}) | head -c 20000000"});
    let mut world = World::new([
        Reply::calling("c1", "bash", &command),
        Reply::answer("done"),
    ])
    .await;
    world.approval = ApprovalMode::Always;
    world.turn("flood").await;
    let events = world.events.lock();
    let pieces: Vec<usize> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolOutput { text, .. } => Some(text.len()),
            _ => None,
        })
        .collect();
    assert!(pieces.len() < 60, "{} pieces", pieces.len());
    assert!(pieces.iter().sum::<usize>() < 60_000);
    drop(events);
    assert!(world.results()[0].chars().count() < 12_500);
}

/// Cases 32 and 33.
#[tokio::test]
async fn a_long_result_is_cut_for_the_model_and_can_be_read_on() {
    let line = "0123456789".repeat(6);
    let command = json!({"command": format!("for i in $(seq 500); do echo {line}; done")});
    let mut world = World::new([Reply::calling("c1", "bash", &command)]).await;
    world.approval = ApprovalMode::Always;
    world.server.push(Reply::answer("cut"));
    world.turn("run").await;
    let items = world.saved_items();
    let spill = &items[2].metadata["spill"];
    let id = spill["result-id"].as_str().unwrap();
    assert_eq!(spill["original-characters"], 30_500);
    assert!(world.results()[0].contains(id));
    let page = json!({"result_id": id, "start_character": 10_001, "character_count": 100});
    world
        .server
        .push(Reply::calling("c2", "read_tool_output", &page));
    world.server.push(Reply::answer("read"));
    world.turn("read on").await;
    let result = world.results().pop().unwrap();
    assert!(result.contains("total_characters=30500"), "{result}");
    let failing = json!({"command": format!("for i in $(seq 500); do echo {line}; done; exit 3")});
    world.server.push(Reply::calling("c3", "bash", &failing));
    world.server.push(Reply::answer("failed"));
    world.turn("fail").await;
    let result = world.results().pop().unwrap();
    assert!(
        result.starts_with("[status=failed exit_code=3"),
        "{}",
        &result[..80]
    );
}

#[tokio::test]
async fn an_observer_that_panics_hurts_nobody() {
    let world = World::new([Reply::answer("fine")]).await;
    world
        .runtime
        .subscribe(None, std::sync::Arc::new(|_| panic!("observer")));
    world.answer_all(ApprovalDecision::AllowOnce);
    assert_eq!(world.turn("hi").await.text, "fine");
}

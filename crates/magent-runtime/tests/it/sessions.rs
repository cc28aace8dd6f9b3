//! Sessions that go and come back.

use std::sync::Arc;
use std::time::Duration;

use magent_runtime::{ApprovalDecision, ReplayEntry, RuntimeError};
use magent_testkit::{ChatStream, Reply, Step, TempProject};
use magent_types::{EventKind, Scope, SessionId};
use serde_json::json;

use crate::support::{World, outcome, read_args};

/// Ends a world and begins another one over the same files, with the session loaded.
pub(crate) async fn restart(world: World, replies: impl IntoIterator<Item = Reply>) -> World {
    let World {
        storage,
        project,
        session,
        runtime,
        ..
    } = world;
    tokio::task::spawn_blocking(move || runtime.shutdown(Duration::from_secs(2)))
        .await
        .unwrap();
    let mut world = World::with_storage(storage, project, replies).await;
    let info = world
        .runtime
        .load_session(world.scope(), session, &world.config)
        .await
        .unwrap();
    world.session = info.id;
    world
}

/// Closes a session that nobody uses, and waits until it is.
pub(crate) async fn close(world: &World, session: &SessionId) {
    world.runtime.attach(session);
    world.runtime.detach(session);
    while world.runtime.options(session).is_ok() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// E41.
#[tokio::test]
async fn a_loaded_session_shows_everything_in_order_and_goes_on() {
    let stream = ChatStream::new()
        .reasoning("thinking")
        .text("I look.")
        .call(0, "c1", "read_file", &read_args("a.txt"))
        .finish("tool_calls")
        .done();
    let plan = json!({"plan": [{"step": "s", "status": "pending"}]});
    let world = World::new([
        Reply::stream(&stream),
        Reply::calling("c2", "update_plan", &plan),
        Reply::answer("done"),
    ])
    .await;
    world.project.write("a.txt", "alpha\n");
    world.turn("first").await;
    let before = world.runtime.replay(&world.session).unwrap();
    let world = restart(world, [Reply::answer("more")]).await;
    let after = world.runtime.replay(&world.session).unwrap();
    assert_eq!(after, before);
    let kinds: Vec<&str> = after
        .iter()
        .map(|entry| match entry {
            ReplayEntry::User { .. } => "user",
            ReplayEntry::Assistant { .. } => "assistant",
            ReplayEntry::Reasoning { .. } => "reasoning",
            ReplayEntry::Tool(view) => view.kind.as_str(),
            ReplayEntry::Plan(_) => "plan",
            ReplayEntry::Notice(_) => "notice",
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "user",
            "reasoning",
            "assistant",
            "read",
            "think",
            "plan",
            "assistant"
        ]
    );
    assert_eq!(world.turn("second").await.text, "more");
    let messages = world.server.requests()[0].body["messages"].to_string();
    assert!(messages.contains("alpha") && messages.contains("second"));
    assert_eq!(
        world.runtime.title(&world.session).unwrap().as_deref(),
        Some("first")
    );
}

#[tokio::test]
async fn options_survive_a_restart() {
    let world = World::new([Reply::answer("ok")]).await;
    world.turn("hi").await;
    world.runtime.set_agent(&world.session, "plan").unwrap();
    let model = magent_runtime::ModelChoice {
        backend: "Other".into(),
        model: "m".into(),
    };
    world
        .runtime
        .set_model(&world.session, Some(model))
        .unwrap();
    let before = world.runtime.options(&world.session).unwrap();
    let world = restart(world, []).await;
    assert_eq!(world.runtime.options(&world.session).unwrap(), before);
}

#[tokio::test]
async fn a_session_whose_files_are_removed_while_it_is_live_is_saved_again() {
    let world = World::new([Reply::answer("one"), Reply::answer("two")]).await;
    world.turn("first").await;
    // Moved away at one stroke: the session may be writing there at this moment.
    let directory = world.storage.path();
    std::fs::rename(directory.join("sessions"), directory.join("gone")).unwrap();
    assert!(world.turn("second").await.saved);
    let told = world.events.lock().iter().any(|event| {
        matches!(&event.kind, EventKind::Notice { text, .. } if text.contains("written again"))
    });
    assert!(told);
    let world = restart(world, [Reply::answer("three")]).await;
    world.turn("third").await;
    let messages = world.server.requests()[0].body["messages"].to_string();
    assert!(messages.contains("first") && messages.contains("second"));
}

#[tokio::test]
async fn a_fork_goes_on_by_itself() {
    let world = World::new([
        Reply::calling("c1", "bash", &json!({"command": "seq 9000"})),
        Reply::answer("one"),
        Reply::answer("fork"),
        Reply::answer("source"),
    ])
    .await;
    world.answer_all(ApprovalDecision::AllowSession);
    world.turn("first").await;
    world.runtime.set_agent(&world.session, "plan").unwrap();
    let fork = |id: SessionId| world.runtime.fork_session(world.scope(), id, &world.config);
    let forked = fork(world.session.clone()).await.unwrap();
    assert_ne!(forked.id, world.session);
    assert_eq!(forked.title.as_deref(), Some("(fork) first"));
    assert_eq!(forked.options.agent, "plan");
    let kept = |id: &SessionId| {
        let rows = world.runtime.authority(id, &world.config).unwrap();
        rows.iter()
            .any(|row| row.explanation.contains("for this session"))
    };
    assert!(
        kept(&world.session) && !kept(&forked.id),
        "what was allowed is not inherited"
    );
    let mut request = world.request("second");
    request.session_id = forked.id.clone();
    outcome(world.runtime.submit(request).await.unwrap()).await;
    world.turn("third").await;
    let told = |index: usize| world.server.requests()[index].body["messages"].to_string();
    assert!(told(2).contains("first") && told(2).contains("second"));
    assert!(told(3).contains("first") && !told(3).contains("second"));
    // A long result can be read in the fork, and a fork can be forked.
    let result = told(2);
    let start = result.find("result-").expect("a long result is kept");
    let result_id = &result[start..start + "result-".len() + 24];
    let spilled = walk(&world.storage.path().join("sessions/tool-results"));
    let copies = spilled
        .iter()
        .filter(|path| path.contains(result_id))
        .count();
    assert_eq!(copies, 2, "{spilled:?}");
    let again = fork(forked.id).await.unwrap();
    assert_eq!(again.title.as_deref(), Some("(fork) first"));
    assert!(matches!(
        fork("nothing".into()).await,
        Err(RuntimeError::UnknownSession(_))
    ));
}

#[tokio::test]
async fn a_busy_session_is_not_forked_and_a_saved_one_is() {
    let world = World::new([
        Reply::answer("one"),
        Reply::new(200, "text/event-stream").step(Step::Hang),
    ])
    .await;
    world.turn("first").await;
    let submitted = world.submit("second").await;
    world.wait_for_requests(2).await;
    let fork = world
        .runtime
        .fork_session(world.scope(), world.session.clone(), &world.config);
    assert!(matches!(fork.await, Err(RuntimeError::Busy)));
    world.runtime.cancel_session(&world.session);
    outcome(submitted).await;
    let world = restart(world, [Reply::answer("three")]).await;
    let session = world.session.clone();
    close(&world, &session).await;
    let fork = world
        .runtime
        .fork_session(world.scope(), session, &world.config)
        .await
        .unwrap();
    let mut request = world.request("third");
    request.session_id = fork.id;
    outcome(world.runtime.submit(request).await.unwrap()).await;
    let told = world.server.requests()[0].body["messages"].to_string();
    assert!(told.contains("first") && told.contains("second"));
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let paths = entries.flat_map(|path| {
        if path.is_dir() {
            walk(&path)
        } else {
            vec![path.display().to_string()]
        }
    });
    paths.collect()
}

/// Half an answer must not look like a whole one when the session is taken up again.
#[tokio::test]
async fn a_loaded_session_tells_which_turns_were_not_answered() {
    let half = Reply::stream(&ChatStream::new().text("so far")).step(Step::Hang);
    let world = World::new([
        Reply::json(401, &json!({"error": {"message": "bad key"}})),
        Reply::answer("whole"),
        half,
    ])
    .await;
    for prompt in ["first", "second"] {
        world.turn(prompt).await;
    }
    let submitted = world.submit("third").await;
    world
        .wait_for(|kind| matches!(kind, EventKind::AssistantDelta { text, .. } if text == "so far"))
        .await;
    let waiting = world.submit("fourth").await;
    world.runtime.cancel_session(&world.session);
    outcome(submitted).await;
    outcome(waiting).await;
    let world = restart(world, []).await;
    let texts: Vec<String> = world
        .runtime
        .replay(&world.session)
        .unwrap()
        .into_iter()
        .map(|entry| match entry {
            ReplayEntry::User { text, .. } | ReplayEntry::Assistant { text, .. } => text,
            ReplayEntry::Notice(text) => format!("! {text}"),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(texts[0], "first");
    assert!(texts[1].starts_with("! The turn failed. "), "{texts:?}");
    assert_eq!(
        texts[2..],
        [
            "second",
            "whole",
            "third",
            "so far",
            "! The turn was cancelled.",
            "fourth",
            "! The prompt was cancelled in the queue."
        ]
    );
}

/// Case 56.
#[tokio::test]
async fn sessions_belong_to_one_project() {
    let world = World::new([Reply::answer("ok")]).await;
    assert!(
        world
            .runtime
            .list_sessions(Some(world.scope()))
            .await
            .unwrap()
            .is_empty()
    );
    world.turn("a title here").await;
    let listed = world
        .runtime
        .list_sessions(Some(world.scope()))
        .await
        .unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].summary.title.as_deref(), Some("a title here"));
    let other = Scope::Project("/elsewhere".into());
    assert!(
        world
            .runtime
            .list_sessions(Some(other.clone()))
            .await
            .unwrap()
            .is_empty()
    );
    let error = world
        .runtime
        .load_session(other, world.session.clone(), &world.config)
        .await
        .unwrap_err();
    assert_eq!(error.to_failure().code, "unknown-session");
    for id in ["../x", "nope"] {
        let error = world
            .runtime
            .load_session(world.scope(), SessionId::new(id), &world.config)
            .await
            .unwrap_err();
        assert_eq!(error.to_failure().code, "unknown-session");
    }
}

#[tokio::test]
async fn a_second_process_is_told_who_has_the_session() {
    let world = World::new([Reply::answer("ok")]).await;
    world.turn("hi").await;
    let second = World::with_storage(Arc::clone(&world.storage), TempProject::new(), []).await;
    let error = second
        .runtime
        .load_session(world.scope(), world.session.clone(), &world.config)
        .await
        .unwrap_err()
        .to_failure();
    assert_eq!(error.code, "session-locked");
    assert!(error.message.contains("test"), "{error:?}");
    let listed = second
        .runtime
        .list_sessions(Some(world.scope()))
        .await
        .unwrap();
    assert_eq!(listed[0].full_title().as_deref(), Some("(in use) hi"));
}

#[tokio::test]
async fn a_session_nobody_uses_is_cancelled_closed_and_unlocked() {
    let hang = Reply::stream(&ChatStream::new().text("x")).step(Step::Hang);
    let world = World::new([hang]).await;
    world.runtime.attach(&world.session);
    let submitted = world.submit("go").await;
    world
        .wait_for(|kind| kind.name() == "assistant-delta")
        .await;
    world.runtime.detach(&world.session);
    crate::support::outcome(submitted).await;
    let second = World::with_storage(Arc::clone(&world.storage), TempProject::new(), []).await;
    for _ in 0..200 {
        let loaded = second
            .runtime
            .load_session(world.scope(), world.session.clone(), &world.config)
            .await;
        if loaded.is_ok() {
            assert_eq!(world.server.clients_gone(), 1);
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("still locked");
}

#[tokio::test]
async fn a_corrupt_session_is_refused_by_name_and_hurts_no_other() {
    let world = World::new([Reply::answer("one"), Reply::answer("two")]).await;
    world.turn("first").await;
    let bad = world.session.clone();
    let world = restart(world, []).await;
    let projects = world.storage.path().join("sessions/projects");
    let scope = std::fs::read_dir(projects)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let log = scope.join(format!("{bad}.jsonl"));
    let text = std::fs::read_to_string(&log)
        .unwrap()
        .replacen("\"seq\":3", "\"seq\":x", 1);
    std::fs::write(&log, &text).unwrap();
    let storage = Arc::clone(&world.storage);
    let runtime = Arc::clone(&world.runtime);
    let World {
        project, config, ..
    } = world;
    tokio::task::spawn_blocking(move || runtime.shutdown(Duration::from_secs(2)))
        .await
        .unwrap();
    let world = World::with_storage(storage, project, [Reply::answer("fresh")]).await;
    let error = world
        .runtime
        .load_session(world.scope(), bad, &config)
        .await
        .unwrap_err()
        .to_failure();
    assert_eq!(error.code, "session-file");
    assert!(error.message.contains(".jsonl:3"), "{error:?}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), text);
    assert_eq!(world.turn("new").await.text, "fresh");
}

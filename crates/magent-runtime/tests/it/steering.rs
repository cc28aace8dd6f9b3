//! Words of the user that reach a running turn.

use std::time::Duration;

use magent_testkit::{ChatStream, Reply, Step};
use magent_types::{EventKind, PromptInput, TurnStatusKind};
use serde_json::json;

use crate::support::{World, outcome, read_args, shapes};

async fn steer(world: &World, text: &str) -> bool {
    let mut told = false;
    let input = PromptInput::text(text);
    let accepted = (world.runtime)
        .steer(&world.session, input, || told = true)
        .await
        .unwrap();
    assert_eq!(accepted, told, "who is accepted is told");
    accepted
}

/// An answer that takes its time after it began.
fn slowly(stream: &ChatStream) -> Reply {
    let mut pieces = stream.events().iter();
    let first = pieces.next().cloned().unwrap_or_default();
    let rest: String = pieces.map(|event| format!("data: {event}\n\n")).collect();
    Reply::new(200, "text/event-stream")
        .step(Step::Send(format!("data: {first}\n\n").into()))
        .step(Step::Wait(Duration::from_millis(200)))
        .step(Step::Send(rest.into()))
}

async fn begun(world: &World) {
    world
        .wait_for(|kind| matches!(kind, EventKind::AssistantDelta { .. }))
        .await;
}

#[tokio::test]
async fn words_join_before_the_next_request() {
    let calling = ChatStream::new()
        .text("I look.")
        .call(0, "c1", "read_file", &read_args("notes.txt"))
        .finish("tool_calls")
        .done();
    let world = World::new([slowly(&calling), Reply::answer("In French: alpha.")]).await;
    world.project.write("notes.txt", "alpha\n");
    let submitted = world.submit("what does it say").await;
    begun(&world).await;
    assert!(steer(&world, "In French, please").await);
    assert_eq!(outcome(submitted).await.text, "In French: alpha.");
    let requests = world.server.requests();
    assert_eq!(requests.len(), 2);
    let messages = requests[1].messages();
    let last = messages.last().unwrap();
    assert_eq!(
        (&last["role"], &last["content"]),
        (&json!("user"), &json!("In French, please"))
    );
    requests[1].check_calls();
    assert_eq!(
        shapes(&world.saved_items()),
        [
            "message completed",
            "sample completed",
            "message completed commentary",
            "tool completed",
            "message completed",
            "sample completed",
            "message completed final",
        ]
    );
}

#[tokio::test]
async fn words_during_the_last_answer_get_one_of_their_own() {
    let first = ChatStream::answer("Hello.");
    let world = World::new([slowly(&first), Reply::answer("Bonjour.")]).await;
    let submitted = world.submit("greet").await;
    begun(&world).await;
    assert!(steer(&world, "In French").await);
    let outcome = outcome(submitted).await;
    assert_eq!(
        (outcome.status, outcome.text.as_str()),
        (TurnStatusKind::Completed, "Bonjour.")
    );
    assert_eq!(world.server.requests().len(), 2);
    // Nothing runs any more, so the next words are a prompt.
    assert!(!steer(&world, "And in Greek").await);
}

#[tokio::test]
async fn words_for_a_turn_that_is_cancelled_or_fails_are_kept() {
    let half = || Reply::stream(&ChatStream::new().text("Hm"));
    let world = World::new([half().step(Step::Hang), Reply::answer("Yes.")]).await;
    let submitted = world.submit("one").await;
    begun(&world).await;
    assert!(steer(&world, "two").await);
    world.runtime.cancel_session(&world.session);
    assert_eq!(outcome(submitted).await.status, TurnStatusKind::Cancelled);
    assert_eq!(world.turn("three").await.text, "Yes.");
    let told = world.server.requests()[1].body["messages"].to_string();
    assert!(told.contains("\"two\""), "{told}");
    assert_eq!(told.matches("\"two\"").count(), 1, "{told}");
    let broken = half()
        .step(Step::Wait(Duration::from_millis(200)))
        .step(Step::Break);
    let world = World::new([broken, Reply::answer("Yes.")]).await;
    let submitted = world.submit("one").await;
    begun(&world).await;
    assert!(steer(&world, "two").await);
    assert_eq!(outcome(submitted).await.status, TurnStatusKind::Failed);
    world.turn("three").await;
    let told = world.server.requests()[1].body["messages"].to_string();
    assert_eq!(told.matches("\"two\"").count(), 1, "{told}");
}

/// Words race the end of a turn: each is either part of the turn or refused.
#[tokio::test]
async fn words_that_race_the_end_are_never_lost_or_doubled() {
    for delay in 0..12 {
        let world = World::new([Reply::answer("a"), Reply::answer("b"), Reply::answer("c")]).await;
        let submitted = world.submit("one").await;
        tokio::time::sleep(Duration::from_millis(delay)).await;
        let accepted = steer(&world, "race").await;
        outcome(submitted).await;
        world.turn("last").await;
        let requests = world.server.requests();
        let told = requests.last().unwrap().body["messages"].to_string();
        assert_eq!(
            told.matches("\"race\"").count(),
            usize::from(accepted),
            "{told}"
        );
        let asked = if accepted { 2..=3 } else { 2..=2 };
        assert!(asked.contains(&requests.len()), "{delay} {accepted}");
    }
}

//! Summaries that stand for a conversation.

use magent_runtime::{AutoCompact, RuntimeError};
use magent_testkit::{ChatStream, Reply};
use magent_types::{EventKind, TurnStatusKind};
use serde_json::json;

use crate::support::{World, read_args};

fn notices(world: &World) -> Vec<String> {
    let events = world.events.lock();
    let texts = events.iter().filter_map(|event| match &event.kind {
        EventKind::Notice { text, .. } => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

/// An answer after which the context of 1,000 tokens is full to this number.
fn filling(text: &str, tokens: u64) -> Reply {
    let stream = ChatStream::new().text(text).finish("stop").usage(tokens, 0);
    Reply::stream(&stream.done())
}

#[tokio::test]
async fn a_summary_replaces_the_past_for_the_model_only() {
    let world = World::new([
        Reply::calling("c1", "read_file", &read_args("notes.txt")),
        Reply::answer("It says alpha."),
        Reply::answer("SUMMARY: notes.txt says alpha."),
        Reply::answer("Beta."),
    ])
    .await;
    world.project.write("notes.txt", "alpha\n");
    world.turn("What does it say?").await;
    let outcome = world.turn("/compact mind the names").await;
    assert_eq!(outcome.status, TurnStatusKind::Completed);
    assert_eq!(world.turn("And now?").await.text, "Beta.");
    let requests = world.server.requests();
    // The one that sums up has no tools, and no calls that would need any.
    let summing = &requests[2].body;
    assert!(summing.get("tools").is_none(), "{summing}");
    let told = summing["messages"].to_string();
    assert!(!told.contains("tool_call"), "{told}");
    assert!(told.contains("What does it say?") && told.contains("alpha"));
    assert!(told.contains("mind the names") && told.contains("You sum up"));
    let after = requests[3].body["messages"].to_string();
    assert!(after.contains("SUMMARY") && after.contains("And now?"));
    assert!(!after.contains("What does it say?") && !after.contains("/compact"));
    assert!(requests[3].body["tools"].to_string().contains("read_file"));
    // Its agent is nobody's choice.
    assert_eq!(
        world.runtime.options(&world.session).unwrap().agent,
        "build"
    );
    assert!(
        world
            .runtime
            .set_agent(&world.session, "compaction")
            .is_err()
    );
    let replay = format!("{:?}", world.runtime.replay(&world.session).unwrap());
    assert!(replay.contains("What does it say?") && replay.contains("/compact"));
}

#[tokio::test]
async fn a_summary_that_fails_changes_nothing_and_nothing_needs_none() {
    let world = World::new([
        Reply::answer("one"),
        Reply::json(400, &json!({"error": {"message": "too long"}})),
        Reply::answer("two"),
    ])
    .await;
    let refused = world.runtime.submit(world.request("/compact")).await;
    assert!(
        matches!(refused, Err(RuntimeError::NothingToCompact)),
        "{refused:?}"
    );
    world.turn("first").await;
    assert_eq!(world.turn("/compact").await.status, TurnStatusKind::Failed);
    world.turn("second").await;
    let told = world.server.requests()[2].body["messages"].to_string();
    assert!(
        told.contains("first") && !told.contains("/compact"),
        "{told}"
    );
}

/// The tools are gone, but a model may go on with what the conversation shows.
#[tokio::test]
async fn a_model_that_calls_instead_of_summing_up_is_stopped() {
    let world = World::new([
        Reply::calling("c1", "read_file", &read_args("notes.txt")),
        Reply::answer("It says alpha."),
        Reply::calling("c2", "read_file", &read_args("notes.txt")),
        Reply::answer("Beta."),
    ])
    .await;
    world.project.write("notes.txt", "alpha\n");
    world.turn("first").await;
    let outcome = world.turn("/compact").await;
    assert_eq!(outcome.status, TurnStatusKind::Failed);
    let failure = format!("{:?}", outcome.failure);
    assert!(failure.contains("no-summary"), "{failure}");
    assert_eq!(world.server.requests().len(), 3);
    world.turn("second").await;
    let last = &world.server.requests()[3];
    last.check_calls();
    let told = last.body["messages"].to_string();
    assert!(told.contains("first") && told.contains("It says alpha."));
    assert!(!told.contains("c2") && !told.contains("/compact"), "{told}");
}

#[tokio::test]
async fn a_full_context_is_told_or_summed_up_as_the_user_wants() {
    let replies = || {
        [
            filling("little", 100),
            filling("much", 850),
            Reply::answer("SUMMARY"),
            filling("again", 200),
        ]
    };
    let world = World::new(replies()).await;
    world.turn("one").await;
    assert_eq!(notices(&world), Vec::<String>::new());
    world.turn("two").await;
    let told = notices(&world);
    assert!(told.len() == 1 && told[0].contains("85 %"), "{told:?}");
    let mut world = World::new(replies()).await;
    world.config.auto_compact = AutoCompact::Compact;
    for prompt in ["one", "two", "three"] {
        world.turn(prompt).await;
    }
    let requests = world.server.requests();
    assert_eq!(requests.len(), 4);
    let last = requests[3].body["messages"].to_string();
    assert!(
        last.contains("SUMMARY") && last.contains("three") && !last.contains("\"two\""),
        "{last}"
    );
    assert!(notices(&world)[0].contains("summed up first"));
    let mut world = World::new(replies()).await;
    world.config.auto_compact = AutoCompact::Off;
    for prompt in ["one", "two", "three"] {
        world.turn(prompt).await;
    }
    assert_eq!(notices(&world), Vec::<String>::new());
    assert_eq!(world.server.requests().len(), 3);
}

//! Cancelling, from every state: one outcome, soon, and nothing left behind.

use std::time::{Duration, Instant};

use magent_runtime::{ApprovalDecision, ApprovalMode};
use magent_testkit::{ChatStream, Reply, Step};
use magent_types::{EventKind, TurnStatusKind};
use serde_json::json;

use crate::support::{World, outcome, shapes};

/// Far above what is expected; how fast it really is, is measured by the benchmarks.
const SOON: Duration = Duration::from_secs(2);

async fn cancel_when(world: &World, fits: impl Fn(&EventKind) -> bool) -> Duration {
    let submitted = world.submit("go").await;
    world.wait_for(fits).await;
    world.wait_for_requests(1).await;
    let begun = Instant::now();
    assert_eq!(world.runtime.cancel_session(&world.session), 1);
    let outcome = outcome(submitted).await;
    let took = begun.elapsed();
    assert_eq!(outcome.status, TurnStatusKind::Cancelled);
    assert!(took < SOON, "{took:?}");
    world.server.push(Reply::answer("works again"));
    assert_eq!(world.turn("again").await.text, "works again");
    world.server.requests().last().unwrap().check_calls();
    took
}

#[tokio::test]
async fn before_the_first_byte_and_in_the_middle_of_reasoning_text_and_arguments() {
    let hang = |stream: ChatStream| Reply::stream(&stream).step(Step::Hang);
    let world = World::new([Reply::new(200, "text/event-stream").step(Step::Hang)]).await;
    cancel_when(&world, |kind| matches!(kind, EventKind::SampleStart { .. })).await;
    let world = World::new([hang(ChatStream::new().reasoning("hm"))]).await;
    cancel_when(&world, |kind| {
        matches!(kind, EventKind::ReasoningDelta { .. })
    })
    .await;
    let half_call = ChatStream::new()
        .text("hi")
        .delta(&json!({"tool_calls": [{"index": 0,
        "id": "c1", "function": {"name": "bash", "arguments": "{\"comm"}}]}));
    let world = World::new([hang(half_call)]).await;
    cancel_when(&world, |kind| {
        matches!(kind, EventKind::AssistantDelta { .. })
    })
    .await;
    assert!(!world.names().contains(&"tool-call-detected"));
}

#[tokio::test]
async fn what_was_said_before_a_cancel_is_kept() {
    let world =
        World::new([Reply::stream(&ChatStream::new().text("so far")).step(Step::Hang)]).await;
    let submitted = world.submit("go").await;
    world
        .wait_for(|kind| matches!(kind, EventKind::AssistantDelta { .. }))
        .await;
    world.runtime.cancel_session(&world.session);
    outcome(submitted).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let items = world.saved_items();
    assert_eq!(
        shapes(&items),
        ["message completed", "sample cancelled", "message cancelled"]
    );
    assert_eq!(items[2].content.as_deref(), Some("so far"));
}

/// E21: the stale answer that comes afterwards finds no question.
#[tokio::test]
async fn while_a_question_is_open() {
    let world = World::new([Reply::calling("c1", "bash", &json!({"command": "touch x"}))]).await;
    cancel_when(&world, |kind| {
        matches!(kind, EventKind::ApprovalRequested(_))
    })
    .await;
    let EventKind::ApprovalRequested(view) = world
        .wait_for(|kind| matches!(kind, EventKind::ApprovalRequested(_)))
        .await
    else {
        unreachable!()
    };
    assert!(
        !world
            .runtime
            .resolve_approval(&view.approval_id, ApprovalDecision::AllowOnce)
    );
    assert_eq!(world.runtime.open_approvals(), 0);
    assert!(!world.project.path("x").exists());
    let row = world
        .wait_for(
            |kind| matches!(kind, EventKind::ToolComplete(view) if view.call_id.as_str() == "c1"),
        )
        .await;
    assert!(matches!(row, EventKind::ToolComplete(view) if view.status.as_str() == "cancelled"));
}

/// C15: the whole process group goes, background children included.
#[tokio::test]
async fn while_a_command_runs() {
    let command = json!({"command": "echo $$ > pid; sleep 61.5 & echo started; sleep 61.5"});
    let mut world = World::new([Reply::calling("c1", "bash", &command)]).await;
    world.approval = ApprovalMode::Always;
    cancel_when(&world, |kind| matches!(kind, EventKind::ToolOutput { .. })).await;
    let group = world.project.read("pid");
    let begun = Instant::now();
    loop {
        if live_processes(group.trim()) == 0 {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(1), "processes left");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(world.server.requests().len(), 2);
}

#[tokio::test]
async fn while_waiting_for_a_retry() {
    let mut replies = vec![Reply::new(200, "text/event-stream").step(Step::Break)];
    replies.push(Reply::new(200, "text/event-stream").step(Step::Break));
    let world = World::new(replies).await;
    cancel_when(&world, |kind| matches!(kind, EventKind::Notice { .. })).await;
}

/// Case 44.
#[tokio::test]
async fn a_session_is_cancelled_with_what_waits_and_others_are_left_alone() {
    let hang = || Reply::new(200, "text/event-stream").step(Step::Hang);
    let slow = Reply::new(200, "text/event-stream")
        .step(Step::Wait(Duration::from_millis(200)))
        .step(Step::Send(ChatStream::answer("untouched").bytes("\n")));
    let world = World::new([hang(), slow]).await;
    let running = world.submit("running").await;
    world.wait_for_requests(1).await;
    let waiting = world.submit("waiting").await;
    let mut other = world.request("other");
    other.session_id = world
        .runtime
        .new_session(world.scope(), &world.config)
        .unwrap()
        .id;
    let other = world.runtime.submit(other).await.unwrap();
    assert_eq!(world.runtime.cancel_session(&world.session), 2);
    assert_eq!(outcome(running).await.status, TurnStatusKind::Cancelled);
    assert_eq!(outcome(waiting).await.status, TurnStatusKind::Cancelled);
    assert_eq!(outcome(other).await.text, "untouched");
    let requests = world.server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(world.runtime.cancel_session(&world.session), 0);
}

#[tokio::test]
async fn exactly_one_waiting_prompt_can_be_taken_back() {
    let hang = Reply::new(200, "text/event-stream").step(Step::Hang);
    let world = World::new([hang, Reply::answer("third")]).await;
    let first = world.submit("first").await;
    let second = world.submit("second").await;
    let third = world.submit("third").await;
    assert!(world.runtime.cancel_submission(&second.id));
    assert_eq!(outcome(second).await.status, TurnStatusKind::Cancelled);
    world.wait_for_requests(1).await;
    assert!(world.runtime.cancel_submission(&first.id));
    assert_eq!(outcome(first).await.status, TurnStatusKind::Cancelled);
    assert_eq!(outcome(third).await.text, "third");
}

#[tokio::test]
async fn a_shutdown_ends_everything_in_time_and_saves_it() {
    let command = json!({"command": "echo $$ > pid; sleep 62.5"});
    let mut world = World::new([Reply::calling("c1", "bash", &command)]).await;
    world.approval = ApprovalMode::Always;
    let submitted = world.submit("go").await;
    world
        .wait_for(|kind| matches!(kind, EventKind::ToolStart(_)))
        .await;
    while !world.project.path("pid").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let runtime = std::sync::Arc::clone(&world.runtime);
    let begun = Instant::now();
    tokio::task::spawn_blocking(move || runtime.shutdown(Duration::from_millis(500)))
        .await
        .unwrap();
    assert!(begun.elapsed() < SOON);
    assert_eq!(outcome(submitted).await.status, TurnStatusKind::Cancelled);
    let refused = world.runtime.submit(world.request("late")).await;
    assert_eq!(refused.unwrap_err().to_failure().code, "shutdown");
    assert_eq!(
        shapes(&world.saved_items()),
        ["message completed", "sample completed", "tool cancelled"]
    );
}

/// How many processes of a group are alive.  One that has ended and only waits for its
/// new parent to notice does not count.
fn live_processes(group: &str) -> usize {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| {
            // The name in parentheses may hold anything; the fields follow it.
            let mut fields = stat
                .rsplit(')')
                .next()
                .unwrap_or_default()
                .split_whitespace();
            let state = fields.next();
            state != Some("Z") && fields.nth(1) == Some(group)
        })
        .count()
}

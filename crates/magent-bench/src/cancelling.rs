//! From a cancel to the end of the turn, in each state of a turn.

use std::fs;
use std::time::{Duration, Instant};

use magent_runtime::ApprovalMode;
use magent_testkit::{ChatStream, Reply, Step};
use magent_types::TurnStatusKind;
use serde_json::json;

use crate::Failure;
use crate::report::{Figure, percentile};
use crate::world::{World, block_on, outcome, wait_until};

/// Cancels in each state.
const ROUNDS: usize = 10;

/// A state of a turn to cancel it in.
struct State {
    name: &'static str,
    reply: fn() -> Reply,
    /// What is reported when the state is reached.
    reached: &'static str,
    approval: ApprovalMode,
}

fn states() -> [State; 5] {
    let state = |name, reply, reached, approval| State {
        name,
        reply,
        reached,
        approval,
    };
    [
        state("streaming", streaming, "assistant-delta", ApprovalMode::Ask),
        state("silent provider", silent, "sample-start", ApprovalMode::Ask),
        state(
            "open question",
            writing,
            "approval-requested",
            ApprovalMode::Ask,
        ),
        state(
            "running bash",
            running,
            "tool-call-output",
            ApprovalMode::Always,
        ),
        state("waiting to retry", broken, "notice", ApprovalMode::Ask),
    ]
}

fn stream() -> Reply {
    Reply::new(200, "text/event-stream")
}

fn streaming() -> Reply {
    let mut reply = stream();
    for _ in 0..1_000 {
        let piece = ChatStream::new().text("some words ").bytes("\n");
        reply = reply
            .step(Step::Send(piece))
            .step(Step::Wait(Duration::from_millis(2)));
    }
    reply
}

fn silent() -> Reply {
    stream().step(Step::Hang)
}

fn writing() -> Reply {
    Reply::calling("c1", "bash", &json!({"command": "true"}))
}

fn running() -> Reply {
    let command = "echo $$ > pid; sleep 61.5 & echo started; sleep 61.5";
    Reply::calling("c1", "bash", &json!({"command": command}))
}

fn broken() -> Reply {
    stream().step(Step::Break)
}

/// Cancels turns and reports the slowest ends.
pub(crate) fn cancel() -> Result<Vec<Figure>, Failure> {
    block_on(async {
        let mut all = Vec::new();
        let mut groups = Vec::new();
        let mut figures = Vec::new();
        for state in states() {
            let mut times = Vec::new();
            for _ in 0..ROUNDS {
                let (took, gone) = cancel_in(&state).await?;
                times.push(took);
                groups.extend(gone);
            }
            let name = format!("cancel, {}: longest", state.name);
            figures.push(Figure::plain(name, percentile(times.clone(), 100)));
            all.extend(times);
        }
        let name = format!("cancel to outcome, p99 of {}", all.len());
        figures.insert(0, Figure::within(name, percentile(all, 99), 100.0));
        let name = "cancel to process group gone, longest";
        figures.push(if groups.is_empty() {
            Figure::noted(name, Duration::ZERO, "needs /proc")
        } else {
            Figure::within(name, percentile(groups, 100), 1_000.0)
        });
        Ok(figures)
    })
}

/// Cancels one turn.  Returns how long its end took, and that of its processes.
async fn cancel_in(state: &State) -> Result<(Duration, Option<Duration>), Failure> {
    let world = World::new([(state.reply)()]).await?;
    let submitted = world.submit(state.approval.clone()).await?;
    world.wait_for(state.reached).await?;
    wait_until("the request", || !world.server.requests().is_empty()).await?;
    let begun = Instant::now();
    world.runtime.cancel_session(&world.session);
    let ended = outcome(submitted).await?;
    let took = begun.elapsed();
    if ended.status != TurnStatusKind::Cancelled {
        return Err(format!("{}: the turn ended as {:?}", state.name, ended.status).into());
    }
    let mut gone = None;
    if let Ok(group) = fs::read_to_string(world.project.path("pid"))
        && fs::exists("/proc/self/stat")?
    {
        wait_until("the end of the processes", || {
            live_processes(group.trim()) == 0
        })
        .await?;
        gone = Some(begun.elapsed());
    }
    Ok((took, gone))
}

/// How many processes of a group are alive.  One that has ended and only waits for its
/// new parent to notice does not count.
fn live_processes(group: &str) -> usize {
    let Ok(processes) = fs::read_dir("/proc") else {
        return 0;
    };
    processes
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| {
            // The name in parentheses may hold anything; the fields follow it.
            let fields = stat.rsplit(')').next().unwrap_or_default();
            let mut fields = fields.split_whitespace();
            let state = fields.next();
            state != Some("Z") && fields.nth(1) == Some(group)
        })
        .count()
}

use std::time::Instant;

use super::*;
use crate::test_support::{Project, eventually};

fn start(project: &Project, command: &str) -> ShellProcess {
    ShellProcess::start(
        OsStr::new("bash"),
        command,
        &project.root,
        &Surroundings::default(),
    )
    .unwrap()
}

/// The ids that a command wrote into a file.
fn ids(project: &Project, name: &str) -> Vec<Pid> {
    let text = std::fs::read_to_string(project.path(name)).unwrap_or_default();
    let words = text.split_whitespace();
    words.map(|id| Pid::from_raw(id.parse().unwrap())).collect()
}

/// A process that is gone, or dead and not yet reaped by init.
fn is_gone(id: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    match stat.rsplit_once(')') {
        Some((_, rest)) => rest.trim_start().starts_with('Z'),
        None => nix::sys::signal::kill(id, None).is_err(),
    }
}

async fn supervise(
    process: ShellProcess,
    timeout: Duration,
    cancel: &CancellationToken,
) -> (Ending, String) {
    let mut output = Vec::new();
    let ending = process
        .supervise(timeout, cancel, &mut |bytes: &[u8]| {
            output.extend_from_slice(bytes);
        })
        .await
        .unwrap();
    (ending, String::from_utf8(output).unwrap())
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn all_output_arrives_before_the_end() {
    let project = Project::new();
    let process = start(&project, "seq 1 50000; echo err >&2");
    let (ending, output) = supervise(process, LONG, &CancellationToken::new()).await;
    assert!(matches!(ending, Ending::Exited(status) if status.success()));
    assert!(output.starts_with("1\n2\n") && output.ends_with("50000\nerr\n"));
}

#[tokio::test]
async fn children_in_the_background_end_with_the_shell() {
    let project = Project::new();
    let process = start(&project, "sleep 60 & echo $! > ids; echo done");
    let start = Instant::now();
    let (ending, output) = supervise(process, LONG, &CancellationToken::new()).await;
    assert!(matches!(ending, Ending::Exited(_)));
    assert_eq!(output, "done\n");
    assert!(start.elapsed() < Duration::from_secs(5));
    eventually("the sleeper is gone", || is_gone(ids(&project, "ids")[0])).await;
}

/// A process that left the group holds the pipe; the call ends all the same.
#[tokio::test]
async fn a_process_that_left_the_group_does_not_hold_the_call() {
    let project = Project::new();
    let process = start(
        &project,
        "setsid sleep 30 & echo $! > ids; sleep 0.1; echo done",
    );
    let start = Instant::now();
    let (ending, output) = supervise(process, LONG, &CancellationToken::new()).await;
    assert!(matches!(ending, Ending::Exited(_)));
    assert_eq!(output, "done\n");
    assert!(start.elapsed() < Duration::from_secs(3));
    for id in ids(&project, "ids") {
        let _ = nix::sys::signal::kill(id, Signal::SIGKILL);
    }
}

/// C15: the whole group is gone well within a second.
#[tokio::test]
async fn a_cancel_ends_the_whole_group() {
    let project = Project::new();
    let command = "trap '' TERM; sleep 60 & echo $$ $! > part; mv part ids; sleep 60";
    let process = start(&project, command);
    let cancel = CancellationToken::new();
    let canceller = async {
        eventually("the command runs", || project.path("ids").exists()).await;
        cancel.cancel();
        Instant::now()
    };
    let ((ending, _), cancelled) = tokio::join!(supervise(process, LONG, &cancel), canceller);
    assert_eq!(ending, Ending::Cancelled);
    assert!(cancelled.elapsed() < Duration::from_millis(500));
    let ids = ids(&project, "ids");
    assert_eq!(ids.len(), 2);
    eventually("the group is gone", || ids.iter().all(|id| is_gone(*id))).await;
    assert!(cancelled.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn a_timeout_keeps_the_output_and_lets_the_command_clean_up() {
    let project = Project::new();
    let command = "trap 'echo cleaned; exit' TERM; echo before; while :; do sleep 0.01; done";
    let process = start(&project, command);
    let start = Instant::now();
    let timeout = Duration::from_millis(300);
    let (ending, output) = supervise(process, timeout, &CancellationToken::new()).await;
    assert_eq!(ending, Ending::TimedOut);
    // In between the shell may say that its child was terminated.
    assert!(
        output.starts_with("before\n") && output.ends_with("cleaned\n"),
        "{output}"
    );
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn endless_output_delays_no_timeout() {
    let project = Project::new();
    let process = start(&project, "yes");
    let mut bytes = 0;
    let begin = Instant::now();
    let ending = process
        .supervise(
            Duration::from_millis(200),
            &CancellationToken::new(),
            &mut |piece: &[u8]| bytes += piece.len(),
        )
        .await
        .unwrap();
    assert_eq!(ending, Ending::TimedOut);
    assert!(bytes > 1_000_000);
    assert!(begin.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn a_command_that_closes_its_output_is_still_waited_for() {
    let project = Project::new();
    let process = start(&project, "exec >&- 2>&-; sleep 0.2; touch late");
    let (ending, _) = supervise(process, LONG, &CancellationToken::new()).await;
    assert!(matches!(ending, Ending::Exited(_)));
    assert!(project.path("late").exists());
}

#[tokio::test]
async fn a_dropped_call_kills_the_group() {
    let project = Project::new();
    let process = start(
        &project,
        "sleep 60 & echo $$ $! > part; mv part ids; sleep 60",
    );
    let cancel = CancellationToken::new();
    let run = supervise(process, LONG, &cancel);
    tokio::select! {
        _ = run => panic!("it must still run"),
        () = eventually("the command runs", || project.path("ids").exists()) => {}
    }
    let ids = ids(&project, "ids");
    assert_eq!(ids.len(), 2);
    eventually("the group is gone", || ids.iter().all(|id| is_gone(*id))).await;
}

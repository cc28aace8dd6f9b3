use std::time::{Duration, Instant};

use super::*;

fn wait_for(stop: &StopFlag) -> Result<(), ToolError> {
    let start = Instant::now();
    while !stop.is_set() && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(1));
    }
    stop.check()
}

#[tokio::test]
async fn a_cancel_ends_reading_at_once_and_stops_the_work() {
    let cancel = CancellationToken::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let canceller = cancel.clone();
    let run = read_in_background(&cancel, move |stop| {
        canceller.cancel();
        let end = wait_for(stop);
        let _ = sender.send(end.clone());
        end
    });
    assert_eq!(run.await, Err(ToolError::Cancelled));
    let end = receiver.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(end, Err(ToolError::Cancelled));
}

#[tokio::test]
async fn a_dropped_call_stops_the_work() {
    let cancel = CancellationToken::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let run = read_in_background(&cancel, move |stop| {
        let end = wait_for(stop);
        let _ = sender.send(end.clone());
        end
    });
    let timeout = tokio::time::timeout(Duration::from_millis(20), run).await;
    assert!(timeout.is_err());
    let end = receiver.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(end, Err(ToolError::Cancelled));
}

#[tokio::test]
async fn a_change_that_was_made_is_never_called_cancelled() {
    let cancel = CancellationToken::new();
    let canceller = cancel.clone();
    let run = write_in_background(&cancel, move |_stop| {
        canceller.cancel();
        std::thread::sleep(Duration::from_millis(20));
        Ok("written")
    });
    assert_eq!(run.await, Ok("written"));
}

#[tokio::test]
async fn a_panic_in_the_work_is_a_failed_call() {
    let cancel = CancellationToken::new();
    let run = read_in_background(&cancel, |_stop| -> Result<(), ToolError> {
        panic!("on purpose")
    });
    match run.await {
        Err(ToolError::Failed { code, .. }) => assert_eq!(code, "internal"),
        other => panic!("{other:?}"),
    }
}

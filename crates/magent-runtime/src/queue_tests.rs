use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn session(number: usize) -> SessionId {
    SessionId::new(format!("s{number}"))
}

#[test]
fn one_at_a_time_in_a_session_and_sessions_side_by_side() {
    let mut queue = Queue::default();
    for name in ["a", "b"] {
        queue.push(&session(1), name.into());
    }
    queue.push(&session(2), "c".into());
    assert_eq!(queue.start_next(&session(1)), Some("a".into()));
    assert_eq!(queue.start_next(&session(1)), None);
    assert_eq!(queue.start_next(&session(2)), Some("c".into()));
    queue.finish(&session(1), &"b".into());
    assert_eq!(queue.start_next(&session(1)), None);
    queue.finish(&session(1), &"a".into());
    assert_eq!(queue.start_next(&session(1)), Some("b".into()));
    queue.finish(&session(1), &"b".into());
    assert!(!queue.is_busy(&session(1)));
    assert!(queue.is_busy(&session(2)));
}

#[derive(Clone, Debug)]
enum Step {
    Push(usize),
    Start(usize),
    FinishRunning(usize),
    FinishOther(usize),
    RemoveWaiting(usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..3_usize).prop_flat_map(|lane| {
        prop_oneof![
            3 => Just(Step::Push(lane)),
            3 => Just(Step::Start(lane)),
            2 => Just(Step::FinishRunning(lane)),
            1 => Just(Step::FinishOther(lane)),
            1 => (0..4_usize).prop_map(move |nth| Step::RemoveWaiting(lane, nth)),
        ]
    });
    prop::collection::vec(step, 0..80)
}

proptest! {
    /// Against a plain model: never two running in a session, never a reorder, nothing
    /// lost and nothing invented.
    #[test]
    fn behaves_like_one_line_per_session(steps in steps()) {
        let mut queue = Queue::default();
        let mut waiting: HashMap<usize, Vec<SubmissionId>> = HashMap::new();
        let mut running: HashMap<usize, SubmissionId> = HashMap::new();
        let mut count = 0;
        for step in steps {
            match step {
                Step::Push(lane) => {
                    count += 1;
                    let id = SubmissionId::new(format!("n{count}"));
                    queue.push(&session(lane), id.clone());
                    waiting.entry(lane).or_default().push(id);
                }
                Step::Start(lane) => {
                    let line = waiting.entry(lane).or_default();
                    let expected = (!running.contains_key(&lane) && !line.is_empty())
                        .then(|| line.remove(0));
                    prop_assert_eq!(queue.start_next(&session(lane)), expected.clone());
                    if let Some(id) = expected {
                        running.insert(lane, id);
                    }
                }
                Step::FinishRunning(lane) => {
                    if let Some(id) = running.remove(&lane) {
                        queue.finish(&session(lane), &id);
                    }
                }
                Step::FinishOther(lane) => queue.finish(&session(lane), &"unknown".into()),
                Step::RemoveWaiting(lane, nth) => {
                    let line = waiting.entry(lane).or_default();
                    let id = line.get(nth).cloned().unwrap_or_else(|| "unknown".into());
                    let there = line.contains(&id);
                    line.retain(|known| *known != id);
                    prop_assert_eq!(queue.remove_waiting(&session(lane), &id), there);
                }
            }
            for lane in 0..3 {
                prop_assert_eq!(queue.running(&session(lane)), running.get(&lane));
                let line: Vec<SubmissionId> = queue.waiting(&session(lane)).cloned().collect();
                prop_assert_eq!(&line, waiting.entry(lane).or_default());
            }
        }
    }
}

//! The other side of the cancel fuzz: a model that says random things, and its Emacs.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use magent_runtime::{HostBridge, HostRequest, HostSink, Runtime, RuntimePorts};
use magent_sampling::{ProviderError, Route, SampleLimits, SampleRequest, Sampler, codec_for};
use magent_types::{ModelCall, ModelEvent, StopReason};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Xorshift: the same numbers for the same seed, on every machine.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self((seed << 3 | stream).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..4 {
            random.below(2);
        }
        random
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = self.below(from.len().max(1) as u64);
        from.get(index as usize)
    }

    pub(super) async fn pause(&mut self, most_ms: u64) {
        sleep(Duration::from_millis(self.below(most_ms))).await;
    }
}

enum Step {
    Pause,
    Say(ModelEvent),
    Break(ProviderError),
    Hang,
}

/// A model that says random things, and not always heeds a cancel at once.
pub(super) struct Model {
    random: Mutex<Random>,
    pub(super) requests: Mutex<Vec<(SampleRequest, Value)>>,
    /// From now on it answers like any good model.
    pub(super) calm: AtomicBool,
}

#[async_trait]
impl Sampler for Model {
    async fn sample(
        &self,
        route: &Route,
        request: &SampleRequest,
        _limits: SampleLimits,
        cancel: &CancellationToken,
        events: mpsc::Sender<ModelEvent>,
    ) -> Result<(), ProviderError> {
        let body = codec_for(route.dialect).encode(route, request);
        self.requests.lock().push((request.clone(), body));
        let mut random = Random::new(self.random.lock().below(u64::MAX), 4);
        let steps = match self.calm.load(Ordering::Relaxed) {
            true => answer("All is well."),
            false => random_steps(&mut random),
        };
        // A model that is deaf for longer than the runtime waits is dropped by it.
        let deaf_ms = if random.one_in(3) {
            random.below(200)
        } else {
            0
        };
        let cancelled = async {
            cancel.cancelled().await;
            sleep(Duration::from_millis(deaf_ms)).await;
        };
        tokio::select! {
            biased;
            () = cancelled => Err(ProviderError::Cancelled),
            result = play(steps, random, events) => result,
        }
    }
}

async fn play(
    steps: Vec<Step>,
    mut random: Random,
    events: mpsc::Sender<ModelEvent>,
) -> Result<(), ProviderError> {
    for step in steps {
        match step {
            Step::Pause => random.pause(60).await,
            Step::Hang => std::future::pending().await,
            Step::Break(error) => return Err(error),
            Step::Say(event) => {
                let sent = events.send(event).await;
                sent.map_err(|_| ProviderError::Cancelled)?;
            }
        }
    }
    Ok(())
}

fn answer(text: &str) -> Vec<Step> {
    vec![
        Step::Say(ModelEvent::TextDelta(text.into())),
        Step::Say(ModelEvent::Completed(StopReason::EndTurn)),
    ]
}

fn random_steps(random: &mut Random) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..random.below(6) {
        steps.push(match random.below(8) {
            0..=2 => Step::Pause,
            3..=4 => Step::Say(ModelEvent::ReasoningDelta("hm ".into())),
            _ => Step::Say(ModelEvent::TextDelta("so ".into())),
        });
    }
    let truncated = ProviderError::Truncated { host: "h".into() };
    match random.below(10) {
        0 => steps.push(Step::Hang),
        1 => steps.push(Step::Break(truncated)),
        2 => steps.push(Step::Break(ProviderError::Route("broken".into()))),
        3 => steps.push(Step::Say(ModelEvent::Completed(StopReason::EndTurn))),
        4..=7 => {
            for _ in 0..=random.below(3) {
                steps.push(Step::Say(ModelEvent::ToolCall(random_call(random))));
            }
            steps.push(Step::Pause);
            steps.push(Step::Say(ModelEvent::Completed(StopReason::ToolCalls)));
        }
        _ => steps.extend(answer("Done.")),
    }
    steps
}

fn random_call(random: &mut Random) -> ModelCall {
    let plan = json!({"plan": [{"step": "look", "status": "in_progress"}]});
    let read = json!({"path": "notes.txt", "source": "disk"});
    let file = format!("out-{}.txt", random.below(4));
    let write = json!({"path": file, "content": "x\n", "expected_revision": "absent"});
    let (name, arguments) = match random.below(12) {
        0..=2 => ("update_plan", plan),
        3..=4 => ("read_file", read),
        5..=8 => ("write_file", write),
        9 => ("bash", json!({"command": "echo one; sleep 0.02; echo two"})),
        10 => ("update_plan", json!({"plan": 1})),
        _ => ("no_such_tool", json!({})),
    };
    ModelCall {
        // Providers repeat ids, and some send none.
        id: ["", "call_0", "call_1"][random.below(3) as usize].into(),
        name: name.into(),
        arguments: arguments.to_string(),
    }
}

/// Answers what Emacs would answer.
#[derive(Default)]
struct Emacs(OnceLock<Weak<HostBridge>>);

impl HostSink for Emacs {
    fn send(&self, request: HostRequest) -> bool {
        let model = json!({"backend": "Mock", "model": "m"});
        let reply = match request.op.as_str() {
            "models" => json!({"models": [model], "default": model}),
            "route" => json!({"dialect": "openai-chat", "url": "http://localhost/"}),
            _ => json!({"visiting": false, "modified": false, "stale": false, "buffer": null}),
        };
        let bridge = self.0.get().and_then(Weak::upgrade);
        bridge.is_some_and(|bridge| bridge.reply(&request.id, Ok(reply)))
    }
}

/// Starts a runtime whose model follows the seed.
pub(super) fn start(seed: u64, session_directory: PathBuf) -> (Arc<Runtime>, Arc<Model>) {
    let model = Arc::new(Model {
        random: Mutex::new(Random::new(seed, 0)),
        requests: Mutex::default(),
        calm: AtomicBool::new(false),
    });
    let emacs = Arc::new(Emacs::default());
    let host = Arc::new(HostBridge::new(Arc::clone(&emacs) as Arc<dyn HostSink>));
    emacs.0.set(Arc::downgrade(&host)).unwrap();
    let runtime = Runtime::start(RuntimePorts {
        host,
        sampler: Arc::clone(&model) as Arc<dyn Sampler>,
        session_directory,
        home: None,
        holder: "test".into(),
        about: String::new(),
        process_setup: None,
        handle: tokio::runtime::Handle::current(),
    });
    (runtime.unwrap(), model)
}

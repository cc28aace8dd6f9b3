//! Cancel fuzz: whatever users and models do at once, nothing is lost, doubled or late.
//!
//! Every round is one session with a model and two users that act at random, on a clock
//! that jumps to the next thing to happen.  Afterwards: every prompt that was accepted has
//! exactly one outcome and nothing is reported of it later, every call that was announced
//! has ended once, no question is open, words that were accepted are in the conversation
//! once and refused ones never, every request was well formed, what was shown is saved,
//! nothing saved is unfinished, and the session answers its next prompt.
//!
//! `MAGENT_CANCEL_FUZZ_ROUNDS` sets how many rounds there are, and
//! `MAGENT_CANCEL_FUZZ_SEED` runs a single one again.

mod model;

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use magent_runtime::{
    ApprovalDecision, ApprovalMode, Runtime, RuntimeConfig, SubmitRequest, Submitted, ToolSelection,
};
use magent_testkit::{CapturedRequest, TempProject};
use magent_types::{
    ApprovalId, ConversationEntry, EventKind, ItemId, PromptInput, RuntimeEvent, Scope, SessionId,
    SubmissionId, Thread, TurnOutcome, TurnStatus, TurnStatusKind,
};
use parking_lot::Mutex;
use serde_json::Map;
use tokio::time::sleep;

use model::{Model, Random, start};

/// Few enough that all tests together stay quick; the full run has 2,000.
const ROUNDS: u64 = 50;
/// The most prompts of a round; each costs a debug build tens of milliseconds.
const MOST_PROMPTS: usize = 5;
/// Far longer than anything takes.  It is real time: the disk knows no other, so the
/// runtime's clock may jump while the disk works.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn whatever_happens_at_once_every_prompt_ends_once_and_leaves_nothing_behind() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().unwrap());
    let seeds = match number("MAGENT_CANCEL_FUZZ_SEED") {
        Some(seed) => vec![seed],
        None => (1..=number("MAGENT_CANCEL_FUZZ_ROUNDS").unwrap_or(ROUNDS)).collect(),
    };
    let mut seen: BTreeMap<&'static str, usize> = BTreeMap::new();
    for &seed in &seeds {
        let names = catch_unwind(AssertUnwindSafe(|| round(seed)))
            .unwrap_or_else(|_| panic!("run again with MAGENT_CANCEL_FUZZ_SEED={seed}"));
        for name in names {
            *seen.entry(name).or_default() += 1;
        }
    }
    println!("{} rounds: {seen:?}", seeds.len());
    // Rounds in which one of these never happens would prove nothing about it.
    let wanted = "turn-complete turn-failed turn-cancelled assistant-delta reasoning-delta \
                  tool-call-start approval-resolved words-accepted words-refused prompt-dropped";
    for name in wanted.split_whitespace() {
        let is_seen = seen.contains_key(name);
        assert!(is_seen || (seeds.len() as u64) < ROUNDS, "no {name}");
    }
}

/// Runs one round and returns the names of what happened in it.
fn round(seed: u64) -> Vec<&'static str> {
    // A clock of its own for each round: no task of an earlier one can disturb it.
    let clock = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    clock.block_on(async {
        let scene = Scene::new(seed);
        tokio::join!(
            scene.act(Random::new(seed, 1)),
            scene.act(Random::new(seed, 2))
        );
        scene.come_to_rest(Random::new(seed, 3)).await;
        let mut outcomes = scene.check_outcomes();
        outcomes.push(scene.prompt_again().await);
        let thread = scene.saved().await;
        check_saved(&thread, &outcomes);
        scene.check_shown(&thread);
        scene.check_calls();
        let mut names = scene.check_words(&thread);
        names.extend(scene.events.lock().iter().map(|event| event.kind.name()));
        names
    })
}

/// A session, and what was done to it.
struct Scene {
    runtime: Arc<Runtime>,
    model: Arc<Model>,
    session: SessionId,
    scope: Scope,
    config: Arc<RuntimeConfig>,
    events: Arc<Mutex<Vec<RuntimeEvent>>>,
    submitted: Mutex<Vec<Submitted>>,
    /// What was said to running turns, and whether it was accepted.
    words: Mutex<Vec<(String, bool)>>,
    storage: tempfile::TempDir,
    _project: TempProject,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let storage = tempfile::tempdir().unwrap();
        let project = TempProject::new();
        project.write("notes.txt", "alpha\n");
        let (runtime, model) = start(seed, storage.path().join("sessions"));
        let events: Arc<Mutex<Vec<RuntimeEvent>>> = Arc::default();
        let log = Arc::clone(&events);
        runtime.subscribe(None, Arc::new(move |event| log.lock().push(event.clone())));
        let config = RuntimeConfig {
            system_prompt: Some("Be brief.".into()),
            max_history: None,
            ..RuntimeConfig::default()
        };
        let scope = Scope::Project(project.root().to_str().unwrap().into());
        Self {
            session: runtime.new_session(scope.clone(), &config).unwrap().id,
            runtime,
            model,
            scope,
            config: Arc::new(config),
            events,
            submitted: Mutex::default(),
            words: Mutex::default(),
            storage,
            _project: project,
        }
    }

    /// What one user does.
    async fn act(&self, mut random: Random) {
        for _ in 0..5 + random.below(20) {
            match random.below(16) {
                0..=2 => self.submit().await,
                3..=4 => self.steer().await,
                5 if random.one_in(2) => drop(self.runtime.cancel_session(&self.session)),
                6 => {
                    let id = random.pick(&self.submitted.lock()).map(|it| it.id.clone());
                    let id = id.unwrap_or_else(SubmissionId::fresh);
                    self.runtime.cancel_submission(&id);
                }
                7..=9 => self.answer(&mut random),
                _ => random.pause(120).await,
            }
        }
    }

    async fn submit(&self) {
        if self.submitted.lock().len() < MOST_PROMPTS {
            let submitted = self.prompt().await;
            self.submitted.lock().push(submitted);
        }
    }

    async fn prompt(&self) -> Submitted {
        let id = SubmissionId::fresh();
        let request = SubmitRequest {
            // The id is in the prompt, so that it can be found in the conversation.
            input: PromptInput::text(id.as_str()),
            id,
            session_id: self.session.clone(),
            tools: ToolSelection::All,
            agent: None,
            model: None,
            approval: ApprovalMode::Ask,
            config: Arc::clone(&self.config),
            metadata: Map::new(),
        };
        self.runtime.submit(request).await.unwrap()
    }

    async fn steer(&self) {
        let text = ItemId::fresh().to_string();
        let mut told = false;
        let accepted =
            (self.runtime).steer(&self.session, PromptInput::text(&text), || told = true);
        let accepted = accepted.await.unwrap();
        assert_eq!(accepted, told, "who is accepted is told");
        self.words.lock().push((text, accepted));
    }

    /// Answers a question that was ever put, or one that never was.
    fn answer(&self, random: &mut Random) {
        let put: Vec<ApprovalId> = (self.events.lock().iter())
            .filter_map(|event| match &event.kind {
                EventKind::ApprovalRequested(view) => Some(view.approval_id.clone()),
                _ => None,
            })
            .collect();
        assert!(
            self.runtime.open_approvals() <= 1,
            "one turn asks at a time"
        );
        let newest = put.last().filter(|_| random.one_in(2));
        let id = newest.or_else(|| random.pick(&put)).cloned();
        let decision = match random.below(10) {
            0 => ApprovalDecision::AllowSession,
            1 => ApprovalDecision::DenySession,
            2..=4 => ApprovalDecision::DenyOnce,
            _ => ApprovalDecision::AllowOnce,
        };
        let id = id.unwrap_or_else(ApprovalId::fresh);
        self.runtime.resolve_approval(&id, decision);
    }

    /// Lets everything end; what does not end by itself is cancelled after a while.
    async fn come_to_rest(&self, mut random: Random) {
        let begun = Instant::now();
        let mut passes = 0;
        while self.runtime.is_busy(&self.session) {
            assert!(begun.elapsed() < PATIENCE, "the session never rests");
            self.answer(&mut random);
            // Last, so that no answer tidies up what the cancel should.
            passes += 1;
            if passes > 40 || random.one_in(10) {
                self.runtime.cancel_session(&self.session);
            }
            random.pause(40).await;
        }
        // Whatever comes too late comes now.
        sleep(Duration::from_secs(10)).await;
    }

    /// Every prompt has one outcome, told as its last report.
    fn check_outcomes(&self) -> Vec<(SubmissionId, TurnStatusKind)> {
        assert_eq!(self.runtime.open_approvals(), 0, "a question stayed open");
        let submitted = std::mem::take(&mut *self.submitted.lock());
        let check = |mut it: Submitted| {
            let outcome: TurnOutcome = it.outcome.try_recv().expect("an outcome");
            let code = outcome.failure.as_ref().map(|failure| &*failure.code);
            // What the model does wrong; a panic or a limit would be a fault of ours.
            let known = [
                None,
                Some("stream-truncated"),
                Some("route"),
                Some("empty-completion"),
            ];
            assert!(known.contains(&code), "{outcome:?}");
            self.check_end(&it.id, &outcome);
            (it.id, outcome.status)
        };
        submitted.into_iter().map(check).collect()
    }

    fn check_end(&self, id: &SubmissionId, outcome: &TurnOutcome) {
        let events = self.events.lock();
        let own: Vec<&EventKind> = (events.iter())
            .filter(|event| event.submission_id.as_ref() == Some(id))
            .map(|event| &event.kind)
            .collect();
        let is_end = |kind: &&&EventKind| matches!(kind, EventKind::TurnEnd(_));
        let names: Vec<&str> = own.iter().map(|kind| kind.name()).collect();
        assert_eq!(own.iter().filter(is_end).count(), 1, "{names:?}");
        let last = own.last();
        assert!(
            matches!(last, Some(EventKind::TurnEnd(told)) if **told == *outcome),
            "{names:?} {outcome:?}"
        );
    }

    /// The session works as if nothing had been.
    async fn prompt_again(&self) -> (SubmissionId, TurnStatusKind) {
        self.model.calm.store(true, Ordering::Relaxed);
        let mut submitted = self.prompt().await;
        let begun = Instant::now();
        while self.runtime.is_busy(&self.session) {
            assert!(begun.elapsed() < PATIENCE, "the last prompt never ends");
            sleep(Duration::from_millis(50)).await;
        }
        let outcome = submitted.outcome.try_recv().expect("an outcome");
        assert_eq!(outcome.text, "All is well.", "{outcome:?}");
        self.check_end(&submitted.id, &outcome);
        (submitted.id, outcome.status)
    }

    /// Ends the runtime and reads what it left on the disk.
    async fn saved(&self) -> Thread {
        let runtime = Arc::clone(&self.runtime);
        tokio::task::spawn_blocking(move || runtime.shutdown(Duration::from_secs(10)))
            .await
            .unwrap();
        let directory = magent_ledger::SessionDirectory::new(self.storage.path().join("sessions"));
        let loaded = directory.load(&self.scope, &self.session).unwrap();
        loaded.ledger.thread().clone()
    }

    /// Whatever a user saw of an answer is saved.
    fn check_shown(&self, thread: &Thread) {
        let mut shown: HashMap<ItemId, String> = HashMap::new();
        for event in self.events.lock().iter() {
            if let EventKind::AssistantDelta { item, text }
            | EventKind::ReasoningDelta { item, text } = &event.kind
            {
                shown.entry(item.clone()).or_default().push_str(text);
            }
        }
        for item in thread.turns.iter().flat_map(|turn| &turn.items) {
            if let Some(text) = shown.remove(&item.id) {
                assert_eq!(item.content.as_ref(), Some(&text), "{item:?}");
            }
        }
        assert!(shown.is_empty(), "{shown:?}");
    }

    /// Every call goes once through its states, every question is put and settled once,
    /// and no request has a call without its result.
    fn check_calls(&self) {
        let mut rows: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
        for event in self.events.lock().iter() {
            let id = match &event.kind {
                EventKind::ToolPending(view)
                | EventKind::ToolStart(view)
                | EventKind::ToolComplete(view) => view.item_id.to_string(),
                EventKind::ApprovalRequested(view) => view.approval_id.to_string(),
                EventKind::ApprovalResolved { approval_id, .. } => approval_id.to_string(),
                _ => continue,
            };
            rows.entry(id).or_default().push(event.kind.name());
        }
        for row in rows.values() {
            let is_whole = matches!(
                &*row.join(" "),
                "tool-call-detected tool-call-complete"
                    | "tool-call-detected tool-call-start tool-call-complete"
                    | "approval-requested approval-resolved"
            );
            assert!(is_whole, "{row:?}");
        }
        for (_, body) in self.model.requests.lock().iter() {
            let request = CapturedRequest {
                path: String::new(),
                headers: Vec::new(),
                body: body.clone(),
            };
            assert!(!request.messages().is_empty());
            request.check_calls();
        }
    }

    /// No request has any words twice, and the last one has exactly those that count.
    fn check_words(&self, thread: &Thread) -> Vec<&'static str> {
        let mut said: Vec<String> = Vec::new();
        for (request, _) in self.model.requests.lock().iter() {
            said = (request.conversation.iter())
                .filter_map(|entry| match entry {
                    ConversationEntry::User(text) => Some(text.clone()),
                    _ => None,
                })
                .collect();
            said.sort();
            assert!(said.windows(2).all(|pair| pair[0] != pair[1]), "{said:?}");
        }
        let prompts = thread.turns.iter().map(|turn| {
            let counts = turn.status != TurnStatus::Dropped;
            let name = ["prompt-dropped", "prompt-told"][usize::from(counts)];
            (turn.op_id.clone().unwrap(), counts, name)
        });
        let words = std::mem::take(&mut *self.words.lock());
        let words = words.into_iter().map(|(text, counts)| {
            let name = ["words-refused", "words-accepted"][usize::from(counts)];
            (text, counts, name)
        });
        let mut names = Vec::new();
        let mut expected = 0;
        for (text, counts, name) in prompts.chain(words) {
            assert_eq!(said.contains(&text), counts, "{name} {text}");
            expected += usize::from(counts);
            names.push(name);
        }
        assert_eq!(said.len(), expected, "{said:?}");
        names
    }
}

/// Nothing on the disk is unfinished, and it says what was told.
fn check_saved(thread: &Thread, outcomes: &[(SubmissionId, TurnStatusKind)]) {
    let told: BTreeMap<&str, TurnStatusKind> = outcomes
        .iter()
        .map(|(id, status)| (id.as_str(), *status))
        .collect();
    assert_eq!(thread.turns.len(), told.len());
    for turn in &thread.turns {
        let kept = match turn.status {
            TurnStatus::Completed => TurnStatusKind::Completed,
            TurnStatus::Failed => TurnStatusKind::Failed,
            TurnStatus::Interrupted | TurnStatus::Dropped => TurnStatusKind::Cancelled,
            status => panic!("unfinished: {status:?}"),
        };
        assert_eq!(told.get(turn.op_id.as_deref().unwrap()), Some(&kept));
        for item in &turn.items {
            assert!(item.status.is_terminal(), "{item:?}");
        }
    }
}

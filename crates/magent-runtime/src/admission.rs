//! Prompts on their way in: accepted, frozen, queued, started, cancelled.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use magent_permission::{Exposure, Policy, RuleTable, SessionOverrides, exposure};
use magent_types::{
    AgentDefinition, EventKind, PermissionRules, PromptBlock, SamplingParams, SessionId,
    SubmissionId, Thinking,
};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::approval::ApprovalMode;
use crate::compaction;
use crate::runtime::Runtime;
use crate::session::Session;
use crate::steering::Steering;
use crate::submission::{RequestContext, Submission};
use crate::{ModelChoice, RuntimeConfig, RuntimeError, SubmitRequest, Submitted, ToolSelection};

impl Runtime {
    /// Accepts a prompt: resolves and freezes everything its turn needs, records it,
    /// and starts it as soon as its session's slot is free.
    pub async fn submit(
        self: &Arc<Self>,
        request: SubmitRequest,
    ) -> Result<Submitted, RuntimeError> {
        self.check_open()?;
        if request.input.is_blank() {
            return Err(RuntimeError::BlankPrompt);
        }
        let session = self.session(&request.session_id)?;
        let order = Arc::clone(&session);
        let _in_order = order.submitting.lock().await;
        let request = compaction::meant(request);
        self.compact_if_full(&session, &request).await;
        self.accept(&session, request).await
    }

    /// Accepts a request, in the order in which the session's requests came.
    pub(crate) async fn accept(
        self: &Arc<Self>,
        session: &Arc<Session>,
        request: SubmitRequest,
    ) -> Result<Submitted, RuntimeError> {
        compaction::check(session, &request)?;
        let context = self.freeze(session, &request).await?;
        let images = self
            .keep_images(session, &request.input, &context.choice)
            .await?;
        self.check_open()?;
        let submission_id = request.id.clone();
        let lock_problem = session.open_for_writing(
            &self.services.directory,
            &self.services.writer,
            &self.services.holder,
        );
        let (turn_id, item) =
            crate::drive::record_prompt(session, &submission_id, &request, images);
        let (sender, outcome) = oneshot::channel();
        let submission = Arc::new(Submission {
            id: submission_id.clone(),
            turn_id: turn_id.clone(),
            session: Arc::clone(session),
            request: context,
            cancel: CancellationToken::new(),
            outcome: Mutex::new(Some(sender)),
            steering: Steering::default(),
        });
        let text = request.input.display_text();
        self.tell_accepted(
            &submission,
            EventKind::UserMessage { item, text },
            lock_problem,
        );
        self.submissions
            .lock()
            .insert(submission_id.clone(), submission);
        self.queue.lock().push(&session.id, submission_id.clone());
        self.start_next(&session.id);
        Ok(Submitted {
            id: submission_id,
            turn_id,
            outcome,
        })
    }

    /// Tells what follows from a prompt that was accepted.
    fn tell_accepted(
        &self,
        submission: &Submission,
        message: EventKind,
        lock_problem: Option<String>,
    ) {
        let session = &submission.session;
        let report = |kind| {
            let (id, turn) = (Some(&submission.id), Some(&submission.turn_id));
            session.emit(&self.services.bus, id, turn, kind);
        };
        if let EventKind::UserMessage { text, .. } = &message
            && let Some(title) = session.derive_title(text)
        {
            report(EventKind::TitleChanged(title));
        }
        report(message);
        if let Some(problem) = lock_problem {
            let text =
                format!("The session could not be locked against other processes: {problem}.");
            report(EventKind::Notice { item: None, text });
        }
    }

    async fn freeze(
        &self,
        session: &Session,
        request: &SubmitRequest,
    ) -> Result<RequestContext, RuntimeError> {
        let config = Arc::clone(&request.config);
        let options = session.read(|state| state.options.clone());
        let agent = self.agent_of(request.agent.as_deref().unwrap_or(&options.agent))?;
        let mut tables = rule_tables(&config, &agent)?;
        // What the rules that answer for the user refuse is refused without a question, too.
        if let ApprovalMode::Rules(table) = &request.approval {
            tables.push(Arc::clone(table));
        }
        let tools = self.select_tools(&request.tools, &config, &tables)?;
        let choice = self
            .choose_model(request.model.clone().or(options.model), &agent)
            .await?;
        let params = SamplingParams {
            temperature: agent.temperature,
            top_p: agent.top_p,
            max_tokens: None,
            effort: options.effort.or(agent.effort).or(config.default_effort),
            thinking: options.thinking.unwrap_or(match agent.thinking {
                Thinking::Auto => config.default_thinking,
                thinking => thinking,
            }),
        };
        Ok(RequestContext {
            config,
            agent,
            tools,
            tables,
            choice,
            params,
            approval: request.approval.clone(),
            files: request_files(request),
            is_compaction: compaction::is_compaction(request),
        })
    }

    pub(crate) fn agent_of(&self, name: &str) -> Result<AgentDefinition, RuntimeError> {
        self.agents()
            .get(name)
            .cloned()
            .ok_or_else(|| self.unknown_agent(name))
    }

    pub(crate) fn unknown_agent(&self, name: &str) -> RuntimeError {
        RuntimeError::UnknownAgent {
            name: name.to_owned(),
            known: self
                .agents()
                .primary()
                .map(|agent| agent.name.clone())
                .collect(),
        }
    }

    fn select_tools(
        &self,
        selection: &ToolSelection,
        config: &RuntimeConfig,
        tables: &[Arc<RuleTable>],
    ) -> Result<Vec<Arc<dyn magent_tools::Tool>>, RuntimeError> {
        let names = match selection {
            ToolSelection::All => return Ok(self.catalog().iter().cloned().collect()),
            ToolSelection::Exact(names) => names,
        };
        let policy = Policy {
            tables: tables.to_vec(),
            overrides: SessionOverrides::default(),
            bypass: config.bypass_permission,
            enabled_keys: config.enabled_keys.clone(),
        };
        names
            .iter()
            .map(|name| {
                let tool = self.catalog().get(name);
                tool.filter(|tool| exposure(&policy, tool.spec().permission_key) == Exposure::Shown)
                    .cloned()
                    .ok_or_else(|| RuntimeError::UnavailableTool(name.clone()))
            })
            .collect()
    }

    /// The session's model, else the agent's, else the default.  A model that is no
    /// longer registered is an error: another one is never taken silently.
    async fn choose_model(
        &self,
        chosen: Option<ModelChoice>,
        agent: &AgentDefinition,
    ) -> Result<ModelChoice, RuntimeError> {
        let catalog = self.models().await?;
        if let Some(choice) = chosen {
            return match catalog.get(&choice) {
                Some(_) => Ok(choice),
                None => Err(catalog.unknown(choice.full_name())),
            };
        }
        if let Some(name) = &agent.model {
            return catalog
                .find(name)
                .ok_or_else(|| catalog.unknown(name.clone()));
        }
        catalog.default_choice()
    }

    /// Starts the next waiting submission of a session, if its slot is free.
    pub(crate) fn start_next(self: &Arc<Self>, session: &SessionId) {
        let next = self.queue.lock().start_next(session);
        let Some(id) = next else { return };
        let submission = self.submissions.lock().get(&id).cloned();
        match submission {
            Some(submission) => {
                let runtime = Arc::clone(self);
                self.handle
                    .spawn(async move { crate::drive::drive(runtime, submission).await });
            }
            None => self.queue.lock().finish(session, &id),
        }
    }

    /// Frees a submission's slot and starts the next one.
    pub(crate) fn release(self: &Arc<Self>, submission: &Submission) {
        self.submissions.lock().remove(&submission.id);
        let session = &submission.session.id;
        self.queue.lock().finish(session, &submission.id);
        self.start_next(session);
    }

    /// Cancels everything of a session: what waits is dropped, what runs is stopped.
    /// Returns how many submissions that were.
    pub fn cancel_session(self: &Arc<Self>, id: &SessionId) -> usize {
        let (waiting, running) = {
            let queue = self.queue.lock();
            let waiting: Vec<SubmissionId> = queue.waiting(id).cloned().collect();
            (waiting, queue.running(id).cloned())
        };
        // What waits goes first, or it would start when what runs has ended.
        waiting
            .iter()
            .chain(running.iter())
            .filter(|id| self.cancel_submission(id))
            .count()
    }

    /// Cancels one submission.  Returns false if it has ended already.
    pub fn cancel_submission(self: &Arc<Self>, id: &SubmissionId) -> bool {
        let Some(submission) = self.submissions.lock().get(id).cloned() else {
            return false;
        };
        submission.cancel.cancel();
        let waiting = self.queue.lock().remove_waiting(&submission.session.id, id);
        if waiting {
            self.submissions.lock().remove(id);
            crate::drive::drop_waiting(self, &submission);
        }
        true
    }

    /// Whether a session has work under way or waiting.
    pub fn is_busy(&self, id: &SessionId) -> bool {
        self.queue.lock().is_busy(id)
    }

    /// Whether any session has.
    pub fn is_any_busy(&self) -> bool {
        self.queue.lock().is_any_busy()
    }
}

/// The user's rules come before the agent's: one table, so that the first match in
/// declared order decides.
pub(crate) fn rule_tables(
    config: &RuntimeConfig,
    agent: &AgentDefinition,
) -> Result<Vec<Arc<RuleTable>>, RuntimeError> {
    let mut rules = PermissionRules::default();
    let mut origin = format!("agent {}", agent.name);
    if !config.permission_rules.rules.is_empty() {
        origin = format!("magent-permission-rules and {origin}");
        rules.rules.extend(config.permission_rules.rules.clone());
    }
    rules.rules.extend(agent.permission.rules.clone());
    Ok(vec![Arc::new(RuleTable::compile(origin, &rules)?)])
}

/// Local files that a prompt names.
fn request_files(request: &SubmitRequest) -> Vec<PathBuf> {
    request
        .input
        .blocks
        .iter()
        .filter_map(|block| match block {
            PromptBlock::Text(_) | PromptBlock::Image(_) => None,
            PromptBlock::Resource { uri, .. } | PromptBlock::ResourceLink { uri, .. } => {
                file_of_uri(uri)
            }
        })
        .collect()
}

fn file_of_uri(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let decoded = percent_encoding::percent_decode_str(path)
        .decode_utf8()
        .ok()?;
    let path = Path::new(decoded.as_ref());
    path.is_absolute().then(|| path.to_owned())
}

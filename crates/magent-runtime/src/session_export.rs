//! Writing a conversation down for people.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use magent_types::{Scope, SessionId};

use crate::export::{ExportFormat, Preamble, document, readable_time};
use crate::fork::Source;
use crate::runtime::Runtime;
use crate::{RuntimeConfig, RuntimeError};

impl Runtime {
    /// Writes the conversation of a session, live or saved, to a local file, whatever is
    /// in it; the session stays as it is.
    pub async fn export_session(
        self: &Arc<Self>,
        scope: Scope,
        id: SessionId,
        format: ExportFormat,
        file: PathBuf,
        config: &RuntimeConfig,
    ) -> Result<(), RuntimeError> {
        self.check_open()?;
        let runtime = Arc::clone(self);
        let default_agent = config.default_agent.clone();
        let written = tokio::task::spawn_blocking(move || {
            let source = runtime.read_session(&scope, &id, &default_agent)?;
            let catalog = &runtime.services.catalog;
            let text = document(format, &preamble(&source), &source.thread, catalog);
            fs::write(&file, text).map_err(|error| RuntimeError::Export(file, error))
        });
        written.await.unwrap_or(Err(RuntimeError::ShuttingDown))
    }
}

fn preamble(source: &Source) -> Preamble {
    let (header, thread) = (&source.header, &source.thread);
    let mut facts = vec![("Session", header.id.to_string())];
    if let Some(root) = header.scope.root() {
        facts.push(("Project", root.to_owned()));
    }
    if let Some(model) = header.model() {
        facts.push(("Model", model.to_owned()));
    }
    facts.push(("Begun", readable_time(thread.created_at)));
    facts.push(("Turns", thread.turns.len().to_string()));
    Preamble {
        title: header.display_title().unwrap_or("Untitled").to_owned(),
        facts,
    }
}

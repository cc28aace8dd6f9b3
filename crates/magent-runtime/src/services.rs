//! What turns use, and what a single call may reach of it.

use std::path::PathBuf;
use std::sync::Arc;

use magent_ledger::{
    ImageStore, SessionDirectory, SpillError, SpillSettings, SpillStore, StoreWriter,
};
use magent_sampling::{Route, Sampler};
use magent_tools::{
    Catalog, HostPort, LiveOutput, ProcessSetup, ReadFilter, SpillPage, SpillReader, ToolContext,
};
use magent_types::{Dialect, Scope, SessionId};
use tokio_util::sync::CancellationToken;

use crate::approval::Approvals;
use crate::audit::Audit;
use crate::bus::Bus;
use crate::host_sampler::HostSampler;
use crate::live::LiveRelay;
use crate::session::Session;
use crate::{AgentRegistry, HostBridge, RuntimeConfig};

/// What turns use.
pub(crate) struct Services {
    pub(crate) host: Arc<HostBridge>,
    pub(crate) sampler: Arc<dyn Sampler>,
    pub(crate) host_sampler: HostSampler,
    pub(crate) bus: Bus,
    pub(crate) approvals: Approvals,
    pub(crate) audit: Audit,
    pub(crate) spill: SpillStore,
    pub(crate) images: ImageStore,
    pub(crate) about: String,
    pub(crate) process_setup: Option<ProcessSetup>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) holder: String,
    pub(crate) directory: SessionDirectory,
    pub(crate) writer: StoreWriter,
    pub(crate) catalog: Catalog,
    pub(crate) agents: AgentRegistry,
}

impl Services {
    /// Who gets answers over a route.
    pub(crate) fn sampler_for(&self, route: &Route) -> &dyn Sampler {
        match route.dialect {
            Dialect::Gptel => &self.host_sampler,
            _ => &*self.sampler,
        }
    }

    /// What a call may reach.
    pub(crate) fn tool_context(
        &self,
        session: &Session,
        config: &RuntimeConfig,
        cancel: CancellationToken,
        may_read: ReadFilter,
        relay: Option<LiveRelay>,
    ) -> ToolContext {
        let live: Arc<dyn LiveOutput> = match relay {
            Some(relay) => Arc::new(relay),
            None => Arc::new(NoOutput),
        };
        ToolContext {
            scope: session.scope.clone(),
            home: self.home.clone(),
            private_directories: Arc::from([self.directory.root().to_owned()]),
            may_read,
            environment: config.environment.clone(),
            process_setup: self.process_setup,
            limits: Arc::new(config.tool_limits.clone()),
            cancel,
            live,
            host: Arc::clone(&self.host) as Arc<dyn HostPort>,
            spill: Arc::new(SessionSpill {
                store: self.spill.clone(),
                scope: session.scope.clone(),
                session: session.id.clone(),
                settings: config.spill,
            }),
        }
    }
}

struct NoOutput;

impl LiveOutput for NoOutput {
    fn write(&self, _text: &str) {}
}

/// The spilled results of one session.
struct SessionSpill {
    store: SpillStore,
    scope: Scope,
    session: SessionId,
    settings: SpillSettings,
}

impl SpillReader for SessionSpill {
    fn session_id(&self) -> &str {
        self.session.as_str()
    }

    fn read(
        &self,
        result_id: &str,
        start: usize,
        count: usize,
    ) -> Result<SpillPage, magent_tools::SpillError> {
        let page = self.store.read(
            &self.scope,
            &self.session,
            result_id,
            start,
            count,
            self.settings,
        );
        match page {
            Ok(page) => Ok(SpillPage {
                text: page.text,
                total_characters: page.total_characters,
            }),
            Err(SpillError::NotFound) => Err(magent_tools::SpillError::NotFound),
            Err(error) => Err(magent_tools::SpillError::Io(error.to_string())),
        }
    }
}

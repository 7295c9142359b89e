//! What an app is made of while it runs.

use std::sync::Arc;

use toolcrib_exec::Executor;
use toolcrib_meta::Discovery;
use toolcrib_modules::memory;
use toolcrib_policy::Principal;
use toolcrib_port::ToolLoader;
use toolcrib_registry::{Entry, Snapshot};

use crate::App;
use crate::agents::Setups;

/// What an app is made of while it runs. Agents that are started by others share it.
pub(crate) struct Wiring {
    pub(crate) app: App,
    pub(crate) executor: Arc<Executor>,
    pub(crate) discovery: Arc<Discovery>,
    /// The sources.
    pub(crate) loaders: Vec<Arc<dyn ToolLoader>>,
    pub(crate) setups: Setups,
}

impl Wiring {
    /// The tools as they are now.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.executor.registry().snapshot()
    }

    /// What an agent remembers that may use the module `memory`. Nothing where that cannot be read, which is in the log: an
    /// agent works without its memory too.
    pub(crate) fn remembered<'a>(
        &self,
        principal: Principal<'_>,
        mut visible: impl Iterator<Item = &'a Entry>,
    ) -> Option<String> {
        let may_remember = visible.any(|entry| entry.tool.name.namespace() == memory::ID);
        let snapshot = || self.app.memory.snapshot(principal.session, principal.agent, None);
        may_remember.then(|| snapshot().unwrap_or_default())
    }
}

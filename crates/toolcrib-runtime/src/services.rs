//! The shared services of a running app.

use std::sync::Arc;

use toolcrib_app::sections::channels::NamedChannel;
use toolcrib_app::{App, LaunchOptions};
use toolcrib_exec::Executor;
use toolcrib_meta::Discovery;
use toolcrib_model::Tool;
use toolcrib_modules::memory;
use toolcrib_policy::{Principal, RUNTIME_NAMESPACE};
use toolcrib_port::ToolLoader;
use toolcrib_prompt::WireNames;
use toolcrib_registry::{Entry, Snapshot};
use toolcrib_tasks::Skills;

use crate::agent::agent_setup::Setups;
use crate::agent::context_windows::ContextWindows;

/// The shared services of a running app. Agents that are started by others use them too.
pub(crate) struct AppServices {
    pub(crate) app: App,
    pub(crate) options: LaunchOptions,
    pub(crate) executor: Arc<Executor>,
    pub(crate) discovery: Arc<Discovery>,
    /// The sources.
    pub(crate) loaders: Vec<Arc<dyn ToolLoader>>,
    /// The skills that agents can load.
    pub(crate) skills: Arc<Skills>,
    /// The channels of notifications in addition to the conversation.
    pub(crate) channels: Vec<NamedChannel>,
    pub(crate) setups: Setups,
    pub(crate) windows: ContextWindows,
}

/// Returns true if a tool is one of the runtime's tools with one of these names.
pub(crate) fn is_own(tool: &Tool, names: &[&str]) -> bool {
    tool.name.namespace() == RUNTIME_NAMESPACE && names.contains(&tool.name.name())
}

impl AppServices {
    /// Returns the tools as they are now.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.executor.registry().snapshot()
    }

    /// Returns the wire names of the tools that a caller may use; without namespaces if configured and unambiguous.
    pub(crate) fn wire_names(
        &self,
        snapshot: &Snapshot,
        principal: Principal<'_>,
        is_short: bool,
    ) -> WireNames {
        let policy = self.executor.policy();
        let tools = || snapshot.iter().map(|entry| entry.tool.as_ref());
        let own = tools().filter(|tool| tool.name.namespace() == RUNTIME_NAMESPACE);
        let reserved: Vec<&str> = own.map(|tool| tool.name.name()).collect();
        let visible = tools().filter(|tool| policy.is_visible(tool, principal));
        if is_short {
            WireNames::short(visible, RUNTIME_NAMESPACE, &reserved)
        } else {
            WireNames::new(visible, RUNTIME_NAMESPACE, &reserved)
        }
    }

    /// Returns the tools that a caller may use, of those that models are told of.
    pub(crate) fn visible<'a>(
        &self,
        snapshot: &'a Snapshot,
        principal: Principal<'a>,
    ) -> impl Iterator<Item = &'a Tool> {
        let policy = Arc::clone(self.executor.policy());
        let tools = snapshot.iter().map(|entry| entry.tool.as_ref());
        tools.filter(move |tool| !tool.traits().only_for_programs && policy.is_visible(tool, principal))
    }

    /// Returns the memory of an agent that may use the module `memory`. Nothing if it cannot be read, which is logged:
    /// an agent works without its memory too.
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

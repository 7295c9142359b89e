//! The shared services of a running app.

use std::sync::Arc;

use toolcrib_app::sections::channels::NamedChannel;
use toolcrib_app::{App, CallerView, LaunchOptions, ServerProfiles};
use toolcrib_exec::Executor;
use toolcrib_meta::Discovery;
use toolcrib_model::Tool;
use toolcrib_modules::memory;
use toolcrib_policy::{Principal, RUNTIME_NAMESPACE};
use toolcrib_port::ToolLoader;
use toolcrib_registry::Snapshot;
use toolcrib_tasks::Skills;

use crate::agent::setup_cache::Setups;

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
    pub(crate) profiles: ServerProfiles,
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

    /// Returns the tools that a caller may use now.
    pub(crate) fn view<'a>(&self, principal: Principal<'a>) -> CallerView<'a> {
        CallerView { snapshot: self.snapshot(), policy: Arc::clone(self.executor.policy()), principal }
    }

    /// Returns the memory of an agent that may use the module `memory`. Nothing if it cannot be read, which is logged:
    /// an agent works without its memory too.
    pub(crate) fn remembered(&self, view: &CallerView<'_>) -> Option<String> {
        let Principal { session, agent, .. } = view.principal;
        let may_remember = view.has(|tool| tool.name.namespace() == memory::ID);
        may_remember.then(|| self.app.memory.snapshot(session, agent, None).unwrap_or_default())
    }

    /// Asks the servers of models for their profiles, see
    /// [`Runtime::ask_server_profiles`](crate::Runtime::ask_server_profiles).
    pub(crate) async fn ask_server_profiles(&self) {
        self.profiles.ask(&self.app, || self.setups.forget()).await;
    }

    /// Tools that are to be pinned and are not there.
    pub(crate) fn not_pinned(&self, snapshot: &Snapshot) -> impl Iterator<Item = String> {
        let config = &self.app.config;
        let lists = [("runtime.pinned", &config.runtime.pinned), ("serve.pin", &config.serve.pin)];
        let lists = lists.map(|(list, names)| (list.to_owned(), names)).into_iter();
        let of_profiles = config.profiles.iter();
        let of_profiles = of_profiles
            .filter_map(|(name, profile)| Some((format!("profiles.{name}.pin"), profile.pin.as_ref()?)));
        let pinned = lists.chain(of_profiles);
        pinned
            .flat_map(|(list, names)| names.iter().map(move |name| (list.clone(), name)))
            .filter(|(_, spelling)| snapshot.find(spelling, |_| true).is_err())
            .map(|(list, spelling)| format!("`{list}` names an unknown tool `{spelling}`"))
    }
}

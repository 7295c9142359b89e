//! The services of an app.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_agent::notifications::NotificationQueue;
use toolcrib_agent::{AgentPool, AppPool};
use toolcrib_app::{AgentSetup, App, AppParts, Blueprint, CallerView, ChosenModel, too_deep};
use toolcrib_exec::Executor;
use toolcrib_exec::audit::SpoolSender;
use toolcrib_io::process::depth;
use toolcrib_meta::Discovery;
use toolcrib_policy::Principal;
use toolcrib_port::{Approver, ToolCaller};
use toolcrib_registry::Snapshot;
use toolcrib_results::Results;
use toolcrib_sdk::Module;
use toolcrib_tasks::schedule::SCHEDULER;
use toolcrib_tasks::{ActiveOverrides, Tasks};

use crate::agent::factory;
use crate::agent::notifications::SessionNotifications;
use crate::connect::connect;
use crate::services::AppServices;
use crate::source_reload::Watcher;
use crate::stored::StoredResults;
use crate::{Error, call_app, setup, sources, tasks};

/// An app that runs.
pub struct Runtime {
    services: Arc<AppServices>,
    /// The agents that coordinators have started.
    pool: Option<AgentPool>,
    /// The background calls, watchers and schedules.
    tasks: Arc<Tasks>,
    /// The apps that agents have called.
    apps: AppPool,
    results: Arc<Results>,
    overrides: Arc<ActiveOverrides>,
    /// Sends audit records to the store, if they are kept there.
    audit: Option<SpoolSender>,
    /// Loads sources again that change, until the runtime is closed or dropped.
    watcher: Watcher,
}

impl Runtime {
    /// Loads the sources of an app. A source that cannot be reached is a reject of the snapshot, not an error. Who
    /// answers when policy wants approval, is the approver.
    pub async fn start(blueprint: Blueprint, approver: Arc<dyn Approver>) -> Result<Self, Error> {
        let results = blueprint.app.results();
        Box::pin(Self::start_with(blueprint, approver, results)).await
    }

    /// Builds another version of the same app, for [`successor`](Self::successor). It is started by the switches of this
    /// one, and shares its memory.
    pub fn next_version(&self, mut app: App) -> Result<Blueprint, Error> {
        app.memory = self.app().memory.clone();
        Ok(Blueprint::new(app, self.services.options)?)
    }

    /// Starts another version of the same app while calls of this one continue. Both share the state of sessions. Tasks
    /// belong to one: those of this app end as when it is closed, even if the other does not start.
    pub async fn successor(&self, next: Blueprint, approver: Arc<dyn Approver>) -> Result<Self, Error> {
        self.tasks.close().await;
        self.tasks.close_store().await;
        let results = next.app.results().with_store_of(&self.results);
        Box::pin(Self::start_with(next, approver, results)).await
    }

    async fn start_with(
        mut blueprint: Blueprint,
        approver: Arc<dyn Approver>,
        results: Results,
    ) -> Result<Self, Error> {
        if let Some(message) = too_deep(depth()) {
            return Err(Error::Start { what: blueprint.app.file.name, message });
        }
        let (results, audit) = (Arc::new(results), blueprint.app.open_audit()?);
        let not_set_up = setup::run(&blueprint, &results, &audit).await;
        let (mut modules, sources) = (take(&mut blueprint.modules), take(&mut blueprint.sources));
        let (called, is_strict) = (take(&mut blueprint.called), blueprint.is_strict);
        let services = connect(blueprint, (&modules, &sources), &approver, &results, audit)?;
        let executor = &services.executor;
        let pool = factory::pool(&services);
        let AppParts { app, loaders, .. } = &services.parts;
        let apps = call_app::pool(called, &app.config.tools.apps, &approver);
        let tasks = Arc::new(tasks::open(&services, &approver).await?);
        let overrides = tasks::open_overrides(&services).await?;
        let audit = tasks::send_audit(app)?;
        if let Some(store) = tasks.shared_store() {
            results.share(Arc::new(StoredResults(store)));
        }
        if let Some(module) = modules.iter_mut().find(|module| module.id() == SCHEDULER) {
            *module = tasks.scheduler().module();
        }
        let schedule_tools =
            if app.config.execution.scheduler { tasks.scheduler().tools() } else { Vec::new() };
        let own = toolcrib_results::tools(Arc::clone(&results))
            .into_iter()
            .chain(toolcrib_tasks::ask_user::tools(approver))
            .chain(tasks.tools())
            .chain(schedule_tools)
            .chain(services.parts.skill_tools())
            .chain(apps.tools())
            .chain(pool.iter().flat_map(AgentPool::tools));
        let meta = toolcrib_meta::module(Arc::clone(&services.discovery));
        let own = own.fold(meta, Module::with_tool);
        let modules = (modules, not_set_up);
        let watched = sources::add_all(executor, own, modules, sources, app.secrets()).await;
        let registry = executor.registry();
        registry
            .refresh()
            .await
            .map_err(|error| Error::Start { what: "the tools".into(), message: error.to_string() })?;
        if is_strict && let Err(error) = services.parts.check_strictly(&registry.snapshot()) {
            executor.close().await;
            tasks.close_store().await;
            return Err(error.into());
        }
        let watcher = Watcher::start(watched, loaders.clone(), registry)?;
        tasks.start().await.map_err(|error| tasks::start_error(&error))?;
        Ok(Self { services, pool, tasks, apps, results, overrides, audit, watcher })
    }

    /// Returns the app as it was read.
    pub fn app(&self) -> &App {
        &self.services.parts.app
    }

    /// Returns the one entrance to execution.
    pub fn executor(&self) -> &Arc<Executor> {
        &self.services.executor
    }

    /// Returns the same entrance for agents: where the app says so, calls that take long go on in the background.
    pub fn entrance(&self) -> Arc<dyn ToolCaller> {
        self.patient(self.executor().tool_caller(), None)
    }

    /// Wraps a caller to move calls to the background after the time that the app configures, or after `otherwise`.
    pub fn patient(&self, entrance: Arc<dyn ToolCaller>, otherwise: Option<Duration>) -> Arc<dyn ToolCaller> {
        self.tasks.patient(entrance, otherwise)
    }

    /// Returns the calls in the background, the watchers and the schedules.
    pub fn tasks(&self) -> &Arc<Tasks> {
        &self.tasks
    }

    /// Returns the queue of notifications that agents read with their next turn.
    pub fn notifications(&self) -> Arc<dyn NotificationQueue> {
        Arc::new(SessionNotifications(Arc::clone(self.tasks.notifications())))
    }

    /// Returns the discovery of tools.
    pub fn discovery(&self) -> &Discovery {
        &self.services.discovery
    }

    /// Asks the servers of the agents' models for the context windows and the capabilities that the app file does not
    /// set. Done once; it waits 2 s at most. Until then, and without an answer, the defaults of the providers apply.
    pub async fn ask_server_profiles(&self) {
        self.services.setups.ask_server_profiles(self.app()).await;
    }

    /// Returns the setup of an agent with the current tools; the first agent if none is named.
    pub fn agent(&self, id: Option<&str>) -> Result<Arc<AgentSetup>, Error> {
        self.agent_in(id, "")
    }

    /// Returns the setup of an agent for one session. It is decided once for each generation of the tools, so that
    /// requests share their prefix until the tools change.
    pub fn agent_in(&self, id: Option<&str>, session: &str) -> Result<Arc<AgentSetup>, Error> {
        self.services.agent_in(id, session)
    }

    /// Returns the model that an agent thinks with. Where its provider wants a key and none is set, the agent's
    /// recording.
    pub fn model(&self, agent: &AgentSetup) -> Result<ChosenModel, Error> {
        self.services.model(agent)
    }

    /// Returns the tools that a session may use now, and what else the app has for it.
    pub fn view<'a>(&'a self, session: &'a str) -> CallerView<'a> {
        self.services.view(Principal::new(session))
    }

    /// Returns the overrides of operators.
    pub fn overrides(&self) -> &ActiveOverrides {
        &self.overrides
    }

    /// Returns the tools as they are now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.executor().registry().snapshot()
    }

    /// Returns the status of the sources with a connection, by name: one word, or the reason of a failure.
    pub fn health(&self) -> BTreeMap<String, Result<&'static str, String>> {
        let loaders = self.services.parts.loaders.iter();
        loaders.filter_map(|loader| Some((loader.source().to_owned(), loader.health()?))).collect()
    }

    /// Returns what the sources found that is probably a mistake and kept no tool from loading.
    pub fn source_warnings(&self) -> Vec<String> {
        self.services.parts.loaders.iter().flat_map(|loader| loader.warnings()).collect()
    }

    /// Returns that approved tools could not be written to the lock file, and settings that speak of no tool, which may be
    /// misspelt. The latter are left out while a source is missing, whose tools they may be about.
    pub fn warnings(&self) -> Vec<String> {
        self.services.parts.warnings(self.executor())
    }

    /// Ends a session that is not continued: drops its state, and ends its agents, goals and tasks.
    pub async fn end_session(&self, session: &str) {
        // What cannot be forgotten is in the log.
        let _ = self.app().memory.end_session(session);
        if let Some(pool) = &self.pool {
            pool.end_session(session).await;
        }
        self.apps.end_session(session).await;
        self.tasks.end_session(session).await;
        self.executor().end_session(session).await;
    }

    /// Ends everything that was started, in order: nothing more is begun, tasks have [`DRAIN_TIME`](toolcrib_tasks::DRAIN_TIME)
    /// to end and are cancelled then, and agents, connections and child processes end.
    pub async fn close(&self) {
        self.watcher.stop();
        self.overrides.close().await;
        self.tasks.close().await;
        if let Some(pool) = &self.pool {
            pool.close().await;
        }
        self.apps.close().await;
        self.executor().close().await;
        if let Some(audit) = &self.audit {
            audit.close().await;
        }
        self.tasks.close_store().await;
    }
}

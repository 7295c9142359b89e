//! The services of an app.

use std::collections::BTreeMap;
use std::mem::take;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use toolcrib_agent::notifications::NotificationQueue;
use toolcrib_agent::{AgentPool, AppPool};
use toolcrib_app::sections::serve::SurfaceMode;
use toolcrib_app::sections::{capabilities, limits};
use toolcrib_app::{AgentSetup, App, AppUris, Blueprint, ChosenModel, Surface, too_deep};
use toolcrib_exec::Executor;
use toolcrib_io::process::depth;
use toolcrib_meta::Discovery;
use toolcrib_policy::{Capabilities, OverrideTarget, Principal, Rule};
use toolcrib_port::{Approver, ToolCaller, ToolLoader};
use toolcrib_prompt::Tokenizer;
use toolcrib_registry::Snapshot;
use toolcrib_results::{ResultLimits, Results, TokenCounter};
use toolcrib_sdk::Module;
use toolcrib_tasks::Tasks;
use toolcrib_tasks::schedule::SCHEDULER;

use crate::agent::factory;
use crate::agent::notifications::SessionNotifications;
use crate::connect::connect;
use crate::result_archive::StoredResults;
use crate::services::AppServices;
use crate::source_reload::Watcher;
use crate::tasks::{ActiveOverrides, AuditSender};
use crate::{Error, call_app, channels, setup, skills, sources, strict, tasks};

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
    audit: AuditSender,
    /// Loads sources again that change, until the runtime is closed or dropped.
    watcher: Watcher,
}

impl Runtime {
    /// Loads the sources of an app. A source that cannot be reached is a reject of the snapshot, not an error. Who
    /// answers when policy wants approval, is the approver.
    pub async fn start(blueprint: Blueprint, approver: Arc<dyn Approver>) -> Result<Self, Error> {
        let results = results(&blueprint.app);
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
        let results = results(&next.app).with_store_of(&self.results);
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
        let apps = call_app::pool(called, &services.app.config.tools.apps, &approver);
        let tasks = Arc::new(tasks::open(&services, &approver).await?);
        let overrides = ActiveOverrides::open(&services).await?;
        let audit = AuditSender::start(&services.app)?;
        if let Some(store) = tasks.shared_store() {
            results.share(Arc::new(StoredResults(store)));
        }
        if let Some(module) = modules.iter_mut().find(|module| module.id() == SCHEDULER) {
            *module = tasks.scheduler().module();
        }
        let has_schedules = services.app.config.execution.scheduler;
        let schedule_tools = if has_schedules { tasks.scheduler().tools() } else { Vec::new() };
        let own = toolcrib_results::tools(Arc::clone(&results))
            .into_iter()
            .chain(toolcrib_tasks::ask_user::tools(approver))
            .chain(tasks.tools())
            .chain(schedule_tools)
            .chain(skills::tools(&services.skills, &services.app.config))
            .chain(apps.tools())
            .chain(pool.iter().flat_map(AgentPool::tools));
        let meta = toolcrib_meta::module(Arc::clone(&services.discovery));
        let own = own.fold(meta, Module::with_tool);
        let modules = (modules, not_set_up);
        let watched = sources::add_all(executor, own, modules, sources, services.app.secrets()).await;
        let registry = executor.registry();
        registry
            .refresh()
            .await
            .map_err(|error| Error::Start { what: "the tools".into(), message: error.to_string() })?;
        if is_strict && let Err(error) = strict::check(&services.app.file.name, &registry.snapshot()) {
            executor.close().await;
            tasks.close_store().await;
            return Err(error);
        }
        let watcher = Watcher::start(watched, services.loaders.clone(), registry)?;
        tasks.start().await.map_err(|error| tasks::start_error(&error))?;
        Ok(Self { services, pool, tasks, apps, results, overrides, audit, watcher })
    }

    /// Returns the app as it was read.
    pub fn app(&self) -> &App {
        &self.services.app
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

    /// Returns the skills that a client of the server may use in its session, sorted by name: the name of each, and its
    /// description.
    pub fn skills(&self, session: &str) -> Vec<(String, String)> {
        self.services.skills(session)
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
        self.services.ask_server_profiles().await;
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

    /// Returns the surface of a client of the server with the current tools, for its session. Without a mode, that of
    /// its profile or of the app applies.
    pub fn surface(&self, mode: Option<SurfaceMode>, session: &str) -> Result<Surface, Error> {
        let view = self.services.view(Principal::new(session));
        Ok(Surface::new(&self.app().config, mode, &view)?)
    }

    /// Returns the descriptions of the sources whose tools this session may use, by namespace.
    pub fn source_notes(&self, session: &str) -> Vec<crate::SourceNote> {
        self.services.notes_for(&self.services.view(Principal::new(session)))
    }

    /// Returns the model that an agent thinks with. Where its provider wants a key and none is set, the agent's
    /// recording.
    pub fn model(&self, agent: &AgentSetup) -> Result<ChosenModel, Error> {
        self.services.model(agent)
    }

    /// Returns the tools as they are now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.services.snapshot()
    }

    /// Returns the sources.
    pub(crate) fn loaders(&self) -> &[Arc<dyn ToolLoader>] {
        &self.services.loaders
    }

    /// Returns the status of the sources with a connection, by name: one word, or the reason of a failure.
    pub fn health(&self) -> BTreeMap<String, Result<&'static str, String>> {
        let loaders = self.services.loaders.iter();
        loaders.filter_map(|loader| Some((loader.source().to_owned(), loader.health()?))).collect()
    }

    /// Returns what the sources found that is probably a mistake and kept no tool from loading.
    pub fn source_warnings(&self) -> Vec<String> {
        self.services.loaders.iter().flat_map(|loader| loader.warnings()).collect()
    }

    /// Returns that approved tools could not be written to the lock file, and rules and limits that speak of no tool,
    /// which may be misspelt. The latter are left out while a source is missing, whose tools they may be about.
    pub fn warnings(&self) -> Vec<String> {
        let snapshot = self.snapshot();
        let unsaved = self.app().pins().ok().flatten().and_then(|pins| pins.problem());
        if snapshot.rejected().iter().any(|reject| reject.name.is_none()) {
            return unsaved.into_iter().collect();
        }
        let tools: Vec<_> =
            snapshot.iter().chain(snapshot.unshaped().iter()).map(|entry| entry.tool.as_ref()).collect();
        let unused = self.executor().policy().unused_rules(tools.iter().copied());
        let later = self.rules_of_sessions();
        let unused = unused.filter(|rule| !later.iter().any(|later| later == rule));
        let rules = unused.map(|rule| format!("`{rule}` matches no tool"));
        let hooks = self.executor().unused_hooks(&tools);
        let hooks = hooks.map(|hook| format!("the hook `{hook}` applies to no tool"));
        unsaved
            .into_iter()
            .chain(rules)
            .chain(hooks)
            .chain(limits::unused(&self.app().config.tools.limits, &snapshot))
            .chain(self.services.not_pinned(&snapshot))
            .chain(AppUris::of(snapshot.iter().map(|entry| entry.tool.as_ref())).warnings())
            .chain(channels::unused(&self.services.channels, &snapshot))
            .chain(skills::unused(&self.services.skills, &snapshot))
            .chain(self.services.uncalled_apps())
            .collect()
    }

    /// Returns the places of the rules that may be about tools which single sessions add.
    fn rules_of_sessions(&self) -> Vec<String> {
        let Capabilities { grant, approve, deny, .. } = &self.app().config.tools.capabilities;
        let lists = [("grant", grant), ("approve", approve), ("deny", deny)];
        let location = capabilities::locations().capabilities;
        let rules = lists.into_iter().flat_map(|(list, rules)| {
            let list = location.key(list);
            rules.iter().enumerate().map(move |(at, rule)| (list.at(at).to_string(), rule))
        });
        let is_later = |rule: &Rule| {
            rule.module.as_deref().is_some_and(|module| self.app().config.may_be_of_session(module))
        };
        rules.filter(|(_, rule)| is_later(rule)).map(|(place, _)| place).collect()
    }

    /// Selects the profile of the clients that no other profile limits, or none, for all processes that run the app.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be written to.
    pub async fn use_profile(&self, profile: Option<&str>) -> Result<(), Error> {
        self.overrides.use_profile(&self.services, profile).await
    }

    /// Enables or disables tools, or removes the override, for all processes that run the app.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be written to.
    pub async fn set_override(&self, target: &OverrideTarget, is_enabled: Option<bool>) -> Result<(), Error> {
        self.overrides.set(&self.services, target, is_enabled).await
    }

    /// Returns a receiver of changes of the overrides, which are those of the [policy](toolcrib_policy::Policy::overrides).
    pub fn override_changes(&self) -> watch::Receiver<u64> {
        self.overrides.subscribe()
    }

    /// Ends a session that is not continued: drops its state, and ends its agents, goals and tasks.
    pub async fn end_session(&self, session: &str) {
        // What cannot be forgotten is in the log.
        let _ = self.services.app.memory.end_session(session);
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
        self.audit.close().await;
        self.tasks.close_store().await;
    }
}

fn results(app: &App) -> Results {
    let mut limits = ResultLimits::default();
    limits.tokens = app.config.tools.limits.result_tokens.map_or(limits.tokens, NonZeroU32::get);
    limits.compact = app.config.tools.limits.compact_results;
    // The models of clients are not known, and their tables are not far from this one.
    let model = app.config.agents.first().map_or("", |agent| agent.brain.model.as_str());
    let tokenizer = match Tokenizer::of_model(model) {
        Tokenizer::Estimate => Tokenizer::O200k,
        table => table,
    };
    let counter = TokenCounter::new(move |text| tokenizer.count(text));
    Results::new(limits).with_counter(counter).with_secrets(app.secrets().clone())
}

//! The services of an app.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::mem::take;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_agent::notifications::NotificationQueue;
use toolcrib_agent::{AgentPool, AppPool};
use toolcrib_app::sections::serve::SurfaceMode;
use toolcrib_app::sections::{limits, search};
use toolcrib_app::{
    AgentSetup, App, Blueprint, BuiltSource, CheckedLoader, ChosenModel, ContextWindows, Surface, too_deep,
};
use toolcrib_exec::Executor;
use toolcrib_exec::audit::Audit;
use toolcrib_io::process::depth;
use toolcrib_meta::Discovery;
use toolcrib_policy::{Capabilities, Principal, Rule};
use toolcrib_port::{Approver, Reject, ToolCaller, ToolEngine, ToolLoader};
use toolcrib_prompt::Tokenizer;
use toolcrib_registry::{Snapshot, ToolRegistry};
use toolcrib_results::{ResultLimits, Results, Secrets, TokenCounter};
use toolcrib_sdk::Module;
use toolcrib_tasks::schedule::SCHEDULER;
use toolcrib_tasks::{TaskPorts, Tasks};

use crate::agent::notifications::SessionNotifications;
use crate::agent::prompter::Prompts;
use crate::agent::setup_cache::Setups;
use crate::services::AppServices;
use crate::setup::NotSetUp;
use crate::source_reload::Watcher;
use crate::{Error, agent::factory, call_app, channels, setup, skills, strict};

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
        let tasks = Arc::new(open_tasks(&services).await?);
        if let Some(module) = modules.iter_mut().find(|module| module.id() == SCHEDULER) {
            *module = tasks.scheduler().module();
        }
        let apps = call_app::pool(called, &services.app.config.tools.apps, &approver);
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
        let own = Arc::new(own.fold(meta, Module::with_tool));
        add(executor, own.clone(), Some(own));
        add_modules(executor, modules, not_set_up, services.app.secrets()).await;
        let mut watched = Vec::new();
        for source in sources.into_iter().map(|built| built.source) {
            let name = source.loader.source();
            watched.extend(source.watched.into_iter().map(|path| (path, name.to_owned())));
            add(executor, source.loader, source.engine);
        }
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
        tasks.start().await.map_err(|error| of_tasks(&error))?;
        Ok(Self { services, pool, tasks, apps, results, watcher })
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

    /// Asks the servers of the agents' models how many tokens these take in, where the app file does not say and the
    /// servers are such that people run themselves. Done once; it waits 2 s at most. Until then, and without an answer,
    /// it is 8,192.
    pub async fn ask_context_windows(&self) {
        self.services.ask_context_windows().await;
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

    /// Returns the surface of a client of the server with the current tools, for its session.
    pub fn surface(&self, mode: SurfaceMode, session: &str) -> Result<Surface, Error> {
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
        let tools: Vec<_> = snapshot.iter().map(|entry| entry.tool.as_ref()).collect();
        let unused = self.executor().policy().unused_rules(tools.iter().copied());
        let later = self.rules_of_sessions();
        let unused = unused.filter(|rule| !later.iter().any(|later| later == rule));
        let rules = unused.map(|rule| format!("`{rule}` matches no tool"));
        unsaved
            .into_iter()
            .chain(rules)
            .chain(limits::unused(&self.app().config.tools.limits, &snapshot))
            .chain(self.services.not_pinned(&snapshot))
            .chain(channels::unused(&self.services.channels, &snapshot))
            .chain(skills::unused(&self.services.skills, &snapshot))
            .chain(self.services.uncalled_apps())
            .collect()
    }

    /// Returns the places of the rules that may be about tools which single sessions add.
    fn rules_of_sessions(&self) -> Vec<String> {
        let Capabilities { grant, approve, deny, .. } = &self.app().config.tools.capabilities;
        let lists = [("grant", grant), ("approve", approve), ("deny", deny)];
        let rules = lists.into_iter().flat_map(|(list, rules)| {
            rules.iter().enumerate().map(move |(at, rule)| (format!("tools.capabilities.{list}[{at}]"), rule))
        });
        let is_later = |rule: &Rule| {
            rule.module.as_deref().is_some_and(|module| self.app().config.may_be_of_session(module))
        };
        rules.filter(|(_, rule)| is_later(rule)).map(|(place, _)| place).collect()
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
        self.tasks.close().await;
        if let Some(pool) = &self.pool {
            pool.close().await;
        }
        self.apps.close().await;
        self.executor().close().await;
        self.tasks.close_store().await;
    }
}

/// Connects the parts of an app around the entrance to execution, which exists before anything that makes calls.
fn connect(
    blueprint: Blueprint,
    (modules, sources): (&[Module], &[BuiltSource]),
    approver: &Arc<dyn Approver>,
    results: &Arc<Results>,
    audit: Audit,
) -> Result<Arc<AppServices>, Error> {
    let registry = ToolRegistry::new()
        .with_enrichments(blueprint.enrichments())
        .map_err(|error| Error::Start { what: "the enrichments".into(), message: error.to_string() })?;
    let registry = Arc::new(registry.with_session_tools(blueprint.session_tools));
    let Blueprint { app, options, policy, flow, channels, skills, .. } = blueprint;
    let policy = Arc::new(factory::reserved(policy, &app.config)?);
    let executor = Executor::new(Arc::clone(&registry), Arc::clone(&policy), Arc::clone(approver))
        .with_earlier_names(toolcrib_tasks::background::resolve_former_name)
        .with_flow(flow)
        .with_results(Arc::clone(results))
        .with_approval_wait(app.config.tools.limits.approval_wait())
        .with_audit(audit);
    let descriptions = modules.iter().map(|module| (module.id().to_owned(), module.description().to_owned()));
    let loaders: Vec<_> = sources.iter().map(|built| Arc::clone(&built.source.loader)).collect();
    let discovery = Discovery::new(&registry, policy)
        .with_sources(loaders.clone())
        .with_descriptions(descriptions.collect())
        .with_search(app.config.tools.search.settings())
        .with_word_cache(search::words_folder());
    Ok(Arc::new(AppServices {
        app,
        options,
        executor: Arc::new(executor),
        discovery: Arc::new(discovery),
        loaders,
        skills,
        channels,
        setups: Setups::default(),
        windows: ContextWindows::default(),
    }))
}

/// Opens the tasks of an app, which call its tools and prompt its agents.
async fn open_tasks(services: &Arc<AppServices>) -> Result<Tasks, Error> {
    let has_agents = !services.app.config.agents.is_empty();
    let channels = services.channels.iter().map(|named| (named.name.clone(), Arc::clone(&named.channel)));
    let ports = TaskPorts {
        tool_caller: Some(services.executor.tool_caller()),
        prompter: has_agents.then(|| Arc::new(Prompts(Arc::downgrade(services))) as _),
        channels: channels.collect(),
    };
    let settings = services.app.task_settings(services.options.tasks)?;
    Tasks::open(settings, ports).await.map_err(|error| of_tasks(&error))
}

fn of_tasks(error: &dyn Display) -> Error {
    Error::Start { what: "the tasks".into(), message: error.to_string() }
}

async fn add_modules(
    executor: &Executor,
    modules: Vec<Module>,
    mut not_set_up: BTreeMap<String, Reject>,
    secrets: &Secrets,
) {
    for module in modules {
        if let Some(reject) = not_set_up.remove(module.id()) {
            module.close().await;
            add(executor, Arc::new(NotSetUp::new(module.id(), reject)), None);
            continue;
        }
        let module = Arc::new(module);
        let engine: Arc<dyn ToolEngine> = module.clone();
        let loader = CheckedLoader::new(module.clone(), Some(engine), secrets.clone(), None);
        add(executor, Arc::new(loader), Some(module));
    }
}

fn add(executor: &Executor, loader: Arc<dyn ToolLoader>, engine: Option<Arc<dyn ToolEngine>>) {
    if let Some(engine) = engine {
        executor.add_engine(loader.source(), engine);
    }
    executor.registry().add_loader(loader);
}

fn results(app: &App) -> Results {
    let mut limits = ResultLimits::default();
    limits.tokens = app.config.tools.limits.result_tokens.map_or(limits.tokens, NonZeroU32::get);
    // The models of clients are not known, and their tables are not far from this one.
    let model = app.config.agents.first().map_or("", |agent| agent.brain.model.as_str());
    let tokenizer = match Tokenizer::of_model(model) {
        Tokenizer::Estimate => Tokenizer::O200k,
        table => table,
    };
    let counter = TokenCounter::new(move |text| tokenizer.count(text));
    Results::new(limits).with_counter(counter).with_secrets(app.secrets().clone())
}

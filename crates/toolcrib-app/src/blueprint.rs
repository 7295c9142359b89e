//! An app that is checked and built: everything that a runtime starts.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use toolcrib_document::Error as DocumentError;
use toolcrib_exec::FlowSettings;
use toolcrib_policy::{Access, Policy, RUNTIME_NAMESPACE};
use toolcrib_port::{ToolEngine as _, ToolLoader};
use toolcrib_registry::{Enrichment, SessionTools, Snapshot, ToolRegistry};
use toolcrib_sdk::Module;
use toolcrib_tasks::Skills;

use crate::extensions::entry::AppContext;
use crate::file::former_names;
use crate::sections::channels::NamedChannel;
use crate::sections::setup::{Setup, SetupRules};
use crate::sections::{
    agents, app, audit, capabilities, channels, execution, limits, modules, runtime, search, serve, skills,
};
use crate::sources::{self, BuiltSource};
use crate::{App, Error, Extensions, LaunchOptions, called_apps, protected_files};

/// An app that is checked and built. Nothing of it is loaded or started yet.
///
/// ```
/// use toolcrib_app::Blueprint;
///
/// let error = Blueprint::from_text("app.yaml", "modules: {helo: {}}\n").unwrap_err();
/// assert!(error.to_string().starts_with("app.yaml:1:11: unknown module `helo`, did you mean `hello`?"));
/// ```
#[non_exhaustive]
pub struct Blueprint {
    /// The app file.
    pub app: App,
    /// The switches of the program.
    pub options: LaunchOptions,
    /// True if it runs with all of its tools or not at all.
    pub is_strict: bool,
    /// Its rules, and what they leave the clients of the server.
    pub policy: Policy,
    /// Its modules.
    pub modules: Vec<Module>,
    /// The calls of its modules before agents use them.
    pub setup: Setup,
    /// The sources of its tools.
    pub sources: Vec<BuiltSource>,
    /// The limits on concurrency, rate and time.
    pub flow: FlowSettings,
    /// The destinations of notifications.
    pub channels: Vec<NamedChannel>,
    /// The skills that its agents can load.
    pub skills: Arc<Skills>,
    /// The tools that single sessions add.
    pub session_tools: SessionTools,
    /// The apps that it may call, by name.
    pub called: BTreeMap<String, Self>,
    warnings: Vec<String>,
}

/// The parts that are built one after the other.
struct Parts {
    modules: Vec<Module>,
    setup: Option<Setup>,
    channels: Vec<NamedChannel>,
    policy: Option<Policy>,
    sources: Vec<BuiltSource>,
    flow: Option<FlowSettings>,
}

impl fmt::Debug for Blueprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let called: Vec<_> = self.called.keys().collect();
        let mut debug = f.debug_struct("Blueprint");
        debug.field("app", &self.app).field("options", &self.options).field("called", &called);
        debug.finish_non_exhaustive()
    }
}

/// Errors of an app, and warnings of probable mistakes.
#[derive(Default)]
struct Findings {
    errors: Vec<DocumentError>,
    warnings: Vec<String>,
}

impl Blueprint {
    /// Reads, checks and builds an app file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::new(App::open(path)?, LaunchOptions::default())
    }

    /// Reads, checks and builds an app file that may name what other crates bring.
    pub fn open_with(path: impl AsRef<Path>, extensions: Extensions) -> Result<Self, Error> {
        Self::new(App::open_with(path, extensions)?, LaunchOptions::default())
    }

    /// Checks and builds an app given as YAML text. The name stands in errors; paths are relative to the current folder.
    pub fn from_text(file: impl Into<String>, text: &str) -> Result<Self, Error> {
        Self::new(App::from_text(file, text)?, LaunchOptions::default())
    }

    /// Returns the same with what other crates bring.
    pub fn from_text_with(
        file: impl Into<String>,
        text: &str,
        extensions: Extensions,
    ) -> Result<Self, Error> {
        Self::new(App::from_text_with(file, text, extensions)?, LaunchOptions::default())
    }

    /// Checks and builds an app that has been read.
    pub fn new(app: App, options: LaunchOptions) -> Result<Self, Error> {
        let config = &app.config;
        let skills = skills::read(&config.skills, &app.file);
        protected_files::protect(&app, &skills);
        let is_strict = options.strict.unwrap_or_else(|| app.is_strict());
        let session_tools = SessionTools::default();
        let context = context(&app, &options, is_strict, &session_tools);
        let mut found = Findings::default();
        let parts = Parts::build(&app, &context, &skills, &mut found);
        let called = called_apps::read(&app, |app| Self::new(app, options)).unwrap_or_else(|wrong| {
            found.errors.extend(wrong);
            BTreeMap::new()
        });
        found.errors.sort_by_key(DocumentError::position);
        let (
            Parts { modules, channels, sources, setup: Some(setup), policy: Some(policy), flow: Some(flow) },
            true,
        ) = (parts, found.errors.is_empty())
        else {
            return Err(app.file.all_wrong(found.errors));
        };
        let skills = Arc::new(skills);
        let warnings = app.notes.iter().cloned().chain(found.warnings).collect();
        Ok(Self {
            app,
            options,
            is_strict,
            policy,
            modules,
            setup,
            sources,
            flow,
            channels,
            skills,
            session_tools,
            called,
            warnings,
        })
    }

    /// Returns warnings about settings that have no effect.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Says which files of the workspace tools cannot change because the app is made of them, and what still can;
    /// `None` where the app is not in the workspace, or has no tool that writes there.
    pub fn workspace_warning(&self) -> Option<String> {
        protected_files::warning(&self.app)
    }

    /// Returns the enrichments that run after each load.
    pub fn enrichments(&self) -> impl Iterator<Item = Arc<dyn Enrichment>> {
        let others = &self.app.extensions.enrichments;
        let (search, patience) = (&self.app.config.tools.search, self.options.search_patience);
        others.iter().cloned().chain(search::enrichment(search, &self.app.file, others, patience))
    }

    /// Loads the modules and the sources that are files: what they hold, what of it cannot be used, and warnings about
    /// the rest. Nothing is started, and nothing remote is reached.
    pub async fn load_local_sources(self) -> (Arc<Snapshot>, Vec<String>) {
        let sources = self.sources.into_iter().map(|built| built.source);
        let local: Vec<_> = sources.filter(|source| source.is_local).map(|source| source.loader).collect();
        // Their namespaces, and that of the runtime, are their own, as they are when the app starts.
        let own = Module::new(RUNTIME_NAMESPACE, "");
        let modules: Vec<_> = [own].into_iter().chain(self.modules).map(Arc::new).collect();
        let loaders = modules.iter().map(|module| Arc::clone(module) as Arc<dyn ToolLoader>);
        let snapshot = ToolRegistry::from_loaders(loaders.chain(local.iter().cloned())).await.snapshot();
        for module in modules {
            module.close().await;
        }
        (snapshot, local.iter().flat_map(|loader| loader.warnings()).collect())
    }

    /// Returns what the extensions of this app share.
    pub(crate) fn context(&self) -> AppContext<'_> {
        context(&self.app, &self.options, self.is_strict, &self.session_tools)
    }
}

fn context<'a>(
    app: &'a App,
    options: &LaunchOptions,
    is_strict: bool,
    session_tools: &'a SessionTools,
) -> AppContext<'a> {
    let access = Access::of_app(app.config.tools.capabilities.access.as_ref());
    AppContext {
        file: &app.file,
        access: access.map_err(|error| app.file.error_at(error.place().pointer(), error.to_string())),
        protected: &app.protected,
        memory: &app.memory,
        means: execution::means(&app.config),
        session_tools,
        pins: app.pins().map_err(|error| error.to_string()),
        startup_timeout: options.startup_timeout,
        is_lazy: options.lazy && !is_strict,
    }
}

impl Parts {
    /// Builds and checks section after section. The sources are built where nothing is wrong until then.
    fn build(app: &App, context: &AppContext<'_>, skills: &Skills, found: &mut Findings) -> Self {
        let (config, file, extensions) = (&app.config, &app.file, app.extensions.as_ref());
        let Findings { errors, warnings } = found;
        app::check(&config.app, file, errors);
        agents::check(&config.agents, file, errors);
        let (modules, calls) = modules::build(config, extensions, context, errors, warnings);
        sources::check_engines(config, extensions, file, errors);
        sources::check_registry(config, extensions, file, errors);
        capabilities::rules(app, (&modules, skills), errors, warnings);
        capabilities::programs(app, warnings);
        if let Some(audit) = &config.audit {
            audit::check(audit, file, errors);
        }
        runtime::check(&config.runtime, file, errors);
        let has_scheduler = config.modules.contains_key(toolcrib_tasks::schedule::SCHEDULER);
        execution::check(&config.execution, has_scheduler, file, errors);
        limits::check(&config.tools.limits, &config.modules, file, errors);
        search::check(&config.tools.search, file, errors);
        serve::check(&config.serve, file, errors);
        let terminal = extensions.terminal.as_ref();
        let channels = channels::build(&config.tools.channels, terminal, context, &modules, errors);
        skills::check(&config.skills, (skills, &config.agents), file, errors);
        let constraints = config.modules.iter().map(|(id, module)| (id.as_str(), &module.constraints));
        let rules = Policy::new(&config.tools.capabilities, constraints)
            .map_err(|error| errors.push(file.error_at(error.place().pointer(), error.to_string())));
        warnings.extend(search::warning(&config.tools.search, file));
        warnings.extend(skills::warnings(skills));
        warnings.extend(rules.as_ref().ok().and_then(|rules| channels::unreachable(config, rules)));
        warnings.extend(agents::warnings(&config.agents, file));
        let mut parts =
            Self { modules, setup: None, channels, policy: None, sources: Vec::new(), flow: None };
        let Some(rules) = rules.ok().filter(|_| errors.is_empty()) else { return parts };
        match serve::scoped(former_names::with_former_names(rules), &config.serve, file) {
            Ok(policy) => parts.policy = Some(policy),
            Err(error) => errors.push(error),
        }
        match SetupRules::of(config, file).policy() {
            Ok(policy) => parts.setup = Some(Setup { policy: Arc::new(policy), calls }),
            Err(error) => errors.push(error),
        }
        match sources::build(config, extensions, context, skills) {
            Ok(sources) => parts.sources = sources,
            Err(wrong) => errors.extend(wrong),
        }
        let of_sources = parts
            .sources
            .iter()
            .filter_map(|source| Some((source.source.loader.source().to_owned(), source.limits.clone()?)));
        let of_modules = (&config.modules, &parts.modules[..]);
        match limits::flow(&config.tools.limits, file, of_modules, of_sources) {
            Ok(flow) => parts.flow = Some(flow),
            Err(error) => errors.push(error),
        }
        parts
    }
}

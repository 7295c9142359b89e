//! An app that is checked and built: everything that a runtime starts.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use toolcrib_document::Error as DocumentError;
use toolcrib_exec::{FlowSettings, Hook};
use toolcrib_policy::{Policy, RUNTIME_NAMESPACE};
use toolcrib_port::{ToolEngine as _, ToolLoader};
use toolcrib_registry::{Enrichment, SessionTools, Shapes, Snapshot, ToolRegistry};
use toolcrib_sdk::Module;
use toolcrib_tasks::Skills;
use toolcrib_tasks::schedule::SCHEDULER;

use crate::extensions::entry::AppContext;
use crate::findings::Findings;
use crate::sections::channels::NamedChannel;
use crate::sections::enrichments::EnrichmentsSection;
use crate::sections::setup::Setup;
use crate::sections::{
    agents, app, approvals, audit, capabilities, channels, enrichments, execution, generate, hooks, limits,
    modules, profiles, program_access, runtime, search, serve, setup, shapes, skills,
};
use crate::sources::{self, BuiltSource};
use crate::{App, Error, Extensions, LaunchOptions, called_apps, protected_files, secrets};

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
    /// The shapes of its tools.
    pub shapes: Arc<Shapes>,
    /// The checks of calls and results, in their order.
    pub hooks: Vec<Arc<dyn Hook>>,
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
    enrichments: EnrichmentsSection,
    warnings: Vec<String>,
}

impl fmt::Debug for Blueprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let called: Vec<_> = self.called.keys().collect();
        let mut debug = f.debug_struct("Blueprint");
        debug.field("app", &self.app).field("options", &self.options).field("called", &called);
        debug.finish_non_exhaustive()
    }
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

    /// Checks and builds an app that has been read: section after section, each from the settings with their variables
    /// filled in and from what was built before.
    pub fn new(app: App, options: LaunchOptions) -> Result<Self, Error> {
        let is_strict = options.strict.unwrap_or_else(|| app.is_strict());
        let session_tools = SessionTools::default();
        let context = context(&app, &options, is_strict, &session_tools);
        let App { config, file, extensions, resolved, .. } = &app;
        let mut found = Findings::default();

        let (skills, skill_folders) =
            skills::read(&config.skills, &resolved.skill_folders, &config.agents, file, &mut found);
        protected_files::protect(&app, &skills, &skill_folders);

        app::check(&config.app, file, &mut found.errors);
        secrets::check(config.secrets.as_deref().unwrap_or_default(), file, &mut found.errors);
        found.warnings.extend(file.providers.warnings());
        agents::check(&config.agents, &resolved.recordings, file, &mut found);
        agents::check_injection(&config.agents, config.runtime.tool_injection, file, &mut found.errors);
        audit::check(config.audit.as_ref(), resolved, file, &mut found.errors);
        generate::check(config.generate.as_ref(), &config.agents, file, &mut found.errors);
        runtime::check(&config.runtime, resolved.output_schema.as_ref(), file, &mut found.errors);
        let has_scheduler = config.modules.contains_key(SCHEDULER);
        execution::check(&config.execution, has_scheduler, file, &mut found.errors);
        search::check(&config.tools.search, file, &mut found);

        let modules =
            modules::build(&config.modules, &resolved.module_configs, extensions, &context, &mut found);
        program_access::warn(&app, &skills, &mut found.warnings);
        let policy = capabilities::policy(&app, (&modules, &skills), &mut found);
        let policy = serve::scope(policy, &app, &mut found);
        let policy = profiles::limited(policy, &app, &mut found);
        let policy = approvals::rules(policy, &app, &mut found);
        let setup = setup::build(config, file, &modules, &mut found);
        let channels = channels::build(&app, &context, &modules, policy.as_ref(), &mut found);
        let sources = sources::open_all(&app, &context, &skills, &mut found.errors);
        let shapes = shapes::build(&config.tools.shape, file, &mut found.errors);
        let hooks = hooks::build(&app, &mut found);
        let enrichments = enrichments::build(&app, &context, &mut found.errors);
        let of_sources: Vec<_> = sources.iter().filter_map(BuiltSource::limits).collect();
        let of_modules = (&config.modules, &modules[..]);
        let flow = limits::build(&config.tools.limits, file, of_modules, &of_sources, &mut found);
        let called = called_apps::read(&app, &mut found, |app| Self::new(app, options));

        let Findings { mut errors, warnings } = found;
        errors.sort_by_key(DocumentError::position);
        let (Some(policy), Some(setup), Some(flow), true) = (policy, setup, flow, errors.is_empty()) else {
            return Err(file.all_wrong(errors));
        };
        let skills = Arc::new(skills);
        let warnings = app.notes.iter().cloned().chain(warnings).collect();
        Ok(Self {
            app,
            options,
            is_strict,
            policy,
            modules,
            setup,
            sources,
            shapes,
            hooks,
            flow,
            channels,
            skills,
            session_tools,
            called,
            enrichments,
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
        enrichments::all(&self.app, &self.enrichments, self.options.search_patience)
    }

    /// Loads the modules and the sources that are files: what they hold, what of it cannot be used, and warnings about
    /// the rest. Nothing is started, and nothing remote is reached.
    pub async fn load_local_sources(self) -> (Arc<Snapshot>, Vec<String>) {
        let (local, remote): (Vec<_>, Vec<_>) =
            self.sources.into_iter().map(|built| built.source).partition(|source| source.is_local);
        let local: Vec<_> = local.into_iter().map(|source| source.loader).collect();
        let shapes = if remote.is_empty() {
            self.shapes
        } else {
            Arc::new(Shapes::clone(&self.shapes).with_partial_sources())
        };
        // Their namespaces, and that of the runtime, are their own, as they are when the app starts.
        let own = Module::new(RUNTIME_NAMESPACE, "");
        let modules: Vec<_> = [own].into_iter().chain(self.modules).map(Arc::new).collect();
        let loaders = modules.iter().map(|module| Arc::clone(module) as Arc<dyn ToolLoader>);
        let loaders = loaders.chain(local.iter().cloned());
        let snapshot = ToolRegistry::from_shaped_loaders(loaders, shapes).await.snapshot();
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
    AppContext {
        app,
        file: &app.file,
        access: app.resolved.access.clone(),
        protected: &app.protected,
        memory: &app.memory,
        means: execution::means(&app.config),
        session_tools,
        pins: app.pins().map_err(|error| error.to_string()),
        startup_timeout: options.startup_timeout,
        is_lazy: options.lazy && !is_strict,
    }
}

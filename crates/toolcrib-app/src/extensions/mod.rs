//! The modules, loaders and engines that an app file may name, and their registration.

mod built_in;
pub(crate) mod entry;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolcrib_datagen::sampler::{BuildError, Catalogue, Sampler, Samplers};
use toolcrib_document::Error as DocumentError;
use toolcrib_exec::audit::{AuditSink, TraceSource};
use toolcrib_oauth::client::LoginLinks;
use toolcrib_port::ToolEngine;
use toolcrib_registry::Enrichment;
use toolcrib_registry::enrichment::SuppliersEnrichment;
use toolcrib_results::Secrets;
use toolcrib_script::ScriptEngine;
use toolcrib_sdk::{Module, Source, schema_of};
use toolcrib_tasks::channels::Terminal;

use crate::extensions::entry::EntryContext;
use crate::sources::load_observer::LoadObserver;

type LoaderFactory = Arc<dyn Fn(&EntryContext<'_>) -> Result<Source, DocumentError> + Send + Sync>;
/// Makes the schema of a configuration within a larger one.
type ConfigIn = fn(&mut SchemaGenerator) -> Schema;
type ModuleMaker = Arc<dyn Fn(&EntryContext<'_>) -> Result<Module, DocumentError> + Send + Sync>;
type EnrichmentFactory =
    Arc<dyn Fn(&EntryContext<'_>) -> Result<Arc<dyn Enrichment>, DocumentError> + Send + Sync>;
type EngineFactory = Arc<dyn Fn(&EntryContext<'_>) -> Result<NamedEngine, DocumentError> + Send + Sync>;

/// An engine of `tools.engines`.
pub(crate) enum NamedEngine {
    /// One that runs calls.
    Engine(Arc<dyn ToolEngine>),
    /// One that forwards calls to others of them.
    Routed(RoutedSettings),
}

/// The settings of an engine that forwards calls.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoutedSettings {
    /// The routes, in the order in which they are tried.
    #[serde(default)]
    pub(crate) routes: Vec<RouteSettings>,
    /// The engine of tools without a route.
    pub(crate) default: Option<String>,
}

/// A route of an engine that forwards calls.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RouteSettings {
    /// The pattern of the tools.
    pub(crate) tools: String,
    /// The engine, by its name.
    pub(crate) engine: String,
}

/// A module that an app file may name: the type of its `config`, and how it is made of it.
#[derive(Clone)]
struct ModuleFactory {
    config: fn() -> Value,
    /// The same among the definitions of a larger schema.
    config_in: ConfigIn,
    make: ModuleMaker,
}

/// The extensions that an app file may name: the modules of `modules`, the loaders of `tools.registry`, the engines of
/// `tools.engines`; and the enrichments that run after each load. The default has the built-in ones; a crate adds
/// others under a name.
///
/// ```
/// use std::sync::Arc;
/// use serde::Deserialize;
/// use toolcrib_port::{LoadOutcome, ToolLoader};
/// use toolcrib_app::{Blueprint, Extensions};
/// use toolcrib_sdk::Source;
///
/// #[derive(Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Settings {
///     address: String,
/// }
///
/// struct Grpc(String);
///
/// #[async_trait::async_trait]
/// impl ToolLoader for Grpc {
///     fn source(&self) -> &str {
///         &self.0
///     }
///
///     async fn load(&self) -> LoadOutcome {
///         LoadOutcome::default()
///     }
/// }
///
/// let extensions = Extensions::default().with_loader("grpc", |settings: Settings, _| {
///     Ok(Source::new(Arc::new(Grpc(format!("grpc {}", settings.address)))))
/// });
/// let app = "tools: {registry: [{type: grpc, adress: here}]}";
/// let error = Blueprint::from_text_with("app.yaml", app, extensions).unwrap_err();
/// assert_eq!(error.to_string(), "app.yaml:1:33: unknown key `adress`, did you mean `address`?");
/// ```
///
/// A module is added in the same way, with the type of `modules.<id>.config`:
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use toolcrib_app::{Blueprint, EntryContext, Extensions};
/// use toolcrib_sdk::{AppEntry, Module};
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct Config {
///     /// Where the reports are.
///     folder: String,
/// }
///
/// let extensions = Extensions::default().with_module("reports", |config: Config, place: &EntryContext<'_>| {
///     let folder = place.path(&config.folder);
///     Ok(Module::new("reports", format!("Reads the reports in {}.", folder.display())))
/// });
/// let app = "modules: {reports: {config: {foldr: here}}}";
/// let error = Blueprint::from_text_with("app.yaml", app, extensions).unwrap_err();
/// assert_eq!(error.to_string(), "app.yaml:1:30: unknown key `foldr`, did you mean `folder`?");
/// ```
#[derive(Clone)]
pub struct Extensions {
    modules: BTreeMap<String, ModuleFactory>,
    loaders: BTreeMap<String, LoaderFactory>,
    engines: BTreeMap<String, EngineFactory>,
    enrichment_types: BTreeMap<String, EnrichmentFactory>,
    /// The samplers that `generate.samplers` may name.
    pub samplers: Samplers,
    /// The enrichments that run after each load.
    pub enrichments: Vec<Arc<dyn Enrichment>>,
    pub(crate) secrets: Secrets,
    pub(crate) terminal: Option<Arc<dyn Terminal>>,
    /// The engine of scripts. Without one, no scripts run.
    pub script_engine: Option<Arc<dyn ScriptEngine>>,
    /// The observers of the records of calls, also where the app keeps none.
    pub observers: Vec<Arc<dyn AuditSink>>,
    /// The observer of sources while they load.
    pub load_observer: Option<Arc<dyn LoadObserver>>,
    /// The logins of users by a link, which a server offers.
    pub login_links: LoginLinks,
    /// The function that returns the `traceparent` of spans.
    pub trace_source: Option<TraceSource>,
    pub(crate) is_strict: bool,
    /// True if an app file that names no providers of secrets reads `.env` next to it.
    pub(crate) reads_dotenv: bool,
}

impl Extensions {
    /// Returns extensions without any.
    pub(crate) fn empty() -> Self {
        Self {
            modules: BTreeMap::new(),
            loaders: BTreeMap::new(),
            engines: BTreeMap::new(),
            enrichment_types: BTreeMap::new(),
            samplers: Samplers::default(),
            enrichments: vec![Arc::new(SuppliersEnrichment)],
            secrets: Secrets::new(),
            terminal: None,
            script_engine: None,
            observers: Vec::new(),
            load_observer: None,
            login_links: LoginLinks::default(),
            trace_source: None,
            is_strict: false,
            reads_dotenv: false,
        }
    }

    /// Adds a module, or takes the place of the one of that id. Its configuration is what stands under `config`, or an
    /// empty mapping; it is checked against its type before the function sees it. An error of the function is said at
    /// the place of the configuration.
    ///
    /// The function is called when the app file is checked, also where the app is not started then, so it starts
    /// nothing.
    pub fn with_module<T, F>(mut self, id: impl Into<String>, make: F) -> Self
    where
        T: DeserializeOwned + JsonSchema,
        F: Fn(T, &EntryContext<'_>) -> Result<Module, String> + Send + Sync + 'static,
    {
        self.add_module(id.into(), make);
        self
    }

    pub(crate) fn add_module<T, F>(&mut self, id: String, make: F)
    where
        T: DeserializeOwned + JsonSchema,
        F: Fn(T, &EntryContext<'_>) -> Result<Module, String> + Send + Sync + 'static,
    {
        let name = id.clone();
        let make = move |place: &EntryContext<'_>| {
            let module = make(place.typed()?, place).map_err(|message| place.error(message))?;
            if module.id() == name {
                return Ok(module.with_config_location(format!("modules.{name}.config")));
            }
            Err(place
                .error(format!("the module `{name}` calls itself `{}`; this is a fault in it", module.id())))
        };
        let config_in: ConfigIn = |generator| generator.subschema_for::<T>();
        self.modules.insert(id, ModuleFactory { config: schema_of::<T>, config_in, make: Arc::new(make) });
    }

    /// Adds a loader, or replaces the one with that name. Its settings are the keys of the entry except `type` and
    /// `engine`; they are parsed into their type before the function gets them. An error of the function is reported at
    /// the position of the entry.
    pub fn with_loader<T, F>(mut self, name: impl Into<String>, open: F) -> Self
    where
        T: DeserializeOwned,
        F: Fn(T, &EntryContext<'_>) -> Result<Source, String> + Send + Sync + 'static,
    {
        let factory = move |place: &EntryContext<'_>| {
            open(place.typed()?, place).map_err(|message| place.error(message))
        };
        self.loaders.insert(name.into(), Arc::new(factory));
        self
    }

    /// Adds an engine, or replaces the one with that name. Its settings are the keys of the entry except `type`.
    pub fn with_engine<T, F>(mut self, name: impl Into<String>, make: F) -> Self
    where
        T: DeserializeOwned,
        F: Fn(T, &EntryContext<'_>) -> Result<Arc<dyn ToolEngine>, String> + Send + Sync + 'static,
    {
        let factory = move |place: &EntryContext<'_>| {
            let engine = make(place.typed()?, place).map_err(|message| place.error(message))?;
            Ok(NamedEngine::Engine(engine))
        };
        self.engines.insert(name.into(), Arc::new(factory));
        self
    }

    /// Adds a type of `tools.enrichments`, or replaces the one with that name. Its settings are the keys of the entry
    /// except `type`.
    pub fn with_enrichment_type<T, F>(mut self, name: impl Into<String>, make: F) -> Self
    where
        T: DeserializeOwned,
        F: Fn(T, &EntryContext<'_>) -> Result<Arc<dyn Enrichment>, String> + Send + Sync + 'static,
    {
        let factory = move |place: &EntryContext<'_>| {
            make(place.typed()?, place).map_err(|message| place.error(message))
        };
        self.enrichment_types.insert(name.into(), Arc::new(factory));
        self
    }

    /// Adds a type of `generate.samplers`, or replaces the one with that name. Its settings are the keys of the entry
    /// except `type`, `weight` and `count`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use serde::Deserialize;
    /// use toolcrib_app::Extensions;
    /// use toolcrib_datagen::sampler::{Catalogue, Sample, SampleRequest, Sampler, SamplingError};
    ///
    /// #[derive(Deserialize)]
    /// struct Settings {
    ///     least_risk: String,
    /// }
    ///
    /// struct Risky(Settings, Catalogue);
    ///
    /// impl Sampler for Risky {
    ///     fn sample(&self, request: &SampleRequest) -> Result<Sample, SamplingError> {
    ///         Err(SamplingError::new(format!("no tool has {}", self.0.least_risk), request.count, self.1.len()))
    ///     }
    /// }
    ///
    /// let extensions = Extensions::default()
    ///     .with_sampler("risky", |settings: Settings, catalogue| Ok(Arc::new(Risky(settings, catalogue.clone()))));
    /// assert!(extensions.samplers.names().any(|name| name == "risky"));
    /// ```
    pub fn with_sampler<T, F>(mut self, name: &str, make: F) -> Self
    where
        T: DeserializeOwned,
        F: Fn(T, &Catalogue) -> Result<Arc<dyn Sampler>, BuildError> + Send + Sync + 'static,
    {
        self.samplers = std::mem::take(&mut self.samplers).with(name, make);
        self
    }

    /// Adds an engine whose errors have their places.
    pub(crate) fn with_located_engine<T, F>(mut self, name: &str, make: F) -> Self
    where
        T: DeserializeOwned,
        F: Fn(T, &EntryContext<'_>) -> Result<NamedEngine, DocumentError> + Send + Sync + 'static,
    {
        let factory = move |place: &EntryContext<'_>| make(place.typed()?, place);
        self.engines.insert(name.to_owned(), Arc::new(factory));
        self
    }

    /// Adds an enrichment, which runs after each load of every app.
    pub fn with_enrichment(mut self, enrichment: Arc<dyn Enrichment>) -> Self {
        self.enrichments.push(enrichment);
        self
    }

    /// Sets where the secrets of the app file are collected, so that a logger that is there before it knows them.
    pub fn with_secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// Sets the terminal that channels of `type: terminal` show messages on; without one, sending to them is an error.
    pub fn with_terminal(mut self, terminal: Arc<dyn Terminal>) -> Self {
        self.terminal = Some(terminal);
        self
    }

    /// Runs scripts with this engine.
    pub fn with_script_engine(mut self, engine: Arc<dyn ScriptEngine>) -> Self {
        self.script_engine = Some(engine);
        self
    }

    /// Adds an observer of the records of calls, also where the app keeps none.
    pub fn with_observer(mut self, observer: Arc<dyn AuditSink>) -> Self {
        self.observers.push(observer);
        self
    }

    /// Sets the function that returns the `traceparent` of spans; see [`Audit::with_trace_source`].
    ///
    /// [`Audit::with_trace_source`]: toolcrib_exec::audit::Audit::with_trace_source
    pub fn with_trace_source(mut self, source: TraceSource) -> Self {
        self.trace_source = Some(source);
        self
    }

    /// Makes every app strict, as `tools.strict: true` makes one.
    pub fn strict(mut self) -> Self {
        self.is_strict = true;
        self
    }

    /// Makes every app file that names no providers of secrets read the file `.env` next to it, or not, which is the
    /// default.
    pub fn with_dotenv(mut self, reads_dotenv: bool) -> Self {
        self.reads_dotenv = reads_dotenv;
        self
    }

    /// Returns the ids of the modules, sorted.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.modules.keys().map(String::as_str)
    }

    /// Returns the names of the loaders, sorted.
    pub fn loaders(&self) -> impl Iterator<Item = &str> {
        self.loaders.keys().map(String::as_str)
    }

    /// Returns the names of the engines, sorted.
    pub fn engines(&self) -> impl Iterator<Item = &str> {
        self.engines.keys().map(String::as_str)
    }

    /// Returns the names of the added types of enrichments, sorted.
    pub(crate) fn enrichment_types(&self) -> impl Iterator<Item = &str> {
        self.enrichment_types.keys().map(String::as_str)
    }

    pub(crate) fn enrichment(
        &self,
        name: &str,
        place: &EntryContext<'_>,
    ) -> Result<Arc<dyn Enrichment>, DocumentError> {
        let factory = self
            .enrichment_types
            .get(name)
            .ok_or_else(|| place.error(format!("there is no enrichment `{name}`")))?;
        factory(place)
    }

    /// Returns the JSON Schema of the `config` of a module.
    pub(crate) fn module_config(&self, id: &str) -> Option<Value> {
        self.modules.get(id).map(|factory| (factory.config)())
    }

    /// Returns the functions that make the schema of each module's `config` within a larger one, by id.
    pub(crate) fn module_configs(&self) -> impl Iterator<Item = (&str, ConfigIn)> {
        self.modules.iter().map(|(id, factory)| (id.as_str(), factory.config_in))
    }

    pub(crate) fn module(&self, id: &str, place: &EntryContext<'_>) -> Result<Module, DocumentError> {
        let factory =
            self.modules.get(id).ok_or_else(|| place.error(format!("there is no module `{id}`")))?;
        (factory.make)(place)
    }

    pub(crate) fn loader(&self, name: &str, place: &EntryContext<'_>) -> Result<Source, DocumentError> {
        let factory =
            self.loaders.get(name).ok_or_else(|| place.error(format!("there is no loader `{name}`")))?;
        factory(place)
    }

    pub(crate) fn engine(&self, name: &str, place: &EntryContext<'_>) -> Result<NamedEngine, DocumentError> {
        let factory =
            self.engines.get(name).ok_or_else(|| place.error(format!("there is no engine `{name}`")))?;
        factory(place)
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let enrichments: Vec<_> = self.enrichments.iter().map(|enrichment| enrichment.key()).collect();
        f.debug_struct("Extensions")
            .field("modules", &self.modules.keys())
            .field("loaders", &self.loaders.keys())
            .field("engines", &self.engines.keys())
            .field("enrichments", &enrichments)
            .field("secrets", &self.secrets)
            .field("has_terminal", &self.terminal.is_some())
            .field("has_script_engine", &self.script_engine.is_some())
            .finish_non_exhaustive()
    }
}

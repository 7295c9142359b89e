//! From an entry of `tools.registry` to a loader and its engine.

mod checked_loader;
mod engines;
pub(crate) mod load_observer;
mod namespaces;
mod not_opened;
mod single_source;
mod unavailable_source;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolcrib_document::Error as DocumentError;
use toolcrib_exec::flow::SourceLimits;
use toolcrib_loader_file::entry as file_entry;
use toolcrib_loader_file::exec::MANIFEST;
use toolcrib_loader_file::{ExecModule, ModuleSettings};
use toolcrib_sdk::Source;
use toolcrib_tasks::Skills;

pub use self::checked_loader::CheckedLoader;
use self::engines::Engines;
pub use self::load_observer::LoadObserver;
use self::namespaces::NamespaceOwners;
use self::not_opened::NotOpened;
pub use self::single_source::SourceRequest;
pub use self::unavailable_source::UnavailableSource;
use self::unavailable_source::unusable;
use crate::extensions::entry::{AppContext, EntryContext};
use crate::file::former_names;
use crate::nesting::ServedApps;
use crate::resolved::ResolvedEntry;
use crate::sections::values::unknown;
use crate::{App, AppFile};

/// The pointers of the skills, and of the sandbox of their programs.
const SKILLS: &str = "/skills";
const SKILLS_SANDBOX: &str = "/skills/sandbox";

/// The types of sources that can be loaded again after a time. Servers say themselves when they change.
const REFRESHED: [&str; 2] = ["file", "rest"];

/// The shortest time after which a source is loaded again.
const MIN_REFRESH_SECONDS: u64 = 10;

/// The longest such time: a week.
const MAX_REFRESH_SECONDS: u64 = 7 * 24 * 60 * 60;

/// A source of an app.
pub struct BuiltSource {
    /// The loader, which checks and redacts its tools, and the engine.
    pub source: Source,
    /// The `limits` of its entry, with their JSON pointer.
    limits: Option<(String, SourceLimits)>,
    /// The reason why it has no tools: a variable that it names is not set.
    pub(crate) unusable: Option<String>,
}

impl BuiltSource {
    fn new(source: Source) -> Self {
        Self { source, limits: None, unusable: None }
    }

    /// Returns the name of the source, and the `limits` of its entry with their JSON pointer.
    pub(crate) fn limits(&self) -> Option<(&str, &str, &SourceLimits)> {
        let (place, limits) = self.limits.as_ref()?;
        Some((self.source.loader.source(), place, limits))
    }
}

/// Checks all sources of an app, and builds them in its order, unless something is wrong with the app. Nothing is read
/// or started yet. One that names a variable which is not set is a source without tools.
pub(crate) fn open_all(
    app: &App,
    context: &AppContext<'_>,
    skills: &Skills,
    errors: &mut Vec<DocumentError>,
) -> Vec<BuiltSource> {
    check_engines(app, errors);
    check_registry(app, errors);
    if !errors.is_empty() {
        return Vec::new();
    }
    let programs = of_skills(skills, context).map_err(|error| errors.push(error));
    let engines = Engines::open(app, context).map_err(|error| errors.push(error));
    let (Ok(programs), Ok(engines)) = (programs, engines) else { return Vec::new() };
    let mut sources: Vec<BuiltSource> = Vec::new();
    let mut served = ServedApps::of_this_process();
    let mut owners = NamespaceOwners::new(&app.config.modules);
    for (entry, written) in app.resolved.registry.iter().zip(&app.config.tools.registry) {
        let source = match source(app, context, entry, &engines, &mut served) {
            Ok(source) => source,
            Err(NotOpened::Unusable(error)) => unusable(&app.file, written, &entry.pointer, error),
            Err(NotOpened::Wrong(error)) => {
                errors.push(error);
                continue;
            }
        };
        if let Some(message) = owners.add(&source.source.loader) {
            errors.push(app.file.error_at(&entry.pointer, message));
        }
        sources.push(source);
    }
    sources.extend(programs);
    sources
}

/// Returns the programs that come with skills, each folder with a manifest under the name of its skill. They are tools
/// like any: what the gate does not let through, does not run.
fn of_skills(skills: &Skills, app: &AppContext<'_>) -> Result<Vec<BuiltSource>, DocumentError> {
    let access = app.access.clone()?;
    let workspace = app.file.workspace()?;
    let place = EntryContext { app, pointer: SKILLS, settings: &Value::Null, access: None };
    let configured = &app.app.config.skills.sandbox;
    let with_programs = skills.iter().filter(|skill| skill.holds(MANIFEST));
    let mut sources = Vec::new();
    for skill in with_programs {
        let Some(folder) = skill.folder() else { continue };
        let sandbox = file_entry::sandbox(configured.clone(), &skill.name, &place);
        let sandbox = sandbox.map_err(|message| app.file.error_at(SKILLS_SANDBOX, message))?;
        let mut settings = ModuleSettings::default();
        settings.namespace = Some(skill.name.clone());
        settings.workspace = Some(workspace.clone());
        settings.access = access.clone();
        settings.sandbox = sandbox;
        let module = Arc::new(ExecModule::new(folder, settings));
        sources.push(BuiltSource::new(Source::new(module.clone()).local().with_engine(module)));
    }
    Ok(sources)
}

fn source(
    app: &App,
    context: &AppContext<'_>,
    entry: &ResolvedEntry,
    engines: &Engines,
    served: &mut ServedApps,
) -> Result<BuiltSource, NotOpened> {
    let (file, pointer) = (&app.file, entry.pointer.as_str());
    if let Some(unset) = &entry.unset {
        return Err(NotOpened::Unusable(unset.clone()));
    }
    let SourceSettings { kind, settings, engine, limits, refresh } = settings_of_source(entry);
    served.add(&settings).map_err(|message| NotOpened::Unusable(file.error_at(pointer, message)))?;
    let refresh = refresh.map(|seconds| refresh_time(file, &seconds, pointer)).transpose()?;
    let place = format!("{pointer}/limits");
    let limits = limits.map(|limits| file.document.deserialize_value::<SourceLimits>(&limits, &place));
    let limits = limits.transpose()?.map(|limits| (place, limits));
    let place = EntryContext { app: context, pointer, settings: &settings, access: None };
    let mut source = app.extensions.loader(kind, &place)?;
    if let Some(name) = engine.as_ref().and_then(Value::as_str) {
        source.engine = Some(engines.of_source(file, name, source.engine.take())?);
    }
    let engine = source.engine.clone();
    let loader = CheckedLoader::new(source.loader, engine, file.secrets.clone(), refresh);
    source.loader = Arc::new(loader.with_observer(app.extensions.load_observer.clone()));
    Ok(BuiltSource { source, limits, unusable: None })
}

/// Reads after which time a source is loaded again.
fn refresh_time(file: &AppFile, seconds: &Value, pointer: &str) -> Result<Duration, DocumentError> {
    let bounds = MIN_REFRESH_SECONDS..=MAX_REFRESH_SECONDS;
    seconds.as_u64().filter(|seconds| bounds.contains(seconds)).map(Duration::from_secs).ok_or_else(|| {
        let message = format!(
            "`refresh_seconds` has to be a whole number from {MIN_REFRESH_SECONDS} to {MAX_REFRESH_SECONDS}, not {seconds}"
        );
        file.error_at(&format!("{pointer}/refresh_seconds"), message)
    })
}

/// The settings of a source, with variables filled in.
pub(crate) struct SourceSettings<'a> {
    kind: &'a str,
    /// Those of its loader.
    pub(crate) settings: Value,
    engine: Option<Value>,
    limits: Option<Value>,
    refresh: Option<Value>,
}

/// Returns the settings of a source. Every loader takes an engine and limits, so none has to know of them.
pub(crate) fn settings_of_source(entry: &ResolvedEntry) -> SourceSettings<'_> {
    let (kind, mut settings) = (entry.kind.as_deref().unwrap_or_default(), entry.settings.clone());
    let mut taken = |key| settings.as_object_mut().and_then(|map| map.shift_remove(key));
    let (engine, limits) = (taken("engine"), taken("limits"));
    let refresh = if REFRESHED.contains(&kind) { taken("refresh_seconds") } else { None };
    SourceSettings { kind, settings, engine, limits, refresh }
}

/// Checks the `type` of each engine.
fn check_engines(app: &App, errors: &mut Vec<DocumentError>) {
    let known: Vec<_> = app.extensions.engines().collect();
    for (name, engine) in &app.config.tools.engines {
        if let Err(message) = kind(engine, "engine", &known) {
            let kind = engine.get("type").and_then(Value::as_str).unwrap_or_default();
            let message = former_names::instead_of_engine(kind)
                .map_or(message, |advice| format!("there is no engine `{kind}`: {advice}"));
            errors.push(app.file.error_at(&format!("/tools/engines/{name}"), message));
        }
    }
}

/// Checks the `type` and the `engine` of each source.
fn check_registry(app: &App, errors: &mut Vec<DocumentError>) {
    let engines: Vec<&str> = app.config.tools.engines.keys().map(String::as_str).collect();
    let loaders: Vec<_> = app.extensions.loaders().collect();
    for (position, entry) in app.config.tools.registry.iter().enumerate() {
        let place = format!("/tools/registry/{position}");
        if let Err(message) = kind(entry, "loader", &loaders) {
            errors.push(app.file.error_at(&place, message));
            continue;
        }
        let message = match entry.get("engine") {
            None | Some(Value::Null) => continue,
            Some(Value::String(engine)) if engines.contains(&engine.as_str()) => continue,
            Some(Value::String(engine)) => unknown("engine", engine, &engines),
            Some(other) => format!("`engine` should be the name of one of `tools.engines`, not {other}"),
        };
        errors.push(app.file.error_at(&format!("{place}/engine"), message));
    }
}

/// Checks the `type` of an entry.
fn kind(entry: &Value, what: &str, known: &[&str]) -> Result<(), String> {
    match entry.get("type").and_then(Value::as_str) {
        Some(kind) if known.contains(&kind) => Ok(()),
        Some(kind) => Err(unknown(what, kind, known)),
        None => Err(format!("the {what} needs a `type`, one of: {}", known.join(", "))),
    }
}

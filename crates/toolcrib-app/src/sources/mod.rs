//! From an entry of `tools.registry` to a loader and its engine.

mod checked_loader;
mod single_source;
mod unavailable_source;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolcrib_document::Error as DocumentError;
use toolcrib_exec::flow::SourceLimits;
use toolcrib_loader_file::exec::MANIFEST;
use toolcrib_loader_file::{ExecModule, ModuleSettings};
use toolcrib_model::text::pointer_part;
use toolcrib_port::{ToolEngine, ToolLoader};
use toolcrib_sdk::Source;
use toolcrib_tasks::Skills;

pub use self::checked_loader::CheckedLoader;
pub use self::single_source::SourceRequest;
use self::unavailable_source::unusable;
use crate::extensions::Extensions;
use crate::extensions::entry::{AppContext, EntryContext};
use crate::file::{former_names, variables};
use crate::nesting::ServedApps;
use crate::sections::limits::too_long;
use crate::sections::values::unknown;
use crate::{AppConfig, AppFile};

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
    /// The `limits` of its entry.
    pub(crate) limits: Option<SourceLimits>,
    /// The reason why it has no tools: a variable that it names is not set.
    pub(crate) unusable: Option<String>,
}

impl BuiltSource {
    fn new(source: Source) -> Self {
        Self { source, limits: None, unusable: None }
    }
}

/// Builds all sources of an app, in its order. Nothing is read or started yet. One that names a variable which is not
/// set is a source without tools.
pub(crate) fn build(
    config: &AppConfig,
    extensions: &Extensions,
    app: &AppContext<'_>,
    skills: &Skills,
) -> Result<Vec<BuiltSource>, Vec<DocumentError>> {
    let engines = engines(config, extensions, app).map_err(|error| vec![error])?;
    let mut sources: Vec<BuiltSource> = Vec::new();
    let mut errors = Vec::new();
    let mut served = ServedApps::of_this_process();
    for (position, entry) in config.tools.registry.iter().enumerate() {
        let place = format!("/tools/registry/{position}");
        match source((extensions, &engines), app, entry, &place, &mut served) {
            Ok(source) => {
                if let Some(message) = taken(config, &sources, source.source.loader.as_ref()) {
                    errors.push(app.file.error_at(&place, message));
                }
                sources.push(source);
            }
            Err(error) => errors.push(error),
        }
    }
    match of_skills(skills, app) {
        Ok(programs) => sources.extend(programs),
        Err(error) => errors.push(error),
    }
    if errors.is_empty() { Ok(sources) } else { Err(errors) }
}

/// Returns the programs that come with skills, each folder with a manifest under the name of its skill. They are tools
/// like any: what the gate does not let through, does not run.
fn of_skills(skills: &Skills, app: &AppContext<'_>) -> Result<Vec<BuiltSource>, DocumentError> {
    let access = app.access.clone()?;
    let workspace = app.file.workspace()?;
    let with_programs = skills.iter().filter(|skill| skill.holds(MANIFEST));
    Ok(with_programs
        .filter_map(|skill| {
            let settings = ModuleSettings {
                namespace: Some(skill.name.clone()),
                workspace: Some(workspace.clone()),
                access: access.clone(),
                ..ModuleSettings::default()
            };
            let module = Arc::new(ExecModule::new(skill.folder()?, settings));
            Some(BuiltSource::new(Source::new(module.clone()).local().with_engine(module)))
        })
        .collect())
}

/// Returns an error message where the name or the namespace of a source is that of another one.
fn taken(config: &AppConfig, sources: &[BuiltSource], loader: &dyn ToolLoader) -> Option<String> {
    let name = loader.source();
    if sources.iter().any(|other| other.source.loader.source() == name) {
        return Some(format!("duplicate `{name}`; give each a different namespace"));
    }
    let namespace = loader.exclusive_namespace()?;
    if config.modules.contains_key(namespace) {
        return Some(format!(
            "the namespace `{namespace}` is that of the module `{namespace}`; use another one"
        ));
    }
    let mut loaders = sources.iter().map(|other| &other.source.loader);
    let owner = loaders.find(|other| other.exclusive_namespace() == Some(namespace))?.source();
    Some(format!("the namespace `{namespace}` is that of `{owner}`; use another one"))
}

/// The engines by name; of one that names a variable which is not set, what is wrong with it.
type Engines = BTreeMap<String, Result<Arc<dyn ToolEngine>, DocumentError>>;

fn engines(
    config: &AppConfig,
    extensions: &Extensions,
    app: &AppContext<'_>,
) -> Result<Engines, DocumentError> {
    let mut engines = Engines::new();
    for (name, entry) in &config.tools.engines {
        let pointer = format!("/tools/engines/{}", pointer_part(name));
        let engine = match settings(app.file, entry, &pointer) {
            Ok((kind, settings)) => {
                let place = EntryContext { app, pointer: &pointer, settings: &settings, access: None };
                Ok(extensions.engine(&kind, &place)?)
            }
            Err(unset) => Err(unset),
        };
        engines.insert(name.clone(), engine);
    }
    Ok(engines)
}

fn source(
    (extensions, engines): (&Extensions, &Engines),
    app: &AppContext<'_>,
    entry: &Value,
    pointer: &str,
    served: &mut ServedApps,
) -> Result<BuiltSource, DocumentError> {
    let SourceSettings { kind, settings, engine, limits, refresh } =
        match settings_of_source(app.file, entry, pointer) {
            Ok(settings) => settings,
            Err(unset) => return Ok(unusable(app.file, entry, pointer, unset)),
        };
    if let Err(message) = served.add(&settings) {
        return Ok(unusable(app.file, entry, pointer, app.file.error_at(pointer, message)));
    }
    let refresh = refresh.map(|seconds| refresh_time(app.file, &seconds, pointer)).transpose()?;
    let place = format!("{pointer}/limits");
    let limits = limits
        .map(|limits| app.file.document.deserialize_value::<SourceLimits>(&limits, &place))
        .transpose()?;
    if let Some(error) = limits.as_ref().and_then(|limits| too_long(app.file, &place, limits.timeout)) {
        return Err(error);
    }
    let mut source =
        extensions.loader(&kind, &EntryContext { app, pointer, settings: &settings, access: None })?;
    match engine.as_ref().and_then(Value::as_str).and_then(|name| engines.get(name)) {
        Some(Ok(engine)) => source.engine = Some(Arc::clone(engine)),
        Some(Err(unset)) => return Ok(unusable(app.file, entry, pointer, unset.clone())),
        None => {}
    }
    let engine = source.engine.clone();
    source.loader = Arc::new(CheckedLoader::new(source.loader, engine, app.file.secrets.clone(), refresh));
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
pub(crate) struct SourceSettings {
    kind: String,
    /// Those of its loader.
    pub(crate) settings: Value,
    engine: Option<Value>,
    limits: Option<Value>,
    refresh: Option<Value>,
}

/// Returns the settings of a source. Every loader takes an engine and limits, so none has to know of them. An error is a
/// variable that is not set.
pub(crate) fn settings_of_source(
    file: &AppFile,
    entry: &Value,
    pointer: &str,
) -> Result<SourceSettings, DocumentError> {
    let (kind, mut settings) = settings(file, entry, pointer)?;
    let mut taken = |key| settings.as_object_mut().and_then(|map| map.shift_remove(key));
    let (engine, limits) = (taken("engine"), taken("limits"));
    let refresh = if REFRESHED.contains(&&*kind) { taken("refresh_seconds") } else { None };
    Ok(SourceSettings { kind, settings, engine, limits, refresh })
}

/// Returns the type of an entry, and its settings with variables filled in and without the type. An error is a variable
/// that is not set.
fn settings(file: &AppFile, entry: &Value, pointer: &str) -> Result<(String, Value), DocumentError> {
    let mut settings = variables::filled(file, entry, pointer)?;
    let kind = settings.as_object_mut().and_then(|map| map.shift_remove("type"));
    Ok((kind.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned(), settings))
}

/// Checks the `type` of each engine.
pub(crate) fn check_engines(
    config: &AppConfig,
    extensions: &Extensions,
    file: &AppFile,
    errors: &mut Vec<DocumentError>,
) {
    let known: Vec<_> = extensions.engines().collect();
    for (name, engine) in &config.tools.engines {
        if let Err(message) = kind(engine, "engine", &known) {
            let kind = engine.get("type").and_then(Value::as_str).unwrap_or_default();
            let message = former_names::instead_of_engine(kind)
                .map_or(message, |advice| format!("there is no engine `{kind}`: {advice}"));
            errors.push(file.error_at(&format!("/tools/engines/{name}"), message));
        }
    }
}

/// Checks the `type` and the `engine` of each source.
pub(crate) fn check_registry(
    config: &AppConfig,
    extensions: &Extensions,
    file: &AppFile,
    errors: &mut Vec<DocumentError>,
) {
    let engines: Vec<&str> = config.tools.engines.keys().map(String::as_str).collect();
    let loaders: Vec<_> = extensions.loaders().collect();
    for (position, entry) in config.tools.registry.iter().enumerate() {
        let place = format!("/tools/registry/{position}");
        if let Err(message) = kind(entry, "loader", &loaders) {
            errors.push(file.error_at(&place, message));
            continue;
        }
        let message = match entry.get("engine") {
            None | Some(Value::Null) => continue,
            Some(Value::String(engine)) if engines.contains(&engine.as_str()) => continue,
            Some(Value::String(engine)) => unknown("engine", engine, &engines),
            Some(other) => format!("`engine` should be the name of one of `tools.engines`, not {other}"),
        };
        errors.push(file.error_at(&format!("{place}/engine"), message));
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

//! From an entry of `tools.registry` to a loader and its engine.

mod auth;
mod built_in;
mod exec;
mod folders;
mod mcp;
mod mcp_auth;
mod request;
mod rest;
mod selection;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_document::Error as DocumentError;
use toolcrib_exec::SourceLimits;
use toolcrib_loader_mcp::McpSource;
use toolcrib_port::{ToolEngine, ToolLoader};

pub(crate) use self::built_in::{is_private, register};
pub(crate) use self::folders::cache_folder;
pub use self::folders::{state_folder, state_name};
pub use self::request::SourceRequest;
use crate::extensions::Place;
use crate::limits::too_long;
use crate::redacted::Redacted;
use crate::{App, variables};

/// A loader with the engine that runs its tools; a tool file may have none.
#[derive(Clone)]
pub struct Source {
    /// Where the tools come from.
    pub loader: Arc<dyn ToolLoader>,
    /// What runs them.
    pub engine: Option<Arc<dyn ToolEngine>>,
    /// Whether loading it only reads files, and starts or reaches nothing.
    pub is_local: bool,
    /// The file whose saving loads it again.
    pub watched: Option<PathBuf>,
    /// What its entry says under `limits`.
    pub(crate) limits: Option<SourceLimits>,
    /// The MCP server that it is.
    pub(crate) mcp: Option<McpSource>,
}

impl Source {
    /// A source whose tools need an engine that its entry names.
    pub fn new(loader: Arc<dyn ToolLoader>) -> Self {
        Self { loader, engine: None, is_local: false, watched: None, limits: None, mcp: None }
    }

    /// Sets the engine; one that the entry names with `engine:` is taken instead.
    pub fn with_engine(mut self, engine: Arc<dyn ToolEngine>) -> Self {
        self.engine = Some(engine);
        self
    }

    /// Says that loading it only reads files, so that `validate` does it too.
    pub fn local(mut self) -> Self {
        self.is_local = true;
        self
    }
}

/// All sources of an app, in its order, or all that is wrong with them. Nothing is read or started yet.
pub(crate) fn sources(app: &App) -> Result<Vec<Source>, Vec<DocumentError>> {
    let engines = engines(app).map_err(|error| vec![error])?;
    let entries = app.config.tools.registry.iter().enumerate();
    let mut sources: Vec<Source> = Vec::new();
    let mut errors = Vec::new();
    for (position, entry) in entries {
        let place = format!("/tools/registry/{position}");
        match source(app, entry, &place, &engines) {
            Ok(source) => {
                let name = source.loader.source();
                if sources.iter().any(|other| other.loader.source() == name) {
                    let message = format!("`{name}` is there twice; give each a namespace of its own");
                    errors.push(app.document.error_at(&place, message));
                }
                sources.push(source);
            }
            Err(error) => errors.push(error),
        }
    }
    match crate::skills::sources(app) {
        Ok(programs) => sources.extend(programs),
        Err(error) => errors.push(error),
    }
    if errors.is_empty() { Ok(sources) } else { Err(errors) }
}

type Engines = BTreeMap<String, Arc<dyn ToolEngine>>;

fn engines(app: &App) -> Result<Engines, DocumentError> {
    let mut engines = Engines::new();
    for (name, entry) in &app.config.tools.engines {
        let pointer = format!("/tools/engines/{name}");
        let (kind, settings) = settings(app, entry, &pointer)?;
        let place = Place { app, pointer: &pointer, settings: &settings, access: None };
        engines.insert(name.clone(), app.extensions.engine(&kind, &place)?);
    }
    Ok(engines)
}

fn source(app: &App, entry: &Value, pointer: &str, engines: &Engines) -> Result<Source, DocumentError> {
    let (kind, mut settings) = settings(app, entry, pointer)?;
    // Every loader takes an engine and limits, so none has to know of them.
    let mut taken = |key| settings.as_object_mut().and_then(|map| map.shift_remove(key));
    let (engine, limits) = (taken("engine"), taken("limits"));
    let place = format!("{pointer}/limits");
    let limits =
        limits.map(|limits| app.document.deserialize_value::<SourceLimits>(&limits, &place)).transpose()?;
    if let Some(error) = limits.as_ref().and_then(|limits| too_long(app, &place, limits.timeout)) {
        return Err(error);
    }
    let mut source =
        app.extensions.loader(&kind, &Place { app, pointer, settings: &settings, access: None })?;
    source.limits = limits;
    source.loader = Arc::new(Redacted::new(source.loader, app.secrets().clone()));
    match engine.as_ref().and_then(Value::as_str).and_then(|name| engines.get(name)) {
        Some(engine) => Ok(source.with_engine(Arc::clone(engine))),
        None => Ok(source),
    }
}

/// The type of an entry, and its settings with variables filled in and without the type.
fn settings(app: &App, entry: &Value, pointer: &str) -> Result<(String, Value), DocumentError> {
    let mut settings = variables::filled(app, entry, pointer)?;
    let kind = settings.as_object_mut().and_then(|map| map.shift_remove("type"));
    Ok((kind.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned(), settings))
}

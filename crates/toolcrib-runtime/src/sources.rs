//! From an entry of `tools.registry` to a loader and its engine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use toolcrib_document::Error as DocumentError;
use toolcrib_io::http::names_private_address;
use toolcrib_loader_file::{
    CommandEngine, CommandSettings, FileLoader, InlineLoader, MockEngine, MockSettings,
};
use toolcrib_loader_mcp::{McpConnection, McpEngine, McpLoader, McpSource, McpTransport};
use toolcrib_loader_rest::{RestSource, SpecLocation};
use toolcrib_model::Secret;
use toolcrib_port::{ToolEngine, ToolLoader};
use url::Url;

use crate::{App, Error, variables};

/// The loaders that `tools.registry` may name.
pub const LOADERS: [&str; 4] = ["file", "inline", "mcp", "rest"];

/// The engines that `tools.engines` may hold.
pub(crate) const ENGINES: [&str; 2] = ["command", "mock"];

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
}

/// One source by itself, as `toolcrib load` takes it.
#[derive(Clone, Debug)]
pub enum SourceRequest {
    /// A tool file.
    File(PathBuf),
    /// An OpenAPI document: a path or a URL.
    OpenApi(String),
    /// An MCP server: a command line.
    McpCommand(Vec<String>),
    /// An MCP server: a URL.
    McpUrl(String),
}

/// A time that an app file sets: from 1 to [`MAX_SECONDS`] seconds.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
struct Seconds(f64);

/// The longest time that an app file can set.
const MAX_SECONDS: f64 = 120.0;

impl TryFrom<f64> for Seconds {
    type Error = String;

    fn try_from(seconds: f64) -> Result<Self, String> {
        if (1.0..=MAX_SECONDS).contains(&seconds) {
            Ok(Self(seconds))
        } else {
            Err(format!("a time has to be from 1 to {MAX_SECONDS} seconds, not {seconds}"))
        }
    }
}

impl Seconds {
    fn duration(self) -> Duration {
        Duration::from_secs_f64(self.0)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileEntry {
    path: String,
    namespace: Option<String>,
    engine: Option<String>,
    /// Whether a saved file is loaded again.
    #[serde(default)]
    watch: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InlineEntry {
    namespace: String,
    engine: Option<String>,
    /// Read where they stand, so that what is wrong with one is said at its place.
    #[serde(rename = "tools")]
    _tools: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct McpEntry {
    namespace: String,
    command: Option<Vec<String>>,
    url: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, Secret>,
    cwd: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, Secret>,
    allow_private: Option<bool>,
    #[serde(default)]
    trusted: bool,
    startup_timeout_seconds: Option<Seconds>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RestEntry {
    namespace: String,
    spec: String,
    base_url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, Secret>,
    #[serde(default)]
    allow_private: bool,
    timeout_seconds: Option<Seconds>,
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
    if errors.is_empty() { Ok(sources) } else { Err(errors) }
}

type Engines = BTreeMap<String, Arc<dyn ToolEngine>>;

fn engines(app: &App) -> Result<Engines, DocumentError> {
    let mut engines = Engines::new();
    for (name, entry) in &app.config.tools.engines {
        let place = format!("/tools/engines/{name}");
        let (kind, settings) = settings(app, entry, &place)?;
        let engine: Arc<dyn ToolEngine> = if kind == "mock" {
            Arc::new(MockEngine::new(typed::<MockSettings>(app, &settings, &place)?))
        } else {
            let mut settings: CommandSettings = typed(app, &settings, &place)?;
            let cwd = settings.cwd.take().map_or_else(|| app.folder.clone(), |cwd| app.folder.join(cwd));
            settings.cwd = Some(cwd);
            Arc::new(
                CommandEngine::new(settings)
                    .map_err(|error| app.document.error_at(&place, error.to_string()))?,
            )
        };
        engines.insert(name.clone(), engine);
    }
    Ok(engines)
}

fn source(app: &App, entry: &Value, place: &str, engines: &Engines) -> Result<Source, DocumentError> {
    let (kind, settings) = settings(app, entry, place)?;
    match kind {
        "mcp" => mcp(app, typed(app, &settings, place)?, place),
        "rest" => rest(app, typed(app, &settings, place)?, place),
        "inline" => {
            let entry: InlineEntry = typed(app, &settings, place)?;
            let loader =
                InlineLoader::new(&app.document, &format!("{place}/tools"), &entry.namespace, &app.file);
            let engine = entry.engine.and_then(|name| engines.get(&name).cloned());
            Ok(Source { loader: Arc::new(loader), engine, is_local: true, watched: None })
        }
        _ => {
            let entry: FileEntry = typed(app, &settings, place)?;
            let path = app.path(&entry.path);
            let watched = entry.watch.then(|| path.clone());
            let mut loader = FileLoader::new(path);
            if let Some(namespace) = entry.namespace {
                loader = loader
                    .with_source(format!("file {} as {namespace}", entry.path))
                    .with_namespace(namespace);
            }
            let engine = entry.engine.and_then(|name| engines.get(&name).cloned());
            Ok(Source { loader: Arc::new(loader), engine, is_local: true, watched })
        }
    }
}

/// The type of an entry, and its settings with variables filled in and without the type.
fn settings<'a>(app: &App, entry: &'a Value, place: &str) -> Result<(&'a str, Value), DocumentError> {
    let kind = entry.get("type").and_then(Value::as_str).unwrap_or_default();
    let mut settings = variables::filled(app, entry, place)?;
    if let Some(map) = settings.as_object_mut() {
        map.shift_remove("type");
    }
    Ok((kind, settings))
}

fn typed<T: serde::de::DeserializeOwned>(
    app: &App,
    settings: &Value,
    place: &str,
) -> Result<T, DocumentError> {
    app.document.deserialize_value(settings, place)
}

fn mcp(app: &App, entry: McpEntry, place: &str) -> Result<Source, DocumentError> {
    let transport = match (entry.command, entry.url) {
        (Some(command), None) if !command.is_empty() => McpTransport::Stdio {
            command,
            env: entry.env,
            cwd: Some(entry.cwd.map_or_else(|| app.folder.clone(), |cwd| app.path(&cwd))),
        },
        (None, Some(url)) => {
            let allow_private = entry.allow_private.unwrap_or_else(|| is_private(&url));
            McpTransport::Http { url, headers: entry.headers.into_iter().collect(), allow_private }
        }
        _ => {
            return Err(app
                .document
                .error_at(place, "an MCP server needs either a `command`, a list of words, or a `url`"));
        }
    };
    let mut source = McpSource::new(entry.namespace, transport);
    if entry.trusted {
        source = source.trusted();
    }
    source = source
        .with_startup_timeout(entry.startup_timeout_seconds.map_or(app.startup_timeout, Seconds::duration));
    Ok(mcp_source(source))
}

fn mcp_source(source: McpSource) -> Source {
    let connection = McpConnection::new(source);
    Source {
        loader: Arc::new(McpLoader::new(connection.clone())),
        engine: Some(Arc::new(McpEngine::new(connection))),
        is_local: false,
        watched: None,
    }
}

fn rest(app: &App, entry: RestEntry, place: &str) -> Result<Source, DocumentError> {
    let spec = located(&app.folder, &entry.spec);
    let mut source = RestSource::new(&spec, entry.namespace.clone())
        .with_name(format!("rest {} as {}", entry.spec, entry.namespace));
    if let Some(base_url) = entry.base_url {
        source = source.with_base_url(base_url);
    }
    if entry.allow_private {
        source = source.with_private_allowed();
    }
    if let Some(seconds) = entry.timeout_seconds {
        source = source.with_timeout(seconds.duration());
    }
    for (name, value) in entry.headers {
        source = source.with_header(name, value);
    }
    rest_source(source).map_err(|message| app.document.error_at(place, message))
}

fn rest_source(source: RestSource) -> Result<Source, String> {
    let is_local = matches!(source.spec, SpecLocation::File(_));
    let (loader, engine) = source.open().map_err(|error| error.to_string())?;
    Ok(Source { loader: Arc::new(loader), engine: Some(Arc::new(engine)), is_local, watched: None })
}

impl SourceRequest {
    /// The loader and engine of this one source, under a namespace or the default one of its kind. An MCP server may
    /// take so long to start.
    pub fn open(self, namespace: Option<&str>, startup_timeout: Duration) -> Result<Source, Error> {
        match self {
            Self::File(path) => {
                let mut loader = FileLoader::new(path);
                if let Some(namespace) = namespace {
                    loader = loader.with_namespace(namespace);
                }
                Ok(Source { loader: Arc::new(loader), engine: None, is_local: true, watched: None })
            }
            Self::OpenApi(spec) => {
                let source =
                    RestSource::new(&spec, namespace.map_or_else(|| namespace_of(&spec), str::to_owned));
                rest_source(source).map_err(|message| Error::Start { what: spec, message })
            }
            Self::McpCommand(command) => {
                let source = McpSource::stdio(namespace.unwrap_or("mcp"), command);
                Ok(mcp_source(source.with_startup_timeout(startup_timeout)))
            }
            Self::McpUrl(url) => {
                let allow_private = is_private(&url);
                let transport = McpTransport::Http { url, headers: Vec::new(), allow_private };
                let source = McpSource::new(namespace.unwrap_or("mcp"), transport);
                Ok(mcp_source(source.with_startup_timeout(startup_timeout)))
            }
        }
    }
}

/// The end of a path or URL, as a namespace.
fn namespace_of(spec: &str) -> String {
    let stem =
        Path::new(spec).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String = stem.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    if plain.is_empty() { "api".into() } else { plain }
}

fn is_url(spec: &str) -> bool {
    spec.starts_with("http://") || spec.starts_with("https://")
}

fn located(folder: &Path, spec: &str) -> String {
    if is_url(spec) { spec.to_owned() } else { folder.join(spec).display().to_string() }
}

/// Whether the operator wrote a URL that plainly names a private address, which is leave to go there.
fn is_private(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| names_private_address(&url))
}

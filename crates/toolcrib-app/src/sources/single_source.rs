//! One source without an app.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolcrib_io::http::is_private_url;
use toolcrib_loader_file::FileLoader;
use toolcrib_loader_mcp::entry as mcp;
use toolcrib_loader_mcp::{McpSource, McpTransport};
use toolcrib_loader_rest::RestSource;
use toolcrib_loader_rest::entry as rest;
use toolcrib_oauth::client::ClientSettings;
use toolcrib_sdk::Source;

use crate::Error;

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

impl SourceRequest {
    /// Opens the loader and engine of this source, under a namespace or the default one of its kind.
    pub fn open(self, namespace: Option<&str>, startup_timeout: Duration) -> Result<Source, Error> {
        match self {
            Self::File(path) => {
                let mut loader = FileLoader::new(path);
                if let Some(namespace) = namespace {
                    loader = loader.with_namespace(namespace);
                }
                Ok(Source::new(Arc::new(loader)).local())
            }
            Self::OpenApi(spec) => {
                let source =
                    RestSource::new(&spec, namespace.map_or_else(|| namespace_of(&spec), str::to_owned));
                rest::source(rest::with_default_cache(source))
                    .map_err(|message| Error::Part { part: spec, message })
            }
            Self::McpCommand(command) => {
                let source = McpSource::stdio(namespace.unwrap_or("mcp"), command);
                Ok(mcp::source(source.with_startup_timeout(startup_timeout), None))
            }
            Self::McpUrl(url) => {
                let allow_private = is_private_url(&url);
                let mut transport = McpTransport::http(url);
                if let McpTransport::Http { allow_private: allowed, .. } = &mut transport {
                    *allowed = allow_private;
                }
                let mut source = McpSource::new(namespace.unwrap_or("mcp"), transport);
                if cfg!(feature = "oauth") {
                    let mut auth = ClientSettings::new();
                    let login = "write the server into an app file, then run `toolcrib login APP NAMESPACE`";
                    auth.login_command = Some(login.into());
                    source = source.with_auth(auth);
                }
                Ok(mcp::source(source.with_startup_timeout(startup_timeout), None))
            }
        }
    }
}

/// Returns the end of a path or URL, as a namespace.
fn namespace_of(spec: &str) -> String {
    let stem =
        Path::new(spec).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String = stem.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    if plain.is_empty() { "api".into() } else { plain }
}

//! The tool lists of servers, cached on disk so that tools are known before their server has started.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_io::files::{read_bounded, replace};
use toolcrib_io::table::SharedGeneration;
use toolcrib_model::Fingerprint;

use crate::McpSource;
use crate::tools::catalog::Catalog;
use crate::tools::source_secrets::SourceSecrets;

/// The largest size of a cache file: 32 MiB.
const MAX_TOOLS_CACHE_BYTES: u64 = 32 * 1024 * 1024;

/// The format version of cache files. Files of other versions are ignored.
const VERSION: u32 = 3;

/// A cache folder, which several servers and apps may share. Each server has one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolsCache {
    /// The folder. It is created when the first file is written.
    pub folder: PathBuf,
    /// A text that separates the servers of one app from those of another, such as the folder of the app. Empty by
    /// default.
    pub scope: String,
}

/// The contents of a cache file.
#[derive(Deserialize)]
struct CachedTools {
    version: u32,
    /// For human readers of the file.
    #[serde(rename = "namespace")]
    _namespace: String,
    catalog: Catalog,
}

impl ToolsCache {
    /// Creates a cache in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), scope: String::new() }
    }

    /// Sets the text that separates the servers of one app from those of another.
    pub fn with_scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = scope.into();
        self
    }

    /// Returns the cached list of a server. An unreadable file counts as absent.
    pub(crate) fn load(&self, source: &McpSource) -> Option<Catalog> {
        let bytes = read_bounded(self.file(source), MAX_TOOLS_CACHE_BYTES).ok()?;
        let cached: CachedTools = serde_json::from_slice(&bytes).ok()?;
        (cached.version == VERSION).then_some(cached.catalog)
    }

    /// Caches the list of a server. If that fails, the list is fetched again by the next process.
    pub(crate) fn store(&self, source: &McpSource, catalog: &Catalog) {
        let Some(listed) = without_secrets(source, catalog) else { return };
        let cached = json!({"version": VERSION, "namespace": source.namespace, "catalog": listed});
        let Ok(bytes) = serde_json::to_vec(&cached) else { return };
        if u64::try_from(bytes.len()).is_ok_and(|size| size > MAX_TOOLS_CACHE_BYTES) {
            return;
        }
        if let Err(error) = replace(self.file(source), &bytes) {
            tracing::warn!(%error, "the manifest of MCP server `{}` is not kept", source.namespace);
        }
    }

    /// Removes the list of a server.
    fn forget(&self, source: &McpSource) -> io::Result<()> {
        match std::fs::remove_file(self.file(source)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the path of the cache file. It depends on the identity of the server, so that another command under the
    /// same namespace has another file.
    fn file(&self, source: &McpSource) -> PathBuf {
        let digest = Fingerprint::of(&json!([self.scope, source.namespace, source.identity()]));
        Path::new(&self.folder).join(format!("{digest}.json"))
    }
}

impl McpSource {
    /// Removes the known list of tools, so that it is fetched again: a login may change what the server lists.
    ///
    /// # Errors
    ///
    /// Returns an error if the list cannot be removed.
    pub async fn forget_tools(&self) -> io::Result<()> {
        if let Some(generation) = &self.generation {
            generation.withdraw().await?;
        }
        self.tools_cache.as_ref().map_or(Ok(()), |tools_cache| tools_cache.forget(self))
    }
}

/// Returns the list of a server as it is kept; `None` if it contains a secret of the source, and is not.
fn without_secrets(source: &McpSource, catalog: &Catalog) -> Option<Value> {
    let listed = serde_json::to_value(catalog).ok()?;
    (!SourceSecrets::of(source).occur_in(&listed)).then_some(listed)
}

/// Returns the list of a server that another process has published. One of another version counts as absent.
pub(crate) async fn published(generation: &SharedGeneration) -> io::Result<Option<Catalog>> {
    let contents = generation.contents().await?;
    let cached = contents.and_then(|contents| serde_json::from_value::<CachedTools>(contents).ok());
    Ok(cached.filter(|cached| cached.version == VERSION).map(|cached| cached.catalog))
}

/// Publishes the list of a server for other processes.
pub(crate) async fn publish(
    generation: &SharedGeneration,
    source: &McpSource,
    catalog: &Catalog,
) -> io::Result<()> {
    let Some(listed) = without_secrets(source, catalog) else { return Ok(()) };
    let contents = json!({"version": VERSION, "namespace": source.namespace, "catalog": listed});
    let digest = Fingerprint::of(&contents).to_string();
    generation.publish(&digest, contents).await
}

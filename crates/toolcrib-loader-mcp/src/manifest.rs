//! What a server listed last, kept on disk: its tools are known before it has been started.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;
use toolcrib_io::files::{read_bounded, replace};
use toolcrib_model::Fingerprint;

use crate::McpSource;
use crate::catalog::Catalog;
use crate::secret::Secrets;

/// The most bytes of one manifest: 32 MiB.
pub const MAX_MANIFEST_BYTES: u64 = 32 * 1024 * 1024;

/// How manifests are written now. One that was written in another way is not read.
const VERSION: u32 = 2;

/// Where manifests are kept: a folder that several servers and apps may share, one file for each.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManifestCache {
    /// The folder. It is made when there is something to keep.
    pub folder: PathBuf,
    /// What tells the servers of one app from those of another, such as the folder of the app; empty unless it is set.
    pub scope: String,
}

/// A manifest as it is read.
#[derive(Deserialize)]
struct Manifest {
    version: u32,
    /// For people.
    #[serde(rename = "namespace")]
    _namespace: String,
    catalog: Catalog,
}

impl ManifestCache {
    /// Manifests in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), scope: String::new() }
    }

    /// Sets what tells the servers of one app from those of another.
    pub fn with_scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = scope.into();
        self
    }

    /// What the server listed last. A file that cannot be read is as good as none.
    pub(crate) fn load(&self, source: &McpSource) -> Option<Catalog> {
        let bytes = read_bounded(self.file(source), MAX_MANIFEST_BYTES).ok()?;
        let manifest: Manifest = serde_json::from_slice(&bytes).ok()?;
        (manifest.version == VERSION).then_some(manifest.catalog)
    }

    /// Keeps what the server lists. One that cannot be kept is fetched again the next time.
    pub(crate) fn store(&self, source: &McpSource, catalog: &Catalog) {
        // A server that tells what it was told in secret is asked again each time.
        let Ok(listed) = serde_json::to_value(catalog) else { return };
        if Secrets::of(source).are_told_by(&listed) {
            return;
        }
        let manifest = json!({"version": VERSION, "namespace": source.namespace, "catalog": listed});
        let Ok(bytes) = serde_json::to_vec(&manifest) else { return };
        if u64::try_from(bytes.len()).is_ok_and(|size| size > MAX_MANIFEST_BYTES) {
            return;
        }
        if let Err(error) = replace(self.file(source), &bytes) {
            tracing::warn!(%error, "the manifest of MCP server `{}` is not kept", source.namespace);
        }
    }

    /// Named after the server, so that another command under the same namespace has another manifest.
    fn file(&self, source: &McpSource) -> PathBuf {
        let digest = Fingerprint::of(&json!([self.scope, source.namespace, source.identity()]));
        Path::new(&self.folder).join(format!("{digest}.json"))
    }
}

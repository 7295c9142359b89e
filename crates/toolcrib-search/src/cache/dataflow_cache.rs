//! A cache of the dataflow on disk, so that the parameters of the same tools are compared once.
//!
//! There is one file for each set of tools, named by the digest of everything that determines its dataflow and replaced
//! as a whole. A damaged file is ignored and replaced.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use toolcrib_io::files::{read_bounded, replace};
use toolcrib_registry::Entry;
use toolcrib_registry::enrichment::Dataflow;

use crate::cache::{DIGEST, append_digest, keep_newest, put_bytes, strip_digest, touch};
use crate::embedding::ContentHash;

/// The most bytes of the file of one set of tools; a larger dataflow is not cached.
const MAX_DATAFLOW_CACHE_BYTES: usize = 256 << 20;

/// The most sets of tools that have a file. The least recently used file is deleted.
pub(crate) const MAX_CACHED_DATAFLOWS: usize = 4;

/// The first bytes of a file: its type and the version of its format and of the comparison.
const MAGIC: &[u8; 8] = b"tcflow01";

const EXTENSION: &str = "dataflow";

/// The cache file of a set of tools.
pub(crate) struct DataflowCache {
    file: PathBuf,
    key: [u8; DIGEST],
}

impl DataflowCache {
    /// Creates the cache of tools in a folder, whose parameters are compared by a similarity of this id.
    pub(crate) fn new(folder: &Path, similarity: &str, tools: &[Arc<Entry>]) -> Self {
        let key = key(similarity, tools);
        let name = format!("{:?}", ContentHash::from_bytes(key));
        let file = folder.join(name.get(..24).unwrap_or(&name)).with_extension(EXTENSION);
        Self { file, key }
    }

    /// Returns the dataflow in the file. Returns `None` if there is no file, or if it does not match.
    pub(crate) fn read(&self, tools: &[Arc<Entry>]) -> Option<Dataflow> {
        let bytes = read_bounded(&self.file, MAX_DATAFLOW_CACHE_BYTES as u64).ok()?;
        let content = || strip_digest(&bytes)?.strip_prefix(MAGIC)?.strip_prefix(&self.key);
        let dataflow = content().and_then(|content| Dataflow::from_bytes(content, tools));
        if dataflow.is_none() {
            tracing::info!(file = %self.file.display(), "a damaged dataflow cache is replaced");
        }
        touch(&self.file);
        dataflow
    }

    /// Writes the dataflow to the file. A failure costs time at the next start, nothing else.
    pub(crate) fn write(&self, dataflow: &Dataflow) {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.key);
        bytes.extend(dataflow.to_bytes());
        append_digest(&mut bytes);
        if bytes.len() > MAX_DATAFLOW_CACHE_BYTES {
            tracing::debug!(bytes = bytes.len(), "the dataflow is not cached");
            return;
        }
        match replace(&self.file, &bytes) {
            Ok(()) => keep_newest(&self.file, EXTENSION, MAX_CACHED_DATAFLOWS, u64::MAX),
            Err(error) => tracing::debug!("the dataflow is not cached: {error}"),
        }
    }
}

/// Returns the digest of everything that determines the dataflow of these tools.
fn key(similarity: &str, tools: &[Arc<Entry>]) -> [u8; DIGEST] {
    let mut bytes = Vec::new();
    put_bytes(&mut bytes, env!("CARGO_PKG_VERSION").as_bytes());
    put_bytes(&mut bytes, similarity.as_bytes());
    for entry in tools {
        let tool = &entry.tool;
        put_bytes(&mut bytes, tool.name.to_string().as_bytes());
        put_bytes(&mut bytes, entry.fingerprint.to_string().as_bytes());
        put_bytes(&mut bytes, tool.output_parameters.fingerprint().to_string().as_bytes());
        bytes.push(u8::from(tool.traits().operational || tool.traits().discovery));
    }
    Sha256::digest(&bytes).into()
}

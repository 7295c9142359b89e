//! A cache of documents in a folder. A document that has not changed is not downloaded again, and one that cannot be
//! fetched is still available.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_document::MAX_BYTES;
use toolcrib_io::Error;
use toolcrib_io::files::Root;
use toolcrib_model::Fingerprint;
use url::Url;

/// The default size of a cache: 64 MiB.
pub(crate) const DEFAULT_CACHE_BYTES: u64 = 64 * 1024 * 1024;

/// The extension of the files.
const ENDING: &str = ".document";

/// The most bytes of the header in front of the document.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// A folder that caches documents from servers. Several sources may share it. The oldest documents are deleted when it
/// is full.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentCache {
    /// The folder. It is created on first use.
    pub folder: PathBuf,
    /// The most bytes of all files in it; 64 MiB by default.
    pub max_bytes: u64,
}

/// A cached document with its validators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CachedDocument {
    pub(crate) validators: Validators,
    pub(crate) bytes: Vec<u8>,
}

/// The HTTP validators of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Validators {
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<String>,
}

/// The header in front of a document in its file, on a separate line.
#[derive(Serialize, Deserialize)]
struct CacheHeader {
    validators: Validators,
    /// The digest of the document, which detects a partial write.
    digest: String,
}

impl DocumentCache {
    /// Creates a cache in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), max_bytes: DEFAULT_CACHE_BYTES }
    }

    /// Sets the most bytes that it may hold.
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Returns the cached document of a URL.
    pub(crate) fn load(&self, url: &Url) -> Option<CachedDocument> {
        let root = Root::open(&self.folder).ok()?;
        let slice = root.read(file_name(url), 0, MAX_BYTES + MAX_HEAD_BYTES).ok()?;
        let end = slice.bytes.iter().position(|byte| *byte == b'\n')?;
        let head: CacheHeader = serde_json::from_slice(slice.bytes.get(..end)?).ok()?;
        let bytes = slice.bytes.get(end + 1..)?.to_vec();
        (head.digest == digest(&bytes)?).then_some(CachedDocument { validators: head.validators, bytes })
    }

    /// Stores a document.
    pub(crate) fn store(&self, url: &Url, cached: &CachedDocument) -> Result<(), Error> {
        let (Some(digest), Ok(size)) = (digest(&cached.bytes), u64::try_from(cached.bytes.len())) else {
            return Ok(());
        };
        let head = CacheHeader { validators: cached.validators.clone(), digest };
        let Ok(mut content) = serde_json::to_vec(&head) else { return Ok(()) };
        if content.len() > MAX_HEAD_BYTES || size > self.max_bytes {
            return Ok(());
        }
        content.push(b'\n');
        content.extend_from_slice(&cached.bytes);
        let root = Root::create(&self.folder)?;
        let name = file_name(url);
        self.make_room(&root, &name, content.len())?;
        root.write(&name, &content)
    }

    /// Deletes the oldest files until there is room for this many bytes.
    fn make_room(&self, root: &Root, name: &str, bytes: usize) -> Result<(), Error> {
        let mut others: Vec<(SystemTime, String, u64)> = root
            .list(".")?
            .entries
            .into_iter()
            .filter(|entry| entry.name.ends_with(ENDING) && entry.name != name)
            .map(|entry| {
                let modified = root.metadata(&entry.name).ok().and_then(|metadata| metadata.modified);
                (modified.unwrap_or(SystemTime::UNIX_EPOCH), entry.name, entry.bytes)
            })
            .collect();
        others.sort();
        let mut used: u64 = others.iter().map(|(_, _, bytes)| bytes).sum();
        let wanted = u64::try_from(bytes).unwrap_or(u64::MAX);
        for (_, name, bytes) in others {
            if used.saturating_add(wanted) <= self.max_bytes {
                break;
            }
            root.remove(&name)?;
            used = used.saturating_sub(bytes);
        }
        Ok(())
    }
}

/// Returns the file name for a URL. The URL itself may contain a key, and any character.
fn file_name(url: &Url) -> String {
    format!("{}{ENDING}", Fingerprint::of(&Value::from(url.as_str())))
}

/// Returns the digest of a document. Only texts are documents.
fn digest(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    Some(Fingerprint::of(&Value::from(text)).to_string())
}

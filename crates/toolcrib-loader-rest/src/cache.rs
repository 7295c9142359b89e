//! Documents that were fetched, kept in a folder: so that one that has not changed is not sent again, and one that cannot
//! be fetched now is there all the same.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_document::MAX_BYTES;
use toolcrib_io::Error;
use toolcrib_io::files::Root;
use toolcrib_model::Fingerprint;
use url::Url;

/// How many bytes a cache holds by default: 64 MiB.
pub const DEFAULT_CACHE_BYTES: u64 = 64 * 1024 * 1024;

/// How the names of the files end.
const ENDING: &str = ".document";

/// The most bytes of what stands before the document.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Where documents from servers are kept: a folder that several sources may share. What was kept first goes first when
/// there is no room.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentCache {
    /// The folder. It is made when there is something to keep.
    pub folder: PathBuf,
    /// The most bytes of all files in it; [`DEFAULT_CACHE_BYTES`] by default.
    pub max_bytes: u64,
}

/// A document as it was kept, with what a server calls this state of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) validators: Validators,
    pub(crate) bytes: Vec<u8>,
}

/// What a server calls the state of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Validators {
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<String>,
}

/// What stands before a document in its file, on a line of its own.
#[derive(Serialize, Deserialize)]
struct Head {
    validators: Validators,
    /// Of the document. One that was not written to its end is not used.
    digest: String,
}

impl DocumentCache {
    /// Documents in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), max_bytes: DEFAULT_CACHE_BYTES }
    }

    /// Sets how many bytes it may hold.
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// The document of a URL, as it was kept last.
    pub(crate) fn load(&self, url: &Url) -> Option<Kept> {
        let root = Root::open(&self.folder).ok()?;
        let slice = root.read(file_name(url), 0, MAX_BYTES + MAX_HEAD_BYTES).ok()?;
        let end = slice.bytes.iter().position(|byte| *byte == b'\n')?;
        let head: Head = serde_json::from_slice(slice.bytes.get(..end)?).ok()?;
        let bytes = slice.bytes.get(end + 1..)?.to_vec();
        (head.digest == digest(&bytes)?).then_some(Kept { validators: head.validators, bytes })
    }

    /// Keeps a document.
    pub(crate) fn store(&self, url: &Url, kept: &Kept) -> Result<(), Error> {
        let (Some(digest), Ok(size)) = (digest(&kept.bytes), u64::try_from(kept.bytes.len())) else {
            return Ok(());
        };
        let head = Head { validators: kept.validators.clone(), digest };
        let Ok(mut content) = serde_json::to_vec(&head) else { return Ok(()) };
        if content.len() > MAX_HEAD_BYTES || size > self.max_bytes {
            return Ok(());
        }
        content.push(b'\n');
        content.extend_from_slice(&kept.bytes);
        let root = Root::create(&self.folder)?;
        let name = file_name(url);
        self.make_room(&root, &name, content.len())?;
        root.write(&name, &content)
    }

    /// Removes the oldest files until there is room for this much.
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

/// The URL itself is in no file name: it may hold a key, and any character.
fn file_name(url: &Url) -> String {
    format!("{}{ENDING}", Fingerprint::of(&Value::from(url.as_str())))
}

/// Only texts are documents.
fn digest(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    Some(Fingerprint::of(&Value::from(text)).to_string())
}

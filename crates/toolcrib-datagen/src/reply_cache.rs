//! A cache of what models reply, in memory and in a file.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;
use toolcrib_io::files::{Root, read_bounded};
use toolcrib_model::random::hex;
use toolcrib_model::text::canonical_json;

/// The most bytes of replies in memory. The oldest are forgotten first.
pub const MAX_CACHE_BYTES: usize = 64 * 1024 * 1024;

/// The most bytes of a cache file. A file that would grow beyond is renamed to `.1`, in place of the one before it.
const MAX_CACHE_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// The key of a reply: the digest of everything that it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CacheKey(String);

impl CacheKey {
    pub(crate) fn new(parts: &Value) -> Self {
        Self(hex(&Sha256::digest(canonical_json(parts))))
    }
}

/// The cache.
#[derive(Default)]
pub(crate) struct ReplyCache {
    /// `None` if nothing is cached.
    memory: Option<Arc<Mutex<Memory>>>,
    file: Option<PathBuf>,
    /// Set once the file is read.
    is_read: OnceCell<()>,
}

#[derive(Default)]
struct Memory {
    replies: HashMap<String, String>,
    /// The keys, oldest first.
    order: VecDeque<String>,
    bytes: usize,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    reply: String,
}

impl ReplyCache {
    /// Creates a cache in memory.
    pub(crate) fn in_memory() -> Self {
        Self { memory: Some(Arc::default()), ..Self::default() }
    }

    /// Creates a cache in memory that also keeps replies in a file of lines.
    pub(crate) fn in_file(path: PathBuf) -> Self {
        Self { file: Some(path), ..Self::in_memory() }
    }

    /// Ignores what the file has. New replies are still added, and take its place.
    pub(crate) fn overwriting(self) -> Self {
        Self { is_read: OnceCell::new_with(Some(())), ..self }
    }

    /// Returns the reply of this key.
    ///
    /// # Errors
    ///
    /// Returns an error if the file exists and cannot be read.
    pub(crate) async fn get(&self, key: &CacheKey) -> Result<Option<String>, toolcrib_io::Error> {
        let Some(memory) = &self.memory else { return Ok(None) };
        if let Some(file) = &self.file {
            self.is_read.get_or_try_init(|| read(Arc::clone(memory), file.clone())).await?;
        }
        Ok(memory.lock().replies.get(&key.0).cloned())
    }

    /// Adds a reply. A file that cannot be written is logged: the reply is right, though a later run may get another.
    pub(crate) async fn put(&self, key: &CacheKey, reply: &str) {
        let Some(memory) = &self.memory else { return };
        {
            let mut memory = memory.lock();
            // Of equal questions at the same time, the first reply counts, as it will when the file is read.
            if memory.replies.contains_key(&key.0) {
                return;
            }
            memory.insert(key.0.clone(), reply.to_owned());
        }
        let Some(path) = self.file.clone() else { return };
        let line = Line { key: key.0.clone(), reply: reply.to_owned() };
        let Ok(mut line) = serde_json::to_vec(&line) else { return };
        line.push(b'\n');
        let shown = path.display().to_string();
        match tokio::task::spawn_blocking(move || append(&path, &line)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(file = shown, %error, "a reply of a model cannot be cached"),
            Err(error) => tracing::warn!(file = shown, %error, "a reply of a model was not cached"),
        }
    }
}

impl Memory {
    /// Adds a reply, or replaces that of its key.
    fn insert(&mut self, key: String, reply: String) {
        self.bytes += reply.len();
        if let Some(former) = self.replies.insert(key.clone(), reply) {
            self.bytes -= former.len();
        } else {
            self.bytes += key.len() * 2;
            self.order.push_back(key);
        }
        while self.bytes > MAX_CACHE_BYTES
            && let Some(oldest) = self.order.pop_front()
        {
            let reply = self.replies.remove(&oldest).unwrap_or_default();
            self.bytes = self.bytes.saturating_sub(oldest.len() * 2 + reply.len());
        }
    }
}

async fn read(memory: Arc<Mutex<Memory>>, path: PathBuf) -> Result<(), toolcrib_io::Error> {
    let lines = tokio::task::spawn_blocking(move || {
        let mut older = OsString::from(&path);
        older.push(".1");
        let mut lines = Vec::new();
        for path in [Path::new(&older), &path] {
            if path.exists() {
                lines.push(read_bounded(path, MAX_CACHE_FILE_BYTES)?);
            }
        }
        Ok::<_, toolcrib_io::Error>(lines)
    });
    // A panic on the way there is the same as an empty file.
    let files = lines.await.unwrap_or_else(|_| Ok(Vec::new()))?;
    let mut memory = memory.lock();
    for line in files.iter().flat_map(|file| file.split(|byte| *byte == b'\n')) {
        // The last line of a process that was killed may be incomplete.
        if let Ok(Line { key, reply }) = serde_json::from_slice(line) {
            memory.insert(key, reply);
        }
    }
    Ok(())
}

fn append(path: &Path, line: &[u8]) -> Result<(), toolcrib_io::Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or(path.as_os_str());
    if let Err(source) = std::fs::create_dir_all(folder) {
        tracing::debug!(folder = %folder.display(), "the folder of a cache cannot be created: {source}");
    }
    Root::open(folder)?.append_line(name, line, MAX_CACHE_FILE_BYTES)
}

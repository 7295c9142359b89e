//! The cache of replies, in memory and in a file.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;
use toolcrib_io::files::{Root, read_bounded};
use toolcrib_model::JsonObject;
use toolcrib_model::random::hex;
use toolcrib_model::text::canonical_json;
use toolcrib_policy::Call;

use super::settings::{CacheSetting, SimulatedSettings};

/// The most bytes of replies in memory. The oldest are forgotten first.
pub const MAX_CACHE_BYTES: usize = 64 * 1024 * 1024;

/// The most bytes of a cache file. A file that would grow beyond is renamed to `.1`, in place of the one before it.
pub const MAX_CACHE_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// The version of the keys. It changes when equal calls may get other replies, as by another prompt.
const KEY_VERSION: u32 = 1;

/// The key of a reply: the digest of everything that it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CacheKey(String);

impl CacheKey {
    pub(super) fn new(
        model: &str,
        settings: &SimulatedSettings,
        call: &Call,
        values: Option<&JsonObject>,
    ) -> Self {
        let tool = &call.tool;
        let parts = json!({
            "version": KEY_VERSION,
            "model": model,
            "instructions": settings.instructions,
            "samples": settings.samples,
            "tool": tool.name.to_string(),
            "description": tool.description,
            "fingerprint": call.fingerprint.to_string(),
            "output": tool.output_parameters.fingerprint().to_string(),
            "arguments": call.arguments,
            "values": values,
        });
        Self(hex(&Sha256::digest(canonical_json(&parts))))
    }
}

/// The cache.
pub(super) struct ReplyCache {
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
    pub(super) fn new(setting: &CacheSetting) -> Self {
        let (is_enabled, file) = match setting {
            CacheSetting::Memory(is_enabled) => (*is_enabled, None),
            CacheSetting::File(path) => (true, Some(path.clone())),
        };
        Self { memory: is_enabled.then(Arc::default), file, is_read: OnceCell::new() }
    }

    /// Returns the reply of this key.
    ///
    /// # Errors
    ///
    /// Returns an error if the file exists and cannot be read.
    pub(super) async fn get(&self, key: &CacheKey) -> Result<Option<String>, toolcrib_io::Error> {
        let Some(memory) = &self.memory else { return Ok(None) };
        if let Some(file) = &self.file {
            self.is_read.get_or_try_init(|| read(Arc::clone(memory), file.clone())).await?;
        }
        Ok(memory.lock().replies.get(&key.0).cloned())
    }

    /// Adds a reply. A file that cannot be written is logged: the reply is right, though a later run may get another.
    pub(super) async fn put(&self, key: &CacheKey, reply: &str) {
        let Some(memory) = &self.memory else { return };
        memory.lock().insert(key.0.clone(), reply.to_owned());
        let Some(path) = self.file.clone() else { return };
        let line = Line { key: key.0.clone(), reply: reply.to_owned() };
        let Ok(mut line) = serde_json::to_vec(&line) else { return };
        line.push(b'\n');
        let shown = path.display().to_string();
        match tokio::task::spawn_blocking(move || append(&path, &line)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(file = shown, %error, "a simulated result cannot be cached"),
            Err(error) => tracing::warn!(file = shown, %error, "a simulated result was not cached"),
        }
    }
}

impl Memory {
    fn insert(&mut self, key: String, reply: String) {
        if self.replies.contains_key(&key) {
            return;
        }
        self.bytes += key.len() * 2 + reply.len();
        self.order.push_back(key.clone());
        self.replies.insert(key, reply);
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
    Root::open(folder)?.append_line(name, line, MAX_CACHE_FILE_BYTES)
}

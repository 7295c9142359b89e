//! The trust lock: the definitions of the approved servers and tools, so that a server cannot change a tool unnoticed.

mod file;
mod rows;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::model::Tool as WireTool;
use serde_json::Value;
use toolcrib_io::table::SharedTable;
use toolcrib_model::Fingerprint;

pub use self::file::MAX_LOCK_BYTES;
use self::file::{LockFile, LockedServer, LockedTool, VERSION, WriteLock, read, write};
use self::rows::LockRows;
use crate::McpSource;
use crate::tools::digest::{definition, digest};
use crate::tools::source_secrets::SourceSecrets;

/// The largest definition of a tool, as compact JSON, that is stored for display: 64 KiB. Of larger ones only the
/// digest is stored.
const MAX_SHOWN_BYTES: usize = 64 * 1024;

/// The largest total size of the definitions of a server that are stored for display: 4 MiB.
const MAX_SHOWN_BYTES_OF_SERVER: usize = 4 * 1024 * 1024;

/// The lock file of an app. It records each MCP server and each of its tools, as of their first use or of the last
/// approved change.
///
/// An unknown server, and an unknown tool of a known server, are recorded when they are first seen. Other processes may
/// do the same: their entries are merged and not overwritten.
///
/// Processes on several machines have the entries in a [table](Self::with_table), with a row for each server. The file is
/// then read once, for servers without a row, and not written.
pub struct TrustLock {
    path: PathBuf,
    rows: Option<LockRows>,
    state: Mutex<LockState>,
}

#[derive(Debug, Default)]
struct LockState {
    /// The contents of the file, and the entries that could not be written to it.
    locked: LockFile,
    /// The file as last read or written; `None` if it did not exist.
    bytes: Option<Vec<u8>>,
    /// The write error, if the file does not contain all entries.
    unsaved: Option<String>,
    /// The latest differences between the servers and the file.
    changes: BTreeMap<(String, Option<String>), Change>,
}

/// A server or tool that differs from the approved one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// The namespace of the server.
    pub namespace: String,
    /// The tool, by its name on the server; `None` if the command line or URL of the server has changed.
    pub tool: Option<String>,
    /// The approved definition.
    pub approved: Value,
    /// The current definition.
    pub now: Value,
}

/// An error of the lock file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustLockError {
    /// The file cannot be read or written.
    #[error("the lock file cannot be used: {0}")]
    Io(#[from] toolcrib_io::Error),
    /// The table cannot be read or written.
    #[error("the approved tools cannot be read or written in the store: {0}")]
    Table(#[from] std::io::Error),
    /// The file would be larger than [`MAX_LOCK_BYTES`].
    #[error("`{path}` would be larger than {} MiB, and is not written", MAX_LOCK_BYTES >> 20)]
    TooLarge {
        /// The file.
        path: String,
    },
    /// The file is not a lock file. It is never overwritten, since that would approve everything.
    #[error(
        "`{path}` is not a lock file of version {VERSION}: {reason}; repair it, or remove it to approve the current tools"
    )]
    Invalid {
        /// The file.
        path: String,
        /// The problem.
        reason: String,
    },
}

impl TrustLock {
    /// Reads the lock file. An absent file counts as empty.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TrustLockError> {
        let trust_lock = Self { path: path.into(), rows: None, state: Mutex::default() };
        trust_lock.reload(&mut trust_lock.state.lock())?;
        Ok(trust_lock)
    }

    /// Sets the table in which processes on several machines have the entries.
    pub fn with_table(mut self, table: Arc<dyn SharedTable>) -> Self {
        self.rows = Some(LockRows::new(table));
        self
    }

    /// Returns the known differences from the approved definitions, sorted.
    pub fn changes(&self) -> Vec<Change> {
        self.state.lock().changes.values().cloned().collect()
    }

    /// Returns the write error, if newly seen tools could not be recorded as approved.
    pub fn problem(&self) -> Option<String> {
        self.state.lock().unsaved.clone()
    }

    /// Approves these changes exactly as given, so that no unseen definition is approved: a later
    /// change of the server remains a change.
    pub async fn accept(&self, seen: &[Change]) -> Result<(), TrustLockError> {
        let Some(rows) = &self.rows else {
            let mut state = self.state.lock();
            let _write_lock = WriteLock::take(&self.path);
            self.reload(&mut state)?;
            state.accept(seen);
            return self.save(&mut state);
        };
        let mut namespaces: Vec<_> = seen.iter().map(|change| change.namespace.as_str()).collect();
        namespaces.dedup();
        for namespace in namespaces {
            let _row_lock = rows.lock(namespace).await?;
            let row = rows.read(namespace).await?;
            let server = {
                let mut state = self.state.lock();
                state.adopt(namespace, row);
                let of_server = seen.iter().filter(|change| change.namespace == namespace).cloned();
                state.accept(&of_server.collect::<Vec<_>>());
                state.locked.servers.get(namespace).cloned()
            };
            if let Some(server) = server {
                rows.write(namespace, &server).await?;
            }
        }
        Ok(())
    }

    /// Returns true if the server is the approved one. An unknown server is recorded.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not known whether the server was approved, since the table cannot be read.
    pub(crate) async fn admit_server(&self, source: &McpSource) -> Result<bool, TrustLockError> {
        let namespace = &source.namespace;
        let row = match &self.rows {
            Some(rows) => Some(rows.read(namespace).await),
            None => None,
        };
        let mut state = self.state.lock();
        match row {
            None => {
                self.reload_or_warn(&mut state);
            }
            Some(Ok(row)) => state.adopt(namespace, row),
            Some(Err(error)) if state.locked.servers.contains_key(namespace) => {
                tracing::warn!(
                    "the approved tools of `{namespace}` cannot be read, and stay as they are: {error}"
                );
            }
            Some(Err(error)) => return Err(error.into()),
        }
        Ok(state.admit_server(source))
    }

    /// Returns the indices of the tools that differ from the approved ones. Unknown tools are recorded.
    pub(crate) async fn check(&self, source: &McpSource, tools: &[WireTool]) -> Vec<usize> {
        let Some(rows) = &self.rows else {
            let mut state = self.state.lock();
            let _write_lock = WriteLock::take(&self.path);
            let is_current = self.reload_or_warn(&mut state);
            let changed = state.check(source, tools);
            if is_current {
                let saved = self.save(&mut state);
                state.note_saved(&source.namespace, saved);
            }
            return changed;
        };
        let namespace = &source.namespace;
        let row_lock = rows.lock(namespace).await;
        let row = match &row_lock {
            Ok(_) => rows.read(namespace).await,
            Err(error) => Err(std::io::Error::new(error.kind(), error.to_string())),
        };
        let is_new = |server: &LockedServer, row: Option<&LockedServer>| row.is_none_or(|row| row != server);
        let (changed, written) = {
            let mut state = self.state.lock();
            let before = row.as_ref().ok().and_then(Option::as_ref).cloned();
            let is_current = match row {
                Ok(row) => {
                    state.adopt(namespace, row);
                    Ok(())
                }
                Err(error) => Err(error),
            };
            let changed = state.check(source, tools);
            let server = state.locked.servers.get(namespace).cloned();
            (changed, is_current.map(|()| server.filter(|server| is_new(server, before.as_ref()))))
        };
        let saved = match written {
            Ok(Some(server)) => rows.write(namespace, &server).await,
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        self.state.lock().note_saved(namespace, saved.map_err(TrustLockError::from));
        changed
    }
}

impl LockState {
    /// Takes over the row of a server. Entries that are not in it stay.
    fn adopt(&mut self, namespace: &str, row: Option<LockedServer>) {
        let Some(row) = row else { return };
        let mut locked = LockFile::default();
        locked.servers.insert(namespace.to_owned(), row);
        if let Some(known) = self.locked.servers.remove(namespace) {
            let servers = [(namespace.to_owned(), known)].into();
            locked.complete(LockFile { servers, ..LockFile::default() });
        }
        self.locked.servers.append(&mut locked.servers);
    }

    /// Records changes as approved.
    fn accept(&mut self, seen: &[Change]) {
        for change in seen {
            let Some(server) = self.locked.servers.get_mut(&change.namespace) else { continue };
            match &change.tool {
                None => server.identity = change.now.clone(),
                Some(name) => {
                    server.tools.remove(name);
                    let mut remaining_bytes = server.remaining_bytes();
                    server.record(name, digest(name, &change.now), change.now.clone(), &mut remaining_bytes);
                }
            }
        }
        self.changes.retain(|_, change| !seen.contains(change));
    }

    /// Returns true if the server is the approved one. An unknown server is recorded.
    fn admit_server(&mut self, source: &McpSource) -> bool {
        let (namespace, identity) = (&source.namespace, source.identity());
        let identity = serde_json::from_str(&identity).unwrap_or_else(|_| Value::from(identity));
        let state = self;
        let key = (namespace.clone(), None);
        match state.locked.servers.get(namespace) {
            Some(server) if server.identity == identity => {
                state.changes.remove(&key);
                true
            }
            Some(server) => {
                let approved = server.identity.clone();
                let change = Change { namespace: namespace.clone(), tool: None, approved, now: identity };
                state.changes.insert(key, change);
                false
            }
            None => {
                // It is written together with its tools.
                state
                    .locked
                    .servers
                    .insert(namespace.clone(), LockedServer { identity, tools: BTreeMap::new() });
                true
            }
        }
    }

    /// Returns the indices of the tools that differ from the approved ones. Unknown tools are recorded.
    fn check(&mut self, source: &McpSource, tools: &[WireTool]) -> Vec<usize> {
        let namespace = &source.namespace;
        let Self { locked, changes, .. } = self;
        let Some(server) = locked.servers.get_mut(namespace) else { return Vec::new() };
        changes.retain(|(changed, tool), _| changed != namespace || tool.is_none());
        let (mut changed, mut remaining_bytes) = (Vec::new(), server.remaining_bytes());
        let secrets = SourceSecrets::of(source);
        for (at, tool) in tools.iter().enumerate() {
            // A name that contains a secret cannot be recorded, and no call uses it.
            let name = tool.name.to_string();
            if secrets.hide(Value::from(&*name)) != name {
                continue;
            }
            let now = secrets.hide(definition(tool));
            let digest = digest(&name, &now);
            match server.tools.get(&name) {
                Some(known) if known.digest == digest => {}
                Some(known) => {
                    let approved = known.definition.clone();
                    let tool = Some(name.clone());
                    let change = Change { namespace: namespace.clone(), tool, approved, now };
                    changes.insert((namespace.clone(), Some(name)), change);
                    changed.push(at);
                }
                None => server.record(&name, digest, now, &mut remaining_bytes),
            }
        }
        changed
    }

    /// Notes if the entries of a server could be written.
    fn note_saved(&mut self, namespace: &str, saved: Result<(), TrustLockError>) {
        self.unsaved = saved.err().map(|error| {
            let problem = format!(
                "the current definition of the tools of `{namespace}` is not kept as approved: {error}"
            );
            tracing::warn!("{problem}");
            problem
        });
    }
}

impl TrustLock {
    /// Reads entries that other processes have written.
    fn reload(&self, state: &mut LockState) -> Result<(), TrustLockError> {
        let bytes = read(&self.path)?;
        if bytes != state.bytes {
            let known = std::mem::take(&mut state.locked);
            // Removing the file approves all current definitions.
            if let Some(bytes) = &bytes {
                match LockFile::parse(&self.path, bytes) {
                    Ok(locked) => state.locked = locked,
                    Err(error) => {
                        state.locked = known;
                        return Err(error);
                    }
                }
                state.locked.complete(known);
            }
            state.bytes = bytes;
        }
        Ok(())
    }

    /// Reads the file if it has changed. Returns false, and logs a warning, if that fails; the previous entries remain
    /// valid.
    fn reload_or_warn(&self, state: &mut LockState) -> bool {
        let caught_up = self.reload(state);
        if let Err(error) = &caught_up {
            tracing::warn!("the approved tools cannot be read: {error}");
        }
        caught_up.is_ok()
    }

    fn save(&self, state: &mut LockState) -> Result<(), TrustLockError> {
        let text = state.locked.text();
        if state.bytes.as_ref() != Some(&text) {
            write(&self.path, &text)?;
            state.bytes = Some(text);
        }
        Ok(())
    }
}

impl LockedServer {
    /// Returns the remaining size for definitions that are stored for display.
    fn remaining_bytes(&self) -> usize {
        let taken = self.tools.values().map(|tool| length(&tool.definition)).sum();
        MAX_SHOWN_BYTES_OF_SERVER.saturating_sub(taken)
    }

    /// Records a tool. `remaining_bytes` is the remaining size for definitions, and is reduced.
    fn record(&mut self, name: &str, digest: Fingerprint, definition: Value, remaining_bytes: &mut usize) {
        let bytes = length(&definition);
        let is_shown = bytes <= MAX_SHOWN_BYTES.min(*remaining_bytes);
        *remaining_bytes -= if is_shown { bytes } else { 0 };
        let definition = if is_shown { definition } else { Value::Null };
        self.tools.insert(name.to_owned(), LockedTool { digest, definition });
    }
}

impl fmt::Debug for TrustLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrustLock").field("path", &self.path).finish_non_exhaustive()
    }
}

fn length(value: &Value) -> usize {
    value.to_string().len()
}

//! The tools that were approved: a server that changes one behind the user's back gets nothing from it.

mod file;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::Tool as WireTool;
use serde_json::Value;
use toolcrib_model::Fingerprint;

pub use self::file::MAX_LOCK_BYTES;
use self::file::{LockFile, LockedServer, LockedTool, Turn, VERSION, read, write};
use crate::McpSource;
use crate::catalog::{definition, digest};
use crate::secret::Secrets;

/// The most bytes of a tool's words, as compact JSON, that are kept to be shown: 64 KiB. Of longer ones the digest is.
const MAX_SHOWN_BYTES: usize = 64 * 1024;

/// The most bytes of the words of all tools of a server that are kept to be shown: 4 MiB.
const MAX_SHOWN_BYTES_OF_SERVER: usize = 4 * 1024 * 1024;

/// The lock file of an app: each MCP server and each of its tools as it was when it was first used, or when a change of it
/// was accepted.
///
/// A server that is not there yet, and a tool of a known server that is not there yet, are entered when they are first
/// seen. Other processes may do the same: what they write is taken over, and not written over.
#[derive(Debug)]
pub struct Pins {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What the file holds, and what could not be written to it.
    locked: LockFile,
    /// The file as it was read or written last; `None` when it was not there.
    bytes: Option<Vec<u8>>,
    /// The reason that the file does not hold what is known, where it could not be written.
    unsaved: Option<String>,
    /// What differs from the file, as it was seen last.
    changes: BTreeMap<(String, Option<String>), Change>,
}

/// A server, or one of its tools, that is not what was approved.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// The namespace of the server.
    pub namespace: String,
    /// The tool, by the name that the server gives it; `None` when the command line or URL of the server changed.
    pub tool: Option<String>,
    /// As it was approved.
    pub approved: Value,
    /// As it is now.
    pub now: Value,
}

/// The lock file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PinsError {
    /// It cannot be read or written.
    #[error("the lock file cannot be used: {0}")]
    Io(#[from] toolcrib_io::Error),
    /// It would be larger than [`MAX_LOCK_BYTES`].
    #[error("`{path}` would be larger than {} MiB, and is not written", MAX_LOCK_BYTES >> 20)]
    TooLarge {
        /// The file.
        path: String,
    },
    /// It is not a lock file. It is never written over, since then anything would count as approved.
    #[error(
        "`{path}` is not a lock file of version {VERSION}: {reason}; mend it, or remove it to approve what is there now"
    )]
    Invalid {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Pins {
    /// Reads the lock file; one that is not there is an empty one.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, PinsError> {
        let pins = Self { path: path.into(), state: Mutex::default() };
        pins.catch_up(&mut pins.state())?;
        Ok(pins)
    }

    /// What is known to differ from what was approved, sorted.
    pub fn changes(&self) -> Vec<Change> {
        self.state().changes.values().cloned().collect()
    }

    /// Returns why tools that were seen for the first time are not kept as approved, where the file cannot be written.
    pub fn problem(&self) -> Option<String> {
        self.state().unsaved.clone()
    }

    /// Approves changes as they stand here, so that nothing is approved which whoever approves has not seen: what a server
    /// has changed since stays a change.
    pub fn accept(&self, seen: &[Change]) -> Result<(), PinsError> {
        let mut state = self.state();
        let _turn = Turn::take(&self.path);
        self.catch_up(&mut state)?;
        for change in seen {
            let Some(server) = state.locked.servers.get_mut(&change.namespace) else { continue };
            match &change.tool {
                None => server.identity = change.now.clone(),
                Some(name) => {
                    server.tools.remove(name);
                    let mut room = server.room();
                    server.enter(name, digest(name, &change.now), change.now.clone(), &mut room);
                }
            }
        }
        state.changes.retain(|_, change| !seen.contains(change));
        self.save(&mut state)
    }

    /// Whether the server is the one that was approved; one that was never seen is entered.
    pub(crate) fn admit_server(&self, source: &McpSource) -> bool {
        let (namespace, identity) = (&source.namespace, source.identity());
        let identity = serde_json::from_str(&identity).unwrap_or_else(|_| Value::from(identity));
        let mut state = self.state();
        self.catch_up_or_warn(&mut state);
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
                // Written with its tools.
                state
                    .locked
                    .servers
                    .insert(namespace.clone(), LockedServer { identity, tools: BTreeMap::new() });
                true
            }
        }
    }

    /// Which of the tools are not the ones that were approved, by their places; tools that were never seen are entered.
    pub(crate) fn check(&self, source: &McpSource, tools: &[WireTool]) -> Vec<usize> {
        let namespace = &source.namespace;
        let mut state = self.state();
        let _turn = Turn::take(&self.path);
        let is_current = self.catch_up_or_warn(&mut state);
        let State { locked, changes, .. } = &mut *state;
        let Some(server) = locked.servers.get_mut(namespace) else { return Vec::new() };
        changes.retain(|(changed, tool), _| changed != namespace || tool.is_none());
        let (mut changed, mut room) = (Vec::new(), server.room());
        let secrets = Secrets::of(source);
        for (at, tool) in tools.iter().enumerate() {
            // A name with a secret in it is used by nobody.
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
                None => server.enter(&name, digest, now, &mut room),
            }
        }
        if is_current {
            let saved = self.save(&mut state);
            state.unsaved = saved.err().map(|error| {
                let problem =
                    format!("what the tools of `{namespace}` are now is not kept as approved: {error}");
                tracing::warn!("{problem}");
                problem
            });
        }
        changed
    }

    /// Takes over what other processes have written.
    fn catch_up(&self, state: &mut State) -> Result<(), PinsError> {
        let bytes = read(&self.path)?;
        if bytes != state.bytes {
            let known = std::mem::take(&mut state.locked);
            // Who removes the file wants to approve what is there now.
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

    /// Whether what is known is no older than the file. What was approved before holds while that cannot be read.
    fn catch_up_or_warn(&self, state: &mut State) -> bool {
        let caught_up = self.catch_up(state);
        if let Err(error) = &caught_up {
            tracing::warn!("what was approved last is not known: {error}");
        }
        caught_up.is_ok()
    }

    fn save(&self, state: &mut State) -> Result<(), PinsError> {
        let text = state.locked.text();
        if state.bytes.as_ref() != Some(&text) {
            write(&self.path, &text)?;
            state.bytes = Some(text);
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LockedServer {
    /// How many bytes more may be kept to be shown.
    fn room(&self) -> usize {
        let taken = self.tools.values().map(|tool| length(&tool.definition)).sum();
        MAX_SHOWN_BYTES_OF_SERVER.saturating_sub(taken)
    }

    fn enter(&mut self, name: &str, digest: Fingerprint, definition: Value, room: &mut usize) {
        let bytes = length(&definition);
        let is_shown = bytes <= MAX_SHOWN_BYTES.min(*room);
        *room -= if is_shown { bytes } else { 0 };
        let definition = if is_shown { definition } else { Value::Null };
        self.tools.insert(name.to_owned(), LockedTool { digest, definition });
    }
}

fn length(value: &Value) -> usize {
    value.to_string().len()
}

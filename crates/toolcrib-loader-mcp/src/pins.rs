//! The tools that were approved: a server that changes one behind the user's back gets nothing from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::Tool as WireTool;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_io::files::{read_bounded, replace};
use toolcrib_model::Fingerprint;

use crate::catalog::{definition, digest};

/// The most bytes of a lock file: 64 MiB.
pub const MAX_LOCK_BYTES: u64 = 64 * 1024 * 1024;

/// How lock files are written now.
const VERSION: u32 = 1;

/// The lock file of an app: each MCP server and each of its tools as it was when it was first used, or when a change of it
/// was accepted.
///
/// A server that is not there yet, and a tool of a known server that is not there yet, are entered when they are first
/// seen.
#[derive(Debug)]
pub struct Pins {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    locked: LockFile,
    /// What differs from the file, as it was seen last.
    changes: BTreeMap<(String, Option<String>), Change>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockFile {
    version: u32,
    servers: BTreeMap<String, LockedServer>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockedServer {
    /// The command line or URL, as the app file writes it.
    identity: Value,
    tools: BTreeMap<String, LockedTool>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockedTool {
    digest: Fingerprint,
    /// What it says of itself, to show what has changed.
    definition: Value,
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
        let path = path.into();
        let locked = read(&path)?;
        Ok(Self { path, state: Mutex::new(State { locked, changes: BTreeMap::new() }) })
    }

    /// What is known to differ from what was approved, sorted.
    pub fn changes(&self) -> Vec<Change> {
        self.state().changes.values().cloned().collect()
    }

    /// Approves changes as they were seen last: of a server and all of its tools, or of one tool. Comes back with what was
    /// approved.
    pub fn accept(&self, namespace: &str, tool: Option<&str>) -> Result<Vec<Change>, PinsError> {
        let mut state = self.state();
        let chosen = |change: &Change| {
            change.namespace == namespace && tool.is_none_or(|tool| change.tool.as_deref() == Some(tool))
        };
        let accepted: Vec<Change> = state.changes.values().filter(|change| chosen(change)).cloned().collect();
        for change in &accepted {
            let Some(server) = state.locked.servers.get_mut(namespace) else { continue };
            match &change.tool {
                None => server.identity = change.now.clone(),
                Some(name) => {
                    let digest = Fingerprint::of(&json!({"name": name, "definition": change.now}));
                    server.tools.insert(name.clone(), LockedTool { digest, definition: change.now.clone() });
                }
            }
        }
        state.changes.retain(|_, change| !chosen(change));
        if !accepted.is_empty() {
            write(&self.path, &state.locked)?;
        }
        Ok(accepted)
    }

    /// Whether the server is the one that was approved; one that was never seen is entered.
    pub(crate) fn admit_server(&self, namespace: &str, identity: &str) -> bool {
        let identity = serde_json::from_str(identity).unwrap_or_else(|_| Value::from(identity));
        let mut state = self.state();
        let key = (namespace.to_owned(), None);
        match state.locked.servers.get(namespace) {
            Some(server) if server.identity == identity => {
                state.changes.remove(&key);
                true
            }
            Some(server) => {
                let approved = server.identity.clone();
                let change = Change { namespace: namespace.into(), tool: None, approved, now: identity };
                state.changes.insert(key, change);
                false
            }
            None => {
                let server = LockedServer { identity, tools: BTreeMap::new() };
                state.locked.servers.insert(namespace.to_owned(), server);
                // Written with its tools.
                true
            }
        }
    }

    /// Which of the tools are not the ones that were approved, by their places; tools that were never seen are entered.
    pub(crate) fn check(&self, namespace: &str, tools: &[WireTool]) -> Vec<usize> {
        let mut state = self.state();
        let State { locked, changes } = &mut *state;
        let Some(server) = locked.servers.get_mut(namespace) else { return Vec::new() };
        changes.retain(|(changed, tool), _| changed != namespace || tool.is_none());
        let mut changed = Vec::new();
        let mut is_new = server.tools.is_empty();
        for (at, tool) in tools.iter().enumerate() {
            let (name, digest) = (tool.name.to_string(), digest(tool));
            match server.tools.get(&name) {
                Some(known) if known.digest == digest => {}
                Some(known) => {
                    let change = Change {
                        namespace: namespace.to_owned(),
                        tool: Some(name.clone()),
                        approved: known.definition.clone(),
                        now: definition(tool),
                    };
                    changes.insert((namespace.to_owned(), Some(name)), change);
                    changed.push(at);
                }
                None => {
                    server.tools.insert(name, LockedTool { digest, definition: definition(tool) });
                    is_new = true;
                }
            }
        }
        if is_new && let Err(error) = write(&self.path, locked) {
            tracing::warn!("what the tools of `{namespace}` are now is not kept as approved: {error}");
        }
        changed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &Path) -> Result<LockFile, PinsError> {
    let invalid = |reason: String| PinsError::Invalid { path: path.display().to_string(), reason };
    if matches!(path.try_exists(), Ok(false)) {
        return Ok(LockFile { version: VERSION, ..LockFile::default() });
    }
    let bytes = read_bounded(path, MAX_LOCK_BYTES)?;
    let locked: LockFile = serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
    if locked.version == VERSION {
        Ok(locked)
    } else {
        Err(invalid(format!("its version is {}", locked.version)))
    }
}

fn write(path: &Path, locked: &LockFile) -> Result<(), PinsError> {
    let mut text = serde_json::to_string_pretty(locked).unwrap_or_default();
    text.push('\n');
    Ok(replace(path, text.as_bytes())?)
}

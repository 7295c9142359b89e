//! The lock file on disk, which several processes may read and write.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_io::files::{read_bounded, replace};
use toolcrib_model::Fingerprint;

use super::TrustLockError;

/// The largest size of a lock file: 64 MiB.
pub const MAX_LOCK_BYTES: u64 = 64 * 1024 * 1024;

/// The format version of lock files.
pub(super) const VERSION: u32 = 1;

/// The number of attempts to take the lock of another process that writes.
const MAX_TRIES: usize = 50;

/// The wait between two attempts: reading and writing the file takes about as long.
const PAUSE: Duration = Duration::from_millis(2);

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LockFile {
    pub(super) version: u32,
    pub(super) servers: BTreeMap<String, LockedServer>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LockedServer {
    /// The command line or URL, as written in the app file.
    pub(super) identity: Value,
    pub(super) tools: BTreeMap<String, LockedTool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LockedTool {
    pub(super) digest: Fingerprint,
    /// The definition, to show what has changed; `null` if it is too large to be stored.
    pub(super) definition: Value,
}

impl Default for LockFile {
    fn default() -> Self {
        Self { version: VERSION, servers: BTreeMap::new() }
    }
}

impl LockFile {
    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, TrustLockError> {
        let invalid = |reason: String| TrustLockError::Invalid { path: path.display().to_string(), reason };
        let locked: Self = serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
        if locked.version == VERSION {
            Ok(locked)
        } else {
            Err(invalid(format!("its version is {}", locked.version)))
        }
    }

    /// Adds the entries of `known` that the file does not contain.
    pub(super) fn complete(&mut self, known: Self) {
        for (namespace, server) in known.servers {
            match self.servers.get_mut(&namespace) {
                None => {
                    self.servers.insert(namespace, server);
                }
                Some(locked) if locked.identity == server.identity => {
                    for (name, tool) in server.tools {
                        locked.tools.entry(name).or_insert(tool);
                    }
                }
                Some(_) => {}
            }
        }
    }

    pub(super) fn text(&self) -> Vec<u8> {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text.into_bytes()
    }
}

/// Returns the contents of the file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, TrustLockError> {
    if matches!(path.try_exists(), Ok(false)) {
        return Ok(None);
    }
    Ok(Some(read_bounded(path, MAX_LOCK_BYTES)?))
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), TrustLockError> {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_LOCK_BYTES {
        return Err(TrustLockError::TooLarge { path: path.display().to_string() });
    }
    Ok(replace(path, bytes)?)
}

/// An exclusive lock for writing the file, among all processes. It locks the folder, so that no extra file is left
/// behind. If the system cannot lock folders, or another process holds the lock for long, the last write wins.
pub(super) struct WriteLock {
    _folder: Option<File>,
}

impl WriteLock {
    pub(super) fn take(path: &Path) -> Self {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) else { return Self { _folder: None } };
        for _ in 0..MAX_TRIES {
            match folder.try_lock() {
                Ok(()) => return Self { _folder: Some(folder) },
                Err(TryLockError::WouldBlock) => sleep(PAUSE),
                Err(TryLockError::Error(_)) => break,
            }
        }
        Self { _folder: None }
    }
}

//! Storage of tokens: in memory, or in files that only the user can read.
//!
//! Each pair of namespace and server has one file. Its contents name the resource and the issuer of the tokens, which
//! are used for no other. Processes that share a folder renew a token one after the other.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};
use url::Url;

use super::pkce::{digest, random};
use crate::Error;

/// The largest credentials file, in bytes.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The time that another process may take to renew a token.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The time between two attempts to take the lock.
const LOCK_POLL: Duration = Duration::from_millis(25);

/// The permission bits of other users.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// A store for tokens. Clones share it.
#[derive(Clone)]
pub struct TokenStore(Backend);

#[derive(Clone)]
enum Backend {
    Memory(Arc<Mutex<HashMap<CredentialsKey, Vec<u8>>>>),
    Folder(Arc<Path>),
}

/// The key of the credentials of a namespace, a server, and a user, if they belong to one.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct CredentialsKey(String);

impl CredentialsKey {
    pub(super) fn new(namespace: &str, server: &Url, user: Option<&str>) -> Self {
        // Neither a namespace nor a URL contains a line break.
        Self(digest(&match user {
            Some(user) => format!("{namespace}\n{server}\n{user}"),
            None => format!("{namespace}\n{server}"),
        }))
    }
}

/// An exclusive lock for the renewal of a token, which is released on drop.
pub(super) struct RenewalLock(#[expect(dead_code, reason = "closing the file unlocks it")] Option<File>);

impl Default for TokenStore {
    fn default() -> Self {
        Self::memory()
    }
}

impl TokenStore {
    /// Creates a store that lives as long as this process.
    pub fn memory() -> Self {
        Self(Backend::Memory(Arc::default()))
    }

    /// Creates a store in this folder, which is created when it is needed. The folder and its files are private to the
    /// user (modes 0700 and 0600): files that others could read are not used.
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        Self(Backend::Folder(path.into().into()))
    }

    pub(super) fn load<T: DeserializeOwned>(&self, key: &CredentialsKey) -> Result<Option<T>, Error> {
        match &self.0 {
            Backend::Memory(records) => {
                let record = records.lock().get(key).map(|text| parse(text)).transpose();
                record.map_err(|error| store_error(Path::new(&key.0), &error))
            }
            Backend::Folder(folder) => {
                let path = file(folder, key);
                read(folder, &path).map_err(|error| store_error(&path, &error))
            }
        }
    }

    pub(super) fn save<T: Serialize>(&self, key: &CredentialsKey, record: &T) -> Result<(), Error> {
        let text = serde_json::to_vec(record);
        let text = text.map_err(|error| store_error(Path::new(&key.0), &error.into()))?;
        match &self.0 {
            Backend::Memory(records) => {
                records.lock().insert(key.clone(), text);
                Ok(())
            }
            Backend::Folder(folder) => {
                let (path, name) = (file(folder, key), random()?);
                write(folder, &path, &name, &text).map_err(|error| store_error(&path, &error))
            }
        }
    }

    /// Returns true if there are credentials. They may still be unreadable.
    pub(super) fn contains(&self, key: &CredentialsKey) -> bool {
        match &self.0 {
            Backend::Memory(records) => records.lock().contains_key(key),
            Backend::Folder(folder) => file(folder, key).exists(),
        }
    }

    /// Removes credentials. Returns true if there were any.
    pub(super) fn forget(&self, key: &CredentialsKey) -> Result<bool, Error> {
        match &self.0 {
            Backend::Memory(records) => Ok(records.lock().remove(key).is_some()),
            Backend::Folder(folder) => {
                let path = file(folder, key);
                match fs::remove_file(&path) {
                    Ok(()) => Ok(true),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                    Err(error) => Err(store_error(&path, &error)),
                }
            }
        }
    }

    /// Waits until no other process renews this token.
    pub(super) async fn lock_for_renewal(&self, key: &CredentialsKey) -> Result<RenewalLock, Error> {
        let Backend::Folder(folder) = &self.0 else { return Ok(RenewalLock(None)) };
        let path = folder.join(&key.0).with_extension("lock");
        let open = || {
            create_folder(folder)?;
            private_options().create(true).truncate(false).write(true).open(&path)
        };
        let lock = open().map_err(|error| store_error(&path, &error))?;
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(RenewalLock(Some(lock))),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(LOCK_POLL).await,
                Err(TryLockError::WouldBlock) => {
                    let error = io::Error::other("another process holds it, and does not let go");
                    return Err(store_error(&path, &error));
                }
                Err(TryLockError::Error(error)) => return Err(store_error(&path, &error)),
            }
        }
    }
}

impl fmt::Debug for TokenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Backend::Memory(_) => f.write_str("TokenStore::memory"),
            Backend::Folder(folder) => f.debug_tuple("TokenStore::folder").field(folder).finish(),
        }
    }
}

fn file(folder: &Path, key: &CredentialsKey) -> PathBuf {
    folder.join(&key.0).with_extension("json")
}

fn store_error(path: &Path, error: &io::Error) -> Error {
    Error::at(&path.display().to_string(), format!("tokens cannot be kept there: {error}"))
}

fn read<T: DeserializeOwned>(folder: &Path, path: &Path) -> io::Result<Option<T>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(io::Error::other("it is not a file")),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    check(folder, &fs::metadata(folder)?, "700")?;
    let file = File::open(path)?;
    check(path, &file.metadata()?, "600")?;
    let mut text = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut text)?;
    parse(&text).map(Some)
}

fn parse<T: DeserializeOwned>(text: &[u8]) -> io::Result<T> {
    // The message of serde may quote the contents of the file.
    serde_json::from_slice(text)
        .map_err(|_| io::Error::other("it is not a file of tokens; `--logout` removes it"))
}

/// Writes to a temporary file and renames it, so that no process reads a partial one.
fn write(folder: &Path, path: &Path, name: &str, text: &[u8]) -> io::Result<()> {
    create_folder(folder)?;
    let temporary = folder.join(name).with_extension("new");
    let done = private_options().create_new(true).write(true).open(&temporary).and_then(|mut file| {
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    if done.is_err() {
        // It may not exist.
        let _ = fs::remove_file(&temporary);
    }
    done
}

fn create_folder(folder: &Path) -> io::Result<()> {
    if !folder.is_dir() {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    check(folder, &fs::metadata(folder)?, "700")
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Refuses files and folders that others can read or write.
#[cfg(unix)]
fn check(path: &Path, metadata: &fs::Metadata, right: &str) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & OTHERS == 0 {
        return Ok(());
    }
    let problem = format!("others can reach it (mode {mode:03o}); run `chmod {right} {}`", path.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, problem))
}

#[cfg(not(unix))]
fn check(_path: &Path, _there: &fs::Metadata, _right: &str) -> io::Result<()> {
    Ok(())
}

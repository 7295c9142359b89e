//! Where tokens are kept: in memory, or in files that nobody else can read.
//!
//! There is one file for each namespace and server. What is in it names the resource and the issuer of the tokens, and
//! is used for no other. Processes that share a folder take turns at renewing a token.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};
use url::Url;

use super::metadata::refused;
use super::random::random;
use super::record::Record;
use crate::error::Error;

/// The largest file of tokens that is read, in bytes.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// How long another process may take to renew a token.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// How often it is looked at whether the other process is done.
const LOCK_POLL: Duration = Duration::from_millis(25);

/// The permissions that others have of a file or folder.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// Where tokens are kept. Clones share it.
#[derive(Clone)]
pub struct TokenStore(Place);

#[derive(Clone)]
enum Place {
    Memory(Arc<Mutex<HashMap<Key, Record>>>),
    Folder(Arc<Path>),
}

/// Which record: a namespace and a server.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Key(String);

impl Key {
    pub(super) fn new(namespace: &str, server: &Url) -> Self {
        let mut hash = Sha256::new();
        // Neither a namespace nor a URL has a line break.
        hash.update(namespace);
        hash.update("\n");
        hash.update(server.as_str());
        Self(URL_SAFE_NO_PAD.encode(hash.finalize()))
    }
}

/// The right to renew a token; it ends when it is dropped.
pub(super) struct Turn(#[expect(dead_code, reason = "closing the file unlocks it")] Option<File>);

impl Default for TokenStore {
    fn default() -> Self {
        Self::memory()
    }
}

impl TokenStore {
    /// Keeps tokens as long as this process runs.
    pub fn memory() -> Self {
        Self(Place::Memory(Arc::default()))
    }

    /// Keeps tokens in this folder, which is made when it is needed. It belongs to its user alone (mode 0700), and so
    /// does each file (0600): what others could read is not used.
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        Self(Place::Folder(path.into().into()))
    }

    pub(super) fn load(&self, key: &Key) -> Result<Option<Record>, Error> {
        match &self.0 {
            Place::Memory(records) => Ok(lock(records).get(key).cloned()),
            Place::Folder(folder) => {
                let path = file(folder, key);
                read(folder, &path).map_err(|error| unusable(&path, &error))
            }
        }
    }

    pub(super) fn save(&self, key: &Key, record: &Record) -> Result<(), Error> {
        match &self.0 {
            Place::Memory(records) => {
                lock(records).insert(key.clone(), record.clone());
                Ok(())
            }
            Place::Folder(folder) => {
                let path = file(folder, key);
                let name = random()?;
                write(folder, &path, &name, record).map_err(|error| unusable(&path, &error))
            }
        }
    }

    /// Forgets a record. Whether there was one.
    pub(super) fn forget(&self, key: &Key) -> Result<bool, Error> {
        match &self.0 {
            Place::Memory(records) => Ok(lock(records).remove(key).is_some()),
            Place::Folder(folder) => {
                let path = file(folder, key);
                match fs::remove_file(&path) {
                    Ok(()) => Ok(true),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                    Err(error) => Err(unusable(&path, &error)),
                }
            }
        }
    }

    /// Waits until no other process renews this token.
    pub(super) async fn turn(&self, key: &Key) -> Result<Turn, Error> {
        let Place::Folder(folder) = &self.0 else { return Ok(Turn(None)) };
        let path = folder.join(&key.0).with_extension("lock");
        let open = || {
            make(folder)?;
            private_options().create(true).truncate(false).write(true).open(&path)
        };
        let lock = open().map_err(|error| unusable(&path, &error))?;
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Turn(Some(lock))),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(LOCK_POLL).await,
                Err(TryLockError::WouldBlock) => {
                    let error = io::Error::other("another process holds it, and does not let go");
                    return Err(unusable(&path, &error));
                }
                Err(TryLockError::Error(error)) => return Err(unusable(&path, &error)),
            }
        }
    }
}

impl fmt::Debug for TokenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Memory(_) => f.write_str("TokenStore::memory"),
            Place::Folder(folder) => f.debug_tuple("TokenStore::folder").field(folder).finish(),
        }
    }
}

fn lock(records: &Mutex<HashMap<Key, Record>>) -> std::sync::MutexGuard<'_, HashMap<Key, Record>> {
    records.lock().unwrap_or_else(PoisonError::into_inner)
}

fn file(folder: &Path, key: &Key) -> PathBuf {
    folder.join(&key.0).with_extension("json")
}

fn unusable(path: &Path, error: &io::Error) -> Error {
    refused(&path.display().to_string(), &format!("tokens cannot be kept there: {error}"))
}

fn read(folder: &Path, path: &Path) -> io::Result<Option<Record>> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_file() => {}
        Ok(_) => return Err(io::Error::other("it is no file")),
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
    serde_json::from_slice(&text)
        .map(Some)
        // What serde says may repeat what is in the file.
        .map_err(|_| io::Error::other("it is no file of tokens; `--logout` removes it"))
}

/// Writes beside the file and puts it in its place, so that nobody ever reads half of it.
fn write(folder: &Path, path: &Path, name: &str, record: &Record) -> io::Result<()> {
    make(folder)?;
    let text = serde_json::to_vec(record)?;
    let beside = folder.join(name).with_extension("new");
    let done = private_options().create_new(true).write(true).open(&beside).and_then(|mut file| {
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    if done.is_err() {
        // It may not even be there.
        let _ = fs::remove_file(&beside);
    }
    done
}

fn make(folder: &Path) -> io::Result<()> {
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

/// Refuses what others can read or write.
#[cfg(unix)]
fn check(path: &Path, there: &fs::Metadata, right: &str) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = there.permissions().mode() & 0o777;
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

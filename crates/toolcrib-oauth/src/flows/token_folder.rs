//! The folder of encrypted tokens: a file for each owner, and the file of the key, unless the operator keeps the key
//! elsewhere.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use super::credentials_key::CredentialsKey;
use super::pkce::random;
use super::token_key::{EncryptedText, TOKEN_KEY_VARIABLE, TokenKey};
use crate::Error;

/// The largest credentials file, in bytes.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The time that another process may take to renew a token.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The time between two attempts to take the lock.
const LOCK_POLL: Duration = Duration::from_millis(25);

/// The file of the key.
const KEY_FILE: &str = "token.key";

/// The permission bits of other users.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// A folder of tokens.
pub(super) struct TokenFolder {
    pub(super) path: PathBuf,
    /// The operator's key. By default the key is in a file of the folder.
    pub(super) key: Option<TokenKey>,
}

impl TokenFolder {
    pub(super) fn file(&self, owner: &CredentialsKey) -> PathBuf {
        self.path.join(owner.as_str()).with_extension("json")
    }

    /// Reads the record of an owner. A file of an earlier version, which is not encrypted, is replaced by an encrypted one.
    pub(super) fn load<T: DeserializeOwned>(&self, owner: &CredentialsKey) -> io::Result<Option<T>> {
        let Some(stored) = self.read(&self.file(owner))? else { return Ok(None) };
        let Ok(encrypted) = serde_json::from_slice::<EncryptedText>(&stored) else {
            let record = parse(&stored)?;
            self.encrypt_plain_file(owner, &stored)?;
            return Ok(Some(record));
        };
        let key = self.stored_key()?.ok_or_else(|| {
            io::Error::other(format!(
                "they are encrypted, and the key is missing; set `{TOKEN_KEY_VARIABLE}`, or remove them with \
                 `--logout` and log in again"
            ))
        })?;
        parse(&key.decrypt(owner, &encrypted)?).map(Some)
    }

    /// Encrypts and writes the record of an owner.
    pub(super) fn save(&self, owner: &CredentialsKey, text: &[u8]) -> io::Result<()> {
        create_folder(&self.path)?;
        let encrypted = serde_json::to_vec(&self.key()?.encrypt(owner, text)?)?;
        self.write(&self.file(owner), &encrypted)
    }

    /// Removes the record of an owner. Returns true if there was one.
    pub(super) fn forget(&self, owner: &CredentialsKey) -> io::Result<bool> {
        match fs::remove_file(self.file(owner)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits until no other process renews this token. Closing the file ends the lock.
    pub(super) async fn lock_for_renewal(&self, owner: &CredentialsKey) -> io::Result<File> {
        let lock = self.open_lock(owner.as_str())?;
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(LOCK_POLL).await,
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::other("another process holds its lock, and does not let go"));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Encrypts a file that still has this text. If the token is being renewed, the renewal encrypts it.
    fn encrypt_plain_file(&self, owner: &CredentialsKey, text: &[u8]) -> io::Result<()> {
        let lock = self.open_lock(owner.as_str())?;
        match lock.try_lock() {
            Ok(()) if self.read(&self.file(owner))?.as_deref() == Some(text) => self.save(owner, text),
            Ok(()) | Err(TryLockError::WouldBlock) => Ok(()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns the key, if there is one.
    fn stored_key(&self) -> io::Result<Option<TokenKey>> {
        if let Some(key) = &self.key {
            return Ok(Some(key.clone()));
        }
        let Some(text) = self.read(&self.path.join(KEY_FILE))? else { return Ok(None) };
        let wrong = |problem| io::Error::other(format!("its file `{KEY_FILE}` has no key: {problem}"));
        TokenKey::parse(&String::from_utf8_lossy(&text)).map(Some).map_err(wrong)
    }

    /// Returns the key. Generates a missing one, which processes do one after the other.
    fn key(&self) -> io::Result<TokenKey> {
        if let Some(key) = self.stored_key()? {
            return Ok(key);
        }
        let lock = self.open_lock(KEY_FILE)?;
        lock.lock()?;
        if self.stored_key()?.is_none() {
            let text = TokenKey::generate()? + "\n";
            self.write(&self.path.join(KEY_FILE), text.as_bytes())?;
        }
        self.stored_key()?.ok_or_else(|| io::Error::other("the key has been removed"))
    }

    fn open_lock(&self, name: &str) -> io::Result<File> {
        create_folder(&self.path)?;
        let path = self.path.join(name).with_extension("lock");
        private_options().create(true).truncate(false).write(true).open(path)
    }

    /// Reads a file that only the user can read. Returns `None` if it does not exist.
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Err(io::Error::other("it is not a file")),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        check(&self.path, &fs::metadata(&self.path)?, "700")?;
        let file = File::open(path)?;
        check(path, &file.metadata()?, "600")?;
        let mut text = Vec::new();
        file.take(MAX_FILE_BYTES).read_to_end(&mut text)?;
        Ok(Some(text))
    }

    /// Writes to a temporary file and renames it, so that no process reads a partial one.
    fn write(&self, path: &Path, text: &[u8]) -> io::Result<()> {
        let name = random().map_err(|error: Error| io::Error::other(error.to_string()))?;
        let temporary = self.path.join(name).with_extension("new");
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
}

/// Parses a record.
pub(super) fn parse<T: DeserializeOwned>(text: &[u8]) -> io::Result<T> {
    // The message of serde may quote the contents of the file.
    serde_json::from_slice(text)
        .map_err(|_| io::Error::other("it is not a file of tokens; `--logout` removes it"))
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

//! Storage of tokens: in memory, encrypted in files that only the user can read, or encrypted in a table that processes
//! on several machines share.
//!
//! Each owner, which is a namespace, a server, and perhaps a user, has one file. Its contents name the resource and the
//! issuer of the tokens, which are used for no other. Processes that share a folder renew a token one after the other.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolcrib_io::files::state_folder;
use toolcrib_io::table::{RowLock, SharedTable};

use super::credentials_key::CredentialsKey;
use super::token_folder::{TokenFolder, parse};
use super::token_key::TokenKey;
use super::token_table::{CHECK_INTERVAL, SharedTokens};
use crate::Error;

/// A store for tokens. Clones share it.
#[derive(Clone)]
pub struct TokenStore(Backend);

#[derive(Clone)]
enum Backend {
    Memory(Arc<Mutex<HashMap<CredentialsKey, Vec<u8>>>>),
    Folder(Arc<TokenFolder>),
    Table(Arc<SharedTokens>),
}

/// An exclusive lock for the renewal of a token, which is released on drop.
#[expect(dead_code, reason = "dropping the contents unlocks")]
pub(super) enum RenewalLock {
    /// The store is of this process alone.
    Unshared,
    File(File),
    Row(RowLock),
}

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
    /// user (modes 0700 and 0600): files that others could read are not used. The files are encrypted with this key, or
    /// else with a key in a file of the folder, which is generated when it is needed.
    pub fn folder(path: impl Into<PathBuf>, key: Option<TokenKey>) -> Self {
        Self(Backend::Folder(Arc::new(TokenFolder { path: path.into(), key })))
    }

    /// Creates the store of this user, in the folder of program state. Without such a folder, tokens are in memory.
    ///
    /// # Errors
    ///
    /// Returns a message for the operator if `TOOLCRIB_TOKEN_KEY` has no valid key.
    pub fn of_user() -> Result<Self, String> {
        let key = TokenKey::from_environment()?;
        Ok(state_folder("oauth").map_or_else(Self::memory, |folder| Self::folder(folder, key)))
    }

    /// Creates a store in a table that processes on several machines share.
    ///
    /// # Errors
    ///
    /// Returns a message for the operator if `TOOLCRIB_TOKEN_KEY` has no valid key.
    pub fn shared(table: Arc<dyn SharedTable>) -> Result<Self, String> {
        Ok(Self::in_table(table, TokenKey::from_environment()?))
    }

    pub(super) fn in_table(table: Arc<dyn SharedTable>, key: Option<TokenKey>) -> Self {
        Self(Backend::Table(Arc::new(SharedTokens { table, key })))
    }

    /// Returns the time after which loaded credentials are loaded again, if the store is a table.
    pub(super) fn check_interval(&self) -> Option<Duration> {
        matches!(self.0, Backend::Table(_)).then_some(CHECK_INTERVAL)
    }

    pub(super) async fn load<T: DeserializeOwned>(&self, key: &CredentialsKey) -> Result<Option<T>, Error> {
        match &self.0 {
            Backend::Memory(records) => {
                let record = records.lock().get(key).map(|text| parse(text)).transpose();
                record.map_err(|error| store_error(Path::new(key.as_str()), &error))
            }
            Backend::Folder(folder) => {
                folder.load(key).map_err(|error| store_error(&folder.file(key), &error))
            }
            Backend::Table(tokens) => tokens.load(key).await.map_err(|error| table_error(&error)),
        }
    }

    pub(super) async fn save<T: Serialize>(&self, key: &CredentialsKey, record: &T) -> Result<(), Error> {
        let text = serde_json::to_vec(record);
        let text = text.map_err(|error| store_error(Path::new(key.as_str()), &error.into()))?;
        match &self.0 {
            Backend::Memory(records) => {
                records.lock().insert(key.clone(), text);
                Ok(())
            }
            Backend::Folder(folder) => {
                folder.save(key, &text).map_err(|error| store_error(&folder.file(key), &error))
            }
            Backend::Table(tokens) => tokens.save(key, &text).await.map_err(|error| table_error(&error)),
        }
    }

    /// Returns true if there are credentials. They may still be unreadable, and in a table they may have been removed.
    pub(super) fn contains(&self, key: &CredentialsKey) -> bool {
        match &self.0 {
            Backend::Memory(records) => records.lock().contains_key(key),
            Backend::Folder(folder) => folder.file(key).exists(),
            Backend::Table(_) => true,
        }
    }

    /// Removes credentials. Returns true if there were any.
    pub(super) async fn forget(&self, key: &CredentialsKey) -> Result<bool, Error> {
        match &self.0 {
            Backend::Memory(records) => Ok(records.lock().remove(key).is_some()),
            Backend::Folder(folder) => {
                folder.forget(key).map_err(|error| store_error(&folder.file(key), &error))
            }
            Backend::Table(tokens) => {
                tokens.table.remove(key.as_str()).await.map_err(|error| table_error(&error))
            }
        }
    }

    /// Waits until no other process renews this token.
    pub(super) async fn lock_for_renewal(&self, key: &CredentialsKey) -> Result<RenewalLock, Error> {
        match &self.0 {
            Backend::Memory(_) => Ok(RenewalLock::Unshared),
            Backend::Folder(folder) => {
                let lock = folder.lock_for_renewal(key).await.map(RenewalLock::File);
                lock.map_err(|error| store_error(&folder.file(key), &error))
            }
            Backend::Table(tokens) => {
                tokens.lock_for_renewal(key).await.map(RenewalLock::Row).map_err(|error| table_error(&error))
            }
        }
    }
}

impl fmt::Debug for TokenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Backend::Memory(_) => f.write_str("TokenStore::memory"),
            Backend::Folder(folder) => f.debug_tuple("TokenStore::folder").field(&folder.path).finish(),
            Backend::Table(_) => f.write_str("TokenStore::shared"),
        }
    }
}

fn store_error(path: &Path, error: &io::Error) -> Error {
    Error::at(&path.display().to_string(), format!("tokens cannot be kept there: {error}"))
}

fn table_error(error: &io::Error) -> Error {
    let is_away = error.kind() == io::ErrorKind::NotConnected;
    Error::at("the store", format!("tokens cannot be kept there: {error}")).transient(is_away)
}

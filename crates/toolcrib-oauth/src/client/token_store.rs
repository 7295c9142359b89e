//! Storage of tokens: in memory, or encrypted in files that only the user can read.
//!
//! Each owner, which is a namespace, a server, and perhaps a user, has one file. Its contents name the resource and the
//! issuer of the tokens, which are used for no other. Processes that share a folder renew a token one after the other.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolcrib_io::files::state_folder;
use url::Url;

use super::pkce::digest;
use super::token_folder::{RenewalLock, TokenFolder, parse};
use super::token_key::TokenKey;
use crate::Error;

/// A store for tokens. Clones share it.
#[derive(Clone)]
pub struct TokenStore(Backend);

#[derive(Clone)]
enum Backend {
    Memory(Arc<Mutex<HashMap<CredentialsKey, Vec<u8>>>>),
    Folder(Arc<TokenFolder>),
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

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
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

    pub(super) fn load<T: DeserializeOwned>(&self, key: &CredentialsKey) -> Result<Option<T>, Error> {
        match &self.0 {
            Backend::Memory(records) => {
                let record = records.lock().get(key).map(|text| parse(text)).transpose();
                record.map_err(|error| store_error(Path::new(&key.0), &error))
            }
            Backend::Folder(folder) => {
                folder.load(key).map_err(|error| store_error(&folder.file(key), &error))
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
                folder.save(key, &text).map_err(|error| store_error(&folder.file(key), &error))
            }
        }
    }

    /// Returns true if there are credentials. They may still be unreadable.
    pub(super) fn contains(&self, key: &CredentialsKey) -> bool {
        match &self.0 {
            Backend::Memory(records) => records.lock().contains_key(key),
            Backend::Folder(folder) => folder.file(key).exists(),
        }
    }

    /// Removes credentials. Returns true if there were any.
    pub(super) fn forget(&self, key: &CredentialsKey) -> Result<bool, Error> {
        match &self.0 {
            Backend::Memory(records) => Ok(records.lock().remove(key).is_some()),
            Backend::Folder(folder) => {
                folder.forget(key).map_err(|error| store_error(&folder.file(key), &error))
            }
        }
    }

    /// Waits until no other process renews this token.
    pub(super) async fn lock_for_renewal(&self, key: &CredentialsKey) -> Result<RenewalLock, Error> {
        match &self.0 {
            Backend::Memory(_) => Ok(RenewalLock::unshared()),
            Backend::Folder(folder) => {
                let lock = folder.lock_for_renewal(key).await;
                lock.map_err(|error| store_error(&folder.file(key), &error))
            }
        }
    }
}

impl fmt::Debug for TokenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Backend::Memory(_) => f.write_str("TokenStore::memory"),
            Backend::Folder(folder) => f.debug_tuple("TokenStore::folder").field(&folder.path).finish(),
        }
    }
}

fn store_error(path: &Path, error: &io::Error) -> Error {
    Error::at(&path.display().to_string(), format!("tokens cannot be kept there: {error}"))
}

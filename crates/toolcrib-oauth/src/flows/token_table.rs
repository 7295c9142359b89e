//! Tokens in a table that processes on several machines share.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use toolcrib_io::table::{RowLock, SharedTable};

use super::credentials_key::CredentialsKey;
use super::pkce::random;
use super::token_folder::{LOCK_TIMEOUT, parse};
use super::token_key::{EncryptedText, TOKEN_KEY_VARIABLE, TokenKey};

/// The time after which loaded credentials are loaded again.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The time without attempts to read a table that could not be read.
pub(super) const FAILURE_PAUSE: Duration = Duration::from_secs(10);

/// The tokens in a table.
pub(super) struct SharedTokens {
    pub(super) table: Arc<dyn SharedTable>,
    /// The key of the tokens, which all processes have.
    pub(super) key: Option<TokenKey>,
}

impl SharedTokens {
    /// Reads and decrypts the record of an owner.
    pub(super) async fn load<T: DeserializeOwned>(&self, owner: &CredentialsKey) -> io::Result<Option<T>> {
        let Some(row) = self.table.get(owner.as_str()).await? else { return Ok(None) };
        let encrypted: EncryptedText =
            serde_json::from_value(row).map_err(|_| io::Error::other("it is not a row of tokens"))?;
        parse(&self.key()?.decrypt(owner, &encrypted)?).map(Some)
    }

    /// Encrypts and writes the record of an owner.
    pub(super) async fn save(&self, owner: &CredentialsKey, text: &[u8]) -> io::Result<()> {
        let encrypted = serde_json::to_value(self.key()?.encrypt(owner, text)?)?;
        self.table.put(owner.as_str(), encrypted).await
    }

    /// Waits until no other process renews this token.
    pub(super) async fn lock_for_renewal(&self, owner: &CredentialsKey) -> io::Result<RowLock> {
        let lock = random().map_err(|error| io::Error::other(error.to_string()))?;
        RowLock::acquire(&self.table, owner.as_str(), lock, LOCK_TIMEOUT).await
    }

    fn key(&self) -> io::Result<&TokenKey> {
        self.key.as_ref().ok_or_else(|| {
            io::Error::other(format!(
                "tokens in a shared store need a key; set `{TOKEN_KEY_VARIABLE}` to the same key for all replicas"
            ))
        })
    }
}

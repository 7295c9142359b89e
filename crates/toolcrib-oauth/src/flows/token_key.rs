//! Encryption of stored tokens.
//!
//! Each text is bound to the owner of the tokens: namespace, server, and user. The tokens of one user cannot be decrypted
//! in the place of another's.

use std::fmt;
use std::io;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use toolcrib_model::random::random_bytes;

use super::credentials_key::CredentialsKey;
use super::pkce::digest;

/// The environment variable with the key of stored tokens.
pub(crate) const TOKEN_KEY_VARIABLE: &str = "TOOLCRIB_TOKEN_KEY";

/// The length of a key, in bytes.
const KEY_BYTES: usize = 32;

/// The number of characters that identify a key in a file.
const KEY_ID_CHARS: usize = 16;

/// The beginning of the associated data of each text.
const PURPOSE: &str = "toolcrib tokens";

/// The key that stored tokens are encrypted with, by AES-256-GCM. Clones share it.
#[derive(Clone)]
pub struct TokenKey {
    key: Arc<LessSafeKey>,
    /// The beginning of the key's digest. It tells a wrong key from a changed file.
    id: String,
}

/// The cipher of a stored text.
#[derive(Clone, Copy, Deserialize, Serialize)]
enum Cipher {
    #[serde(rename = "AES-256-GCM")]
    Aes256Gcm,
}

/// An encrypted text as a file contains it.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EncryptedText {
    cipher: Cipher,
    key_id: String,
    nonce: String,
    text: String,
}

impl TokenKey {
    /// Parses a key of 32 bytes, in Base64 or as hexadecimal digits.
    ///
    /// ```
    /// use toolcrib_oauth::client::TokenKey;
    ///
    /// assert!(TokenKey::parse(&"0f".repeat(32)).is_ok());
    /// assert!(TokenKey::parse("a password").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// Returns a message for the operator, without the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let decoders = [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD];
        let in_base64 = || decoders.iter().find_map(|decoder| decoder.decode(text).ok());
        let bytes = from_hexadecimal(text).or_else(in_base64);
        let found = bytes.as_ref().map_or(0, Vec::len);
        bytes.filter(|bytes| bytes.len() == KEY_BYTES).and_then(|bytes| Self::from_bytes(&bytes)).ok_or_else(
            || {
                let found = if found == 0 { "another text".to_owned() } else { format!("{found} bytes") };
                format!(
                    "expected a key of {KEY_BYTES} bytes, in Base64 or as hexadecimal digits, found {found}; \
                     `openssl rand -base64 {KEY_BYTES}` makes one"
                )
            },
        )
    }

    /// Returns the key of the variable `TOOLCRIB_TOKEN_KEY`, if it is set.
    ///
    /// # Errors
    ///
    /// Returns a message for the operator if the variable has no valid key.
    pub fn from_environment() -> Result<Option<Self>, String> {
        let Some(value) = std::env::var_os(TOKEN_KEY_VARIABLE).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let key = Self::parse(&value.to_string_lossy());
        key.map(Some).map_err(|problem| format!("`{TOKEN_KEY_VARIABLE}` has no key: {problem}"))
    }

    /// Generates a key, in the form in which a file contains it.
    pub(super) fn generate() -> io::Result<String> {
        Ok(STANDARD.encode(random_bytes::<KEY_BYTES>().map_err(io::Error::other)?))
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, bytes).ok()?);
        let id = digest(&STANDARD.encode(bytes)).chars().take(KEY_ID_CHARS).collect();
        Some(Self { key: Arc::new(key), id })
    }

    /// Encrypts a text of this owner.
    pub(super) fn encrypt(&self, owner: &CredentialsKey, text: &[u8]) -> io::Result<EncryptedText> {
        let nonce = random_bytes::<NONCE_LEN>().map_err(io::Error::other)?;
        let mut text = text.to_vec();
        self.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), associated_data(owner), &mut text)
            .map_err(|_| io::Error::other("they cannot be encrypted"))?;
        Ok(EncryptedText {
            cipher: Cipher::Aes256Gcm,
            key_id: self.id.clone(),
            nonce: STANDARD.encode(nonce),
            text: STANDARD.encode(text),
        })
    }

    /// Decrypts a text of this owner.
    pub(super) fn decrypt(&self, owner: &CredentialsKey, encrypted: &EncryptedText) -> io::Result<Vec<u8>> {
        let EncryptedText { cipher: Cipher::Aes256Gcm, key_id, nonce, text } = encrypted;
        if *key_id != self.id {
            return Err(io::Error::other(format!(
                "they are encrypted with another key; set `{TOKEN_KEY_VARIABLE}` to that key, or remove them with \
                 `--logout` and log in again"
            )));
        }
        let changed = || {
            io::Error::other(
                "the file has been changed, or is that of another user or server; `--logout` removes it",
            )
        };
        let nonce =
            STANDARD.decode(nonce).ok().and_then(|nonce| Nonce::try_assume_unique_for_key(&nonce).ok());
        let (nonce, mut text) = nonce.zip(STANDARD.decode(text).ok()).ok_or_else(changed)?;
        let plain = self.key.open_in_place(nonce, associated_data(owner), &mut text);
        plain.map(|plain| plain.to_vec()).map_err(|_| changed())
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenKey").field("id", &self.id).finish_non_exhaustive()
    }
}

fn associated_data(owner: &CredentialsKey) -> Aad<String> {
    Aad::from(format!("{PURPOSE}\n{}", owner.as_str()))
}

fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    if text.len() != 2 * KEY_BYTES {
        return None;
    }
    let (pairs, _) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs.iter().map(|[high, low]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()).collect()
}

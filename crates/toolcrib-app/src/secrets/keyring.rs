//! The keyring of the system: Keychain on macOS, Credential Manager on Windows, and Secret Service (GNOME, KDE) elsewhere.
//!
//! It is a cargo feature, because its crates for D-Bus are many, and servers have no keyring.

use toolcrib_model::Secret;

/// The service of secrets in the keyring, unless the app file names another.
pub(super) const DEFAULT_SERVICE: &str = "toolcrib";

/// The secrets of one service in the keyring.
#[derive(Debug)]
pub(super) struct Keyring {
    service: String,
}

impl Keyring {
    /// Creates the provider. Fails if this program is built without it.
    pub(super) fn new(service: String) -> Result<Self, String> {
        if cfg!(feature = "keyring") {
            return Ok(Self { service });
        }
        Err("this program is built without the keyring; build it with `--features keyring`, or ask the command of the \
             keyring by `{{secret.cmd: [PROGRAM, ARGUMENT]}}`"
            .to_owned())
    }

    pub(super) fn service(&self) -> &str {
        &self.service
    }

    pub(super) fn absence(&self, key: &str) -> String {
        format!("no entry `{key}` of the service `{}`", self.service)
    }

    /// Reads the entry of a key.
    #[cfg(feature = "keyring")]
    pub(super) async fn read(&self, key: &str) -> Result<Option<Secret>, String> {
        let (service, key) = (self.service.clone(), key.to_owned());
        let (sender, receiver) = tokio::sync::oneshot::channel();
        // A separate thread: it may wait for a person who unlocks the keyring, also after this has given up.
        std::thread::spawn(move || _ = sender.send(access::entry(&service, &key)));
        let read = tokio::time::timeout(access::TIMEOUT, receiver).await;
        let seconds = access::TIMEOUT.as_secs();
        read.map_err(|_| format!("it has not answered within {seconds} s; unlock it"))?
            .map_err(|_| "reading it panicked; this is a fault in it".to_owned())?
    }

    #[cfg(not(feature = "keyring"))]
    #[expect(clippy::unused_async, reason = "the same interface as with the feature")]
    pub(super) async fn read(&self, _key: &str) -> Result<Option<Secret>, String> {
        Err("this program is built without the keyring".to_owned())
    }
}

#[cfg(feature = "keyring")]
mod access {
    use std::time::Duration;

    use keyring::{Entry, Error};
    use toolcrib_model::Secret;
    use toolcrib_model::text::clean_text;

    use crate::secrets::{MAX_MESSAGE_CHARS, MAX_SECRET_BYTES};

    /// The time for an answer, in which a person may unlock the keyring.
    pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

    pub(super) fn entry(service: &str, key: &str) -> Result<Option<Secret>, String> {
        let failed = |error: &Error| clean_text(&error.to_string(), MAX_MESSAGE_CHARS);
        if let Err(error) = Entry::store_status() {
            return Err(format!("it cannot be used here: {}", failed(error)));
        }
        let read = Entry::new(service, key).and_then(|entry| entry.get_password());
        match read {
            Ok(text) if text.is_empty() => Ok(None),
            Ok(text) if text.len() <= MAX_SECRET_BYTES => Ok(Some(Secret::new(text))),
            Ok(_) => Err(format!("`{key}` is too long: at most {MAX_SECRET_BYTES} bytes")),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }
}

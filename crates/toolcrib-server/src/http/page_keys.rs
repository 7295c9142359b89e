//! The keys with which people sign in at the console.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use toolcrib_app::App;

use crate::Error;

/// The keys of an app's people, by their digests, so that the duration of a comparison reveals nothing about the key.
pub(super) struct PageKeys(Vec<([u8; 32], Arc<str>)>);

impl PageKeys {
    pub(super) fn new(app: &App) -> Result<Self, Error> {
        let keys = app.config.approvals.page_keys(&app.file)?.into_iter();
        Ok(Self(keys.map(|(name, key)| (Sha256::digest(key.expose()).into(), name.into())).collect()))
    }

    /// Returns the person with this key.
    pub(super) fn of_key(&self, key: &str) -> Option<Arc<str>> {
        let digest: [u8; 32] = Sha256::digest(key).into();
        let found = self.0.iter().find(|(known, _)| *known == digest);
        found.map(|(_, name)| Arc::clone(name))
    }

    /// Returns the person with this name, if they have a key.
    pub(super) fn named(&self, name: &str) -> Option<Arc<str>> {
        let found = self.0.iter().find(|(_, known)| **known == *name);
        found.map(|(_, name)| Arc::clone(name))
    }
}

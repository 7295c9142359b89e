//! The key of requests: a fixed one, or one of a source, since some expire.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use toolcrib_model::Secret;

use crate::Error;

/// The source of a key that changes, such as a token that expires.
#[async_trait]
pub trait KeySource: fmt::Debug + Send + Sync {
    /// Returns the current key.
    ///
    /// # Errors
    ///
    /// There is no key; the error says where it was to come from.
    async fn key(&self) -> Result<Secret, Error>;

    /// Forgets the current key, which a server has refused.
    fn forget(&self);
}

/// The key of the requests to a server.
#[derive(Debug)]
pub(super) struct RequestKey {
    source: Option<Arc<dyn KeySource>>,
    /// The fixed key, or the last one of the source.
    last: Mutex<Option<Secret>>,
}

impl RequestKey {
    /// Creates the key of a source, or a fixed one, or none.
    pub(super) fn new(fixed: Option<Secret>, source: Option<Arc<dyn KeySource>>) -> Self {
        Self { source, last: Mutex::new(fixed) }
    }

    /// Returns the key of the next request.
    pub(super) async fn current(&self) -> Result<Option<Secret>, Error> {
        if let Some(source) = &self.source {
            let key = source.key().await?;
            *self.last.lock() = Some(key);
        }
        Ok(self.last())
    }

    /// Returns the key of the last request.
    pub(super) fn last(&self) -> Option<Secret> {
        self.last.lock().clone()
    }

    /// Forgets a key that the server refused. Returns false if there is no other.
    pub(super) fn renew(&self) -> bool {
        self.source.as_ref().map(|source| source.forget()).is_some()
    }
}

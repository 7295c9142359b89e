//! The logins of users at the authorization server of an API.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use toolcrib_oauth::client::{Authorization, ClientSettings};
use toolcrib_sdk::{MAX_USERS, user_of_call};
use url::Url;

use super::Caller;
use crate::Error;

/// The logins of one source: of each user, or one that all users share.
#[derive(Debug)]
pub(crate) struct Logins {
    namespace: String,
    base_url: Url,
    allow_private: bool,
    settings: ClientSettings,
    per_user: bool,
    /// The authorizations by user; the shared one has no name.
    opened: Mutex<HashMap<Arc<str>, Authorization>>,
}

impl Logins {
    pub(super) fn new(
        namespace: &str,
        base_url: Url,
        allow_private: bool,
        settings: ClientSettings,
        per_user: bool,
    ) -> Result<Self, Error> {
        let namespace = namespace.to_owned();
        let logins =
            Self { namespace, base_url, allow_private, settings, per_user, opened: Mutex::default() };
        // Its settings are wrong now or never.
        logins.open(None)?;
        Ok(logins)
    }

    /// Returns the authorization of a user, or the shared one.
    pub(crate) fn open(&self, user: Option<&str>) -> Result<Authorization, Error> {
        let settings = match user {
            Some(user) => self.settings.clone().with_user(user),
            None => self.settings.clone(),
        };
        let Self { namespace, base_url, allow_private, .. } = self;
        Ok(Authorization::new(namespace, base_url.as_str(), *allow_private, settings, None)?)
    }

    pub(crate) fn is_per_user(&self) -> bool {
        self.per_user
    }

    /// Returns the authorization of the caller.
    pub(super) fn of_caller(&self, caller: &Caller<'_>) -> Result<Authorization, Error> {
        let user = if self.per_user {
            Some(user_of_call(caller.context, caller.namespace).map_err(Error::caller)?)
        } else {
            None
        };
        let key: Arc<str> = user.map_or_else(|| "".into(), Arc::clone);
        let mut opened = self.opened.lock();
        if let Some(known) = opened.get(&key) {
            return Ok(known.clone());
        }
        if opened.len() >= MAX_USERS.get() {
            // Tokens are in the store; what is lost is that they were read.
            opened.clear();
        }
        let authorization = self.open(user.map(AsRef::as_ref))?;
        opened.insert(key, authorization.clone());
        Ok(authorization)
    }
}

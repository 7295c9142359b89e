//! The key of stored credentials.

use url::Url;

use super::pkce::digest;

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

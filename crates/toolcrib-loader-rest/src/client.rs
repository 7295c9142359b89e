//! The pooled HTTP client of a source.

use toolcrib_io::http::{HttpClient, HttpPolicy, names_private_address};
use toolcrib_policy::Access;
use url::{Origin, Url};

use crate::Error;

/// The most redirects that a safe request follows. All of them stay at the same origin.
pub(crate) const MAX_REDIRECTS: usize = 5;

/// The pooled clients of a source.
pub(crate) struct Clients {
    general: HttpClient,
    /// True if all private addresses are permitted.
    allow_private: bool,
    /// The client for the configured origin, if that is explicitly a private address. Other addresses that a document
    /// names are not included.
    own: Option<(Origin, HttpClient)>,
}

impl Clients {
    pub(crate) fn new(
        policy: HttpPolicy,
        access: &Access,
        operator_url: Option<&Url>,
    ) -> Result<Self, Error> {
        let own = match operator_url.filter(|url| !policy.allow_private && names_private_address(url)) {
            Some(url) => Some((url.origin(), client(HttpPolicy { allow_private: true, ..policy }, access)?)),
            None => None,
        };
        Ok(Self { general: client(policy, access)?, allow_private: policy.allow_private, own })
    }

    /// Returns true if the host of a URL is a private address, or a name of this machine, to which no request is sent.
    pub(crate) fn refuses(&self, url: &Url) -> bool {
        let is_own = self.own.as_ref().is_some_and(|(origin, _)| *origin == url.origin());
        names_private_address(url) && !self.allow_private && !is_own
    }

    /// Returns the client for requests to a URL.
    pub(crate) fn to(&self, url: &Url) -> &HttpClient {
        match &self.own {
            Some((origin, client)) if *origin == url.origin() => client,
            _ => &self.general,
        }
    }
}

/// Creates a client that enforces the policy and the access rules.
pub(crate) fn client(policy: HttpPolicy, access: &Access) -> Result<HttpClient, Error> {
    match HttpClient::new(policy) {
        Ok(client) => Ok(client.with_guard(access.host_guard())),
        Err(error) => Err(Error::Client { reason: error.to_string() }),
    }
}

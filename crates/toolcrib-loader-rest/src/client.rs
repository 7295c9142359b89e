//! The pooled HTTP client of a source.

use toolcrib_io::http::{HttpClient, HttpPolicy, names_private_address};
use toolcrib_policy::Access;
use url::{Origin, Url};

use crate::Error;

/// How many redirects a request follows that changes nothing; all of them stay at the same origin.
pub(crate) const MAX_REDIRECTS: usize = 5;

/// The pooled client of a source.
pub(crate) struct Clients {
    general: HttpClient,
    /// For the origin that the operator wrote down, when that plainly names a private address: for it, and for no other
    /// that a document names.
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
        Ok(Self { general: client(policy, access)?, own })
    }

    /// The client for requests to a URL.
    pub(crate) fn to(&self, url: &Url) -> &HttpClient {
        match &self.own {
            Some((origin, client)) if *origin == url.origin() => client,
            _ => &self.general,
        }
    }
}

/// A client that keeps to the policy and the access rules.
pub(crate) fn client(policy: HttpPolicy, access: &Access) -> Result<HttpClient, Error> {
    let access = access.clone();
    match HttpClient::new(policy) {
        Ok(client) => Ok(client.with_guard(move |host, port| access.allows_host(host, port))),
        Err(error) => Err(Error::Client { reason: error.to_string() }),
    }
}

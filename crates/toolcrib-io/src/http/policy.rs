//! Limits and permissions of a client.

use std::time::Duration;

/// The default timeout of a request, up to the end of the response.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// The default maximum size of a response body, in bytes.
pub const DEFAULT_MAX_RESPONSE_BYTES: usize = 10 * 1024 * 1024;

/// The timeout for connecting, including TLS. It also applies to streams, which have no other timeout.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of idle connections per host.
pub(crate) const MAX_IDLE_CONNECTIONS_PER_HOST: usize = 8;

/// The limits and permissions of a client. The default suits addresses that a model or a document chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpPolicy {
    /// True to allow addresses that are not public: loopback, private networks, link-local and so on. Only for addresses
    /// that the operator configured; `false` by default.
    pub allow_private: bool,
    /// The timeout from the call of `send` to the end of the body; [`DEFAULT_TIMEOUT`] by default.
    pub timeout: Duration,
    /// The maximum size of a body in bytes; [`DEFAULT_MAX_RESPONSE_BYTES`] by default.
    pub max_response_bytes: usize,
    /// The maximum number of same-origin redirects; 0 by default. Any other redirect is returned as the response.
    pub max_redirects: usize,
}

impl Default for HttpPolicy {
    fn default() -> Self {
        Self {
            allow_private: false,
            timeout: DEFAULT_TIMEOUT,
            max_response_bytes: DEFAULT_MAX_RESPONSE_BYTES,
            max_redirects: 0,
        }
    }
}

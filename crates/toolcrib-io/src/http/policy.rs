//! What a client may do, and how much.

use std::time::Duration;

/// How long a request and its answer may take by default.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// How much of a body is read by default, in bytes.
pub const DEFAULT_MAX_RESPONSE_BYTES: usize = 10 * 1024 * 1024;

/// How long it may take to be connected, TLS included. It holds for streams too, which have no other timeout.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How many unused connections to a host are kept for later requests.
pub const MAX_IDLE_CONNECTIONS_PER_HOST: usize = 8;

/// What a client may do, and how much. The default is for addresses that a model or a document chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpPolicy {
    /// Whether requests may go to addresses that are not public: loopback, private networks, link-local and the
    /// like. For addresses that the operator wrote down; `false` by default.
    pub allow_private: bool,
    /// How long a request may take, from the call of `send` to the end of the body; [`DEFAULT_TIMEOUT`] by default.
    pub timeout: Duration,
    /// How much of a body is read, in bytes; [`DEFAULT_MAX_RESPONSE_BYTES`] by default.
    pub max_response_bytes: usize,
    /// How many redirects are followed, of those that stay at the same origin; any other is the answer. 0 by default.
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

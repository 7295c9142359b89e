//! What an operator may say of the module.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_model::Secret;

/// How long a request may take by default, in seconds, redirects and the body included.
pub const DEFAULT_TIMEOUT_SECONDS: u32 = 30;

/// How much of a body is read by default, in bytes.
pub const DEFAULT_MAX_BODY_BYTES: u32 = 2 * 1024 * 1024;

/// How large a file may be by default that is downloaded, in bytes.
pub const DEFAULT_MAX_DOWNLOAD_BYTES: u64 = 1024 * 1024 * 1024;

/// What stands under `modules.http.config`.
///
/// ```yaml
/// modules:
///   http:
///     config:
///       # Sent to that origin alone, and never after a redirect. Without a scheme, https is meant.
///       headers:
///         api.example.com: {Authorization: "Bearer {{secret.EXAMPLE_TOKEN}}"}
///       # Servers of the private network that may be asked; no redirect leads to them.
///       private_origins: ["http://localhost:8080"]
///       timeout_seconds: 30
///       max_body_bytes: 2097152
///       max_download_bytes: 1073741824
/// ```
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Headers that are added to the requests to an origin: `api.example.com`, which is https, or
    /// `http://localhost:8080`. They win over those that a call brings. No other origin is sent them, and no request that
    /// was redirected.
    #[schemars(with = "BTreeMap<String, BTreeMap<String, String>>")]
    pub headers: BTreeMap<String, BTreeMap<String, Secret>>,
    /// Origins whose addresses need not be public: loopback, private networks and the like. None by default.
    pub private_origins: Vec<String>,
    /// How long a request may take, in seconds; 30 by default. A download may take as long for each piece.
    pub timeout_seconds: NonZeroU32,
    /// How much of a body is read, in bytes; 2 MiB by default. The rest is left out, and the result says so.
    pub max_body_bytes: NonZeroU32,
    /// How large a file may be that is downloaded, in bytes; 1 GiB by default.
    pub max_download_bytes: NonZeroU64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            headers: BTreeMap::new(),
            private_origins: Vec::new(),
            timeout_seconds: NonZeroU32::MIN.saturating_add(DEFAULT_TIMEOUT_SECONDS - 1),
            max_body_bytes: NonZeroU32::MIN.saturating_add(DEFAULT_MAX_BODY_BYTES - 1),
            max_download_bytes: NonZeroU64::MIN.saturating_add(DEFAULT_MAX_DOWNLOAD_BYTES - 1),
        }
    }
}

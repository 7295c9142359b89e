//! The configuration of the module.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_model::Secret;

/// The default of `timeout_seconds`.
pub const DEFAULT_TIMEOUT_SECONDS: u32 = 30;

/// The default of `max_body_bytes`.
const DEFAULT_MAX_BODY_BYTES: u32 = 2 * 1024 * 1024;

/// The default of `max_download_bytes`.
const DEFAULT_MAX_DOWNLOAD_BYTES: u64 = 1024 * 1024 * 1024;

/// The configuration under `modules.http.config`.
///
/// ```yaml
/// modules:
///   http:
///     config:
///       # Sent to that origin only, and never after a redirect. The default scheme is https.
///       headers:
///         api.example.com: {Authorization: "Bearer {{secret.EXAMPLE_TOKEN}}"}
///       # Servers of the private network that calls may reach, but not by a redirect.
///       private_origins: ["http://localhost:8080"]
///       timeout_seconds: 30
///       max_body_bytes: 2097152
///       max_download_bytes: 1073741824
/// ```
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct HttpConfig {
    /// Headers that are added to the requests to an origin: `api.example.com`, which is https, or
    /// `http://localhost:8080`. They replace those of a call. No other origin receives them, and no request that was
    /// redirected.
    #[schemars(with = "BTreeMap<String, BTreeMap<String, String>>")]
    pub headers: BTreeMap<String, BTreeMap<String, Secret>>,
    /// Origins whose addresses need not be public: loopback, private networks and the like. None by default.
    pub private_origins: Vec<String>,
    /// The time limit of a request, in seconds; 30 by default. For a download, it applies to each piece.
    pub timeout_seconds: NonZeroU32,
    /// The maximum size of a body, in bytes; 2 MiB by default. The rest is left out, and the result says so.
    pub max_body_bytes: NonZeroU32,
    /// The maximum size of a downloaded file, in bytes; 1 GiB by default.
    pub max_download_bytes: NonZeroU64,
}

impl Default for HttpConfig {
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

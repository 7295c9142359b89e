//! The configuration of a source: the location of a document, and the settings of its calls.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_io::http::{DEFAULT_MAX_RESPONSE_BYTES, DEFAULT_TIMEOUT};
use toolcrib_io::table::SharedGeneration;
use toolcrib_model::{Risk, Secret};
use toolcrib_oauth::client::LoginLinks;
use toolcrib_policy::Access;
use toolcrib_sdk::UserHeaders;
use url::Url;

use crate::{Credential, DocumentCache, OperationSelector};

/// The location of an OpenAPI document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecLocation {
    /// A file.
    File(PathBuf),
    /// A URL. The guarded client fetches it at each load, unless it has not changed since.
    Url(Url),
}

impl FromStr for SpecLocation {
    type Err = Infallible;

    /// Parses a URL if the text starts with `http://` or `https://`, or else a path.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Self::Url(url),
            _ => Self::File(text.into()),
        })
    }
}

impl fmt::Display for SpecLocation {
    /// Writes the path, or the URL without credentials and query.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Url(url) => write!(f, "{}{}", url.origin().ascii_serialization(), url.path()),
        }
    }
}

/// An OpenAPI document as a source of tools: `{type: rest, spec: …, namespace: …}` of an app file.
///
/// ```
/// use toolcrib_loader_rest::RestSource;
///
/// let source = RestSource::new("specs/petstore.yaml", "petstore").with_base_url("https://petstore.example/api/v3");
/// assert_eq!(source.name, "rest specs/petstore.yaml");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RestSource {
    /// The name of the source in a registry; `rest ` and the location by default.
    pub name: String,
    /// The document.
    pub spec: SpecLocation,
    /// The namespace of its tools.
    pub namespace: String,
    /// The base URL of calls, in place of the servers that the document names. Its path precedes the paths of the
    /// operations.
    pub base_url: Option<String>,
    /// Selectors of the operations that become tools. If empty, all do.
    pub include: Vec<OperationSelector>,
    /// Selectors of the operations that do not become tools.
    pub exclude: Vec<OperationSelector>,
    /// The risks of operations, of which the first match applies. By default the method determines the risk: low for
    /// `GET`, `HEAD`, `OPTIONS`, `TRACE` and `QUERY`, high for `DELETE`, and medium for all others.
    pub risks: Vec<(OperationSelector, Risk)>,
    /// Selectors of idempotent operations, in addition to those with an idempotent method: `GET`, `HEAD`, `PUT`,
    /// `DELETE`, `OPTIONS`, `TRACE` and `QUERY`. Only calls of idempotent operations are retried.
    pub idempotent: Vec<OperationSelector>,
    /// The document that processes on several machines share; each process fetches it if absent.
    pub generation: Option<Arc<SharedGeneration>>,
    /// The cache of a document from a server. It avoids downloading an unchanged document, and replaces one that cannot
    /// be fetched. Unset by default.
    pub cache: Option<DocumentCache>,
    /// True if the document and its servers may have loopback and private addresses. Off by default.
    pub allow_private: bool,
    /// The timeout of a request including its response; [`DEFAULT_TIMEOUT`] by default.
    pub timeout: Duration,
    /// The most bytes of a response that are read; [`DEFAULT_MAX_RESPONSE_BYTES`] by default.
    pub max_response_bytes: usize,
    /// Headers of every call, such as `Authorization`. They require a `base_url`, because that is the only origin they
    /// are sent to: a document must not choose the recipient of a credential. Arguments cannot change them.
    pub headers: Vec<(String, Secret)>,
    /// Headers whose values belong to the user of a call. They require a `base_url` too. A call without a user, or of a
    /// user without a value, is not sent.
    pub user_headers: UserHeaders,
    /// The logins of users by a link. Without them, a call of a user without a login fails, with the command to log in by.
    pub login_links: Option<LoginLinks>,
    /// The credentials that authenticate calls. Each is sent to one origin only, and arguments cannot change it.
    pub auth: Vec<Credential>,
    /// Values of the variables in the server URLs of the document, in place of their defaults.
    pub variables: BTreeMap<String, String>,
    /// The folder that calls may upload files from; none by default.
    pub workspace: Option<PathBuf>,
    /// The hosts that requests may be sent to, and the files that may be uploaded; any by default.
    pub access: Access,
}

impl RestSource {
    /// Creates a source for the document at a path or URL, with the namespace of its tools.
    pub fn new(spec: &str, namespace: impl Into<String>) -> Self {
        let Ok(spec) = spec.parse::<SpecLocation>();
        Self {
            name: format!("rest {spec}"),
            spec,
            namespace: namespace.into(),
            base_url: None,
            include: Vec::new(),
            exclude: Vec::new(),
            risks: Vec::new(),
            idempotent: Vec::new(),
            generation: None,
            cache: None,
            allow_private: false,
            timeout: DEFAULT_TIMEOUT,
            max_response_bytes: DEFAULT_MAX_RESPONSE_BYTES,
            headers: Vec::new(),
            user_headers: UserHeaders::default(),
            login_links: None,
            auth: Vec::new(),
            variables: BTreeMap::new(),
            workspace: None,
            access: Access::unlimited(),
        }
    }

    /// Sets the base URL of calls.
    pub fn with_base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// Sets the cache of the document.
    pub fn with_cache(mut self, cache: DocumentCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Permits loopback and private addresses for the document and its servers.
    pub fn with_private_allowed(mut self) -> Self {
        self.allow_private = true;
        self
    }

    /// Sets the timeout of a request.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the most bytes of a response that are read.
    pub fn with_max_response_bytes(mut self, bytes: usize) -> Self {
        self.max_response_bytes = bytes;
        self
    }

    /// Sets the hosts that requests may be sent to.
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Adds a credential.
    pub fn with_credential(mut self, credential: Credential) -> Self {
        self.auth.push(credential);
        self
    }

    /// Adds a header to every call.
    pub fn with_header(mut self, name: impl Into<String>, value: Secret) -> Self {
        self.headers.push((name.into(), value));
        self
    }
}

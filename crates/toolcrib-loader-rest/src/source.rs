//! Where a document is, and how its calls are to be sent.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use toolcrib_io::http::{DEFAULT_MAX_RESPONSE_BYTES, DEFAULT_TIMEOUT};
use toolcrib_model::{Risk, Secret};
use toolcrib_policy::Access;
use url::Url;

use crate::{Credential, DocumentCache, OperationSelector};

/// Where an OpenAPI document is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecLocation {
    /// In a file.
    File(PathBuf),
    /// On a server, fetched by the guarded client at each load, unless it has not changed since.
    Url(Url),
}

impl FromStr for SpecLocation {
    type Err = Infallible;

    /// A URL when it starts with `http://` or `https://`, else a path.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Self::Url(url),
            _ => Self::File(text.into()),
        })
    }
}

impl fmt::Display for SpecLocation {
    /// The path, or the URL without credentials and query.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Url(url) => write!(f, "{}{}", url.origin().ascii_serialization(), url.path()),
        }
    }
}

/// One OpenAPI document as a source of tools: `{type: rest, spec: …, namespace: …}` of an app file.
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
    /// Where calls go, in place of the servers that the document names. A path in it comes before the paths of the
    /// operations.
    pub base_url: Option<String>,
    /// Which operations become tools: those that fit one of these; all where there is none.
    pub include: Vec<OperationSelector>,
    /// Which operations do not.
    pub exclude: Vec<OperationSelector>,
    /// Of what risk operations are, by the first that fits; else the method says it: low for `GET`, `HEAD`, `OPTIONS`,
    /// `TRACE` and `QUERY`, high for `DELETE`, and medium for all others.
    pub risks: Vec<(OperationSelector, Risk)>,
    /// Which operations may be called twice with no other effect than once, beside those whose method says so: `GET`,
    /// `HEAD`, `PUT`, `DELETE`, `OPTIONS`, `TRACE` and `QUERY`. Only such calls are tried again.
    pub idempotent: Vec<OperationSelector>,
    /// Where a document from a server is kept, so that it is not sent again when it has not changed, and is there when
    /// it cannot be fetched; nowhere by default.
    pub cache: Option<DocumentCache>,
    /// Whether the document and its servers may be on loopback and private addresses. Off by default.
    pub allow_private: bool,
    /// How long a request and its answer may take; [`DEFAULT_TIMEOUT`] by default.
    pub timeout: Duration,
    /// How much of an answer is read, in bytes; [`DEFAULT_MAX_RESPONSE_BYTES`] by default.
    pub max_response_bytes: usize,
    /// Headers of every call, such as `Authorization`. They need a `base_url`, because that is the only origin they
    /// are sent to: a document must not choose who receives a credential. Arguments cannot change them.
    pub headers: Vec<(String, Secret)>,
    /// What calls prove with who makes them. Each credential goes to one origin, and arguments cannot change it.
    pub auth: Vec<Credential>,
    /// Values of the variables in the URLs of the document's servers, in place of their defaults.
    pub variables: BTreeMap<String, String>,
    /// The folder that calls may upload files from; none by default.
    pub workspace: Option<PathBuf>,
    /// The hosts that requests may go to, and the files that may be uploaded; any by default.
    pub access: Access,
}

impl RestSource {
    /// The document at a path or URL, whose tools come into this namespace.
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
            cache: None,
            allow_private: false,
            timeout: DEFAULT_TIMEOUT,
            max_response_bytes: DEFAULT_MAX_RESPONSE_BYTES,
            headers: Vec::new(),
            auth: Vec::new(),
            variables: BTreeMap::new(),
            workspace: None,
            access: Access::unlimited(),
        }
    }

    /// Sets the name, where the same document is loaded twice.
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets where calls go.
    pub fn with_base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// Makes tools only of these operations, and of those that were added before.
    pub fn with_included(mut self, selector: OperationSelector) -> Self {
        self.include.push(selector);
        self
    }

    /// Makes no tools of these operations.
    pub fn with_excluded(mut self, selector: OperationSelector) -> Self {
        self.exclude.push(selector);
        self
    }

    /// Sets the risk of these operations.
    pub fn with_risk(mut self, selector: OperationSelector, risk: Risk) -> Self {
        self.risks.push((selector, risk));
        self
    }

    /// Lets calls of these operations be tried again.
    pub fn with_idempotent(mut self, selector: OperationSelector) -> Self {
        self.idempotent.push(selector);
        self
    }

    /// Sets where the document is kept.
    pub fn with_cache(mut self, cache: DocumentCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Lets the document and its servers be on loopback and private addresses.
    pub fn with_private_allowed(mut self) -> Self {
        self.allow_private = true;
        self
    }

    /// Sets how long a request may take.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how much of an answer is read.
    pub fn with_max_response_bytes(mut self, bytes: usize) -> Self {
        self.max_response_bytes = bytes;
        self
    }

    /// Sets which hosts requests may go to.
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Adds a credential.
    pub fn with_credential(mut self, credential: Credential) -> Self {
        self.auth.push(credential);
        self
    }

    /// Sets a variable of the document's servers.
    pub fn with_variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Sets the folder that files may be uploaded from.
    pub fn with_workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Adds a header to every call.
    pub fn with_header(mut self, name: impl Into<String>, value: Secret) -> Self {
        self.headers.push((name.into(), value));
        self
    }
}

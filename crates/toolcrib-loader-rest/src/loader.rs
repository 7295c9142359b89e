//! The loader: it reads the document, and shares its operations with the engine.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use http::Method;
use http::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use toolcrib_document::{Document, Format, Limits, MAX_BYTES, parse};
use toolcrib_io::files::read_bounded;
use toolcrib_io::http::{HttpClient, HttpPolicy, Request, names_private_address};
use toolcrib_model::QualifiedName;
use toolcrib_policy::Access;
use toolcrib_port::{Loaded, RejectKind, ToolLoader};
use url::{Origin, Url};

use crate::operation::{Base, Operation, Reading, Setting, check, read_document};
use crate::{Error, RestEngine, RestSource, SpecLocation};

/// How many redirects a request follows that changes nothing; all of them stay at the same origin.
const MAX_REDIRECTS: usize = 5;

/// What documents are fetched as.
const ACCEPTED_DOCUMENTS: &str = "application/json, application/yaml, */*;q=0.5";

/// Loads the tools of an OpenAPI document. Made by [`RestSource::open`].
#[derive(Clone)]
pub struct RestLoader {
    shared: Arc<Shared>,
}

/// What loader and engine have in common.
pub(crate) struct Shared {
    source: RestSource,
    base_url: Option<Url>,
    /// The headers of every call.
    pub(crate) headers: HeaderMap,
    own_headers: Vec<String>,
    /// Of the last document that could be read, by the names of their tools.
    pub(crate) operations: ArcSwap<HashMap<String, Arc<Operation>>>,
    clients: Clients,
    /// For the origin that the operator wrote down, when that plainly names a private address: its origin, and no other
    /// that a document names.
    own_clients: Option<(Origin, Clients)>,
}

struct Clients {
    /// For requests that change nothing: it follows redirects within an origin.
    following: HttpClient,
    /// For all others: a redirect would turn them into something else.
    strict: HttpClient,
}

impl Clients {
    fn new(policy: HttpPolicy, access: &Access) -> Result<Self, Error> {
        let client = |policy| match HttpClient::new(policy) {
            Ok(client) => {
                let access = access.clone();
                Ok(client.with_guard(move |host, port| access.allows_host(host, port)))
            }
            Err(error) => Err(Error::Client { reason: error.to_string() }),
        };
        let following = client(HttpPolicy { max_redirects: MAX_REDIRECTS, ..policy })?;
        Ok(Self { following, strict: client(policy)? })
    }
}

impl RestSource {
    /// Makes the loader and the engine, which works on what the loader has loaded last. Reads nothing yet; an error
    /// is one of the settings.
    pub fn open(self) -> Result<(RestLoader, RestEngine), Error> {
        let setting =
            |setting, problem: String| Error::Setting { setting, source_name: self.name.clone(), problem };
        QualifiedName::new(self.namespace.as_str(), "name")
            .map_err(|error| setting("namespace", error.to_string()))?;
        let base_url = match self.base_url.as_deref().map(|text| (text, Url::parse(text))) {
            None => None,
            Some((text, Err(error))) => {
                return Err(setting("base_url", format!("`{text}` is not a URL: {error}")));
            }
            Some((text, Ok(url))) => {
                check(&url).map_err(|problem| setting("base_url", format!("`{text}` {problem}")))?;
                Some(url)
            }
        };
        if base_url.is_none() && !self.headers.is_empty() {
            return Err(setting("headers", "they are sent to `base_url` only; set it".into()));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let header = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| setting("headers", format!("`{name}` cannot be the name of a header")))?;
            let mut value = HeaderValue::from_str(value.expose())
                .map_err(|_| setting("headers", format!("the value of `{name}` holds control characters")))?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        let strict = HttpPolicy {
            allow_private: self.allow_private,
            timeout: self.timeout,
            max_response_bytes: self.max_response_bytes,
            max_redirects: 0,
        };
        let operator_url = base_url.as_ref().or(match &self.spec {
            SpecLocation::Url(url) => Some(url),
            SpecLocation::File(_) => None,
        });
        let own_clients = match operator_url.filter(|url| names_private_address(url)) {
            Some(url) => {
                let policy = HttpPolicy { allow_private: true, ..strict };
                Some((url.origin(), Clients::new(policy, &self.access)?))
            }
            None => None,
        };
        let clients = Clients::new(strict, &self.access)?;
        let own_headers = headers.keys().map(|name| name.as_str().to_owned()).collect();
        let shared = Arc::new(Shared {
            source: self,
            base_url,
            headers,
            own_headers,
            operations: ArcSwap::default(),
            clients,
            own_clients,
        });
        Ok((RestLoader { shared: Arc::clone(&shared) }, RestEngine { shared }))
    }
}

#[async_trait]
impl ToolLoader for RestLoader {
    fn source(&self) -> &str {
        &self.shared.source.name
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        Some(&self.shared.source.namespace)
    }

    async fn load(&self) -> Loaded {
        let shared = Arc::clone(&self.shared);
        let read = match shared.fetch().await {
            Err(failed) => return failed,
            // Parsing and conversion take a while on a document of some megabytes.
            Ok(bytes) => tokio::task::spawn_blocking(move || shared.read(&bytes)).await,
        };
        match read {
            Ok(Ok(reading)) => {
                self.shared.operations.store(Arc::new(reading.operations));
                reading.loaded
            }
            // The operations of the last good document stay, for calls to the tools that came from it.
            Ok(Err(failed)) => failed,
            Err(error) => {
                self.shared.failed(RejectKind::InvalidTool, format!("reading the document failed: {error}"))
            }
        }
    }
}

impl Shared {
    /// The client for a request.
    pub(crate) fn client(&self, url: &Url, method: &Method) -> &HttpClient {
        let clients = match &self.own_clients {
            Some((origin, clients)) if *origin == url.origin() => clients,
            _ => &self.clients,
        };
        if method.is_safe() { &clients.following } else { &clients.strict }
    }

    /// What messages call the source.
    pub(crate) fn name(&self) -> &str {
        &self.source.name
    }

    fn failed(&self, kind: RejectKind, reason: impl Into<String>) -> Loaded {
        Loaded::failed(self.source.name.as_str(), kind, reason)
    }

    async fn fetch(&self) -> Result<Vec<u8>, Loaded> {
        let url = match &self.source.spec {
            SpecLocation::Url(url) => url,
            SpecLocation::File(path) => {
                let path = path.clone();
                return tokio::task::spawn_blocking(move || read_bounded(path, MAX_BYTES as u64))
                    .await
                    .map_err(|error| {
                        self.failed(RejectKind::Unreadable, format!("reading the file failed: {error}"))
                    })?
                    .map_err(|error| self.failed(kind_of(&error), error.to_string()));
            }
        };
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(ACCEPTED_DOCUMENTS))]);
        let request = Request::new(Method::GET, url.clone()).with_headers(headers);
        let client = self.client(url, &Method::GET);
        let response = client
            .send(request)
            .await
            .map_err(|error| self.failed(RejectKind::Unavailable, error.to_string()))?;
        if !response.status.is_success() {
            let reason = format!("{} was answered with {}; check the URL", self.source.spec, response.status);
            return Err(self.failed(RejectKind::Unavailable, reason));
        }
        if response.truncated {
            let limit = client.policy().max_response_bytes;
            return Err(
                self.failed(RejectKind::TooLarge, format!("the document has more than {limit} bytes"))
            );
        }
        Ok(response.body.to_vec())
    }

    fn read(&self, bytes: &[u8]) -> Result<Reading, Loaded> {
        let (path, document_url) = match &self.source.spec {
            SpecLocation::File(path) => (path.as_path(), None),
            SpecLocation::Url(url) => (Path::new(url.path()), Some(url)),
        };
        let document = self.parse(path, bytes)?;
        let setting = Setting {
            source: &self.source.name,
            namespace: &self.source.namespace,
            base: Base { configured: self.base_url.as_ref(), document: document_url },
            own_headers: &self.own_headers,
        };
        read_document(&document.value, &setting)
            .map_err(|error| self.failed(error.reject_kind(), format!("{}: {error}", self.source.spec)))
    }

    fn parse(&self, path: &Path, bytes: &[u8]) -> Result<Document, Loaded> {
        // Status codes are keys, and in YAML they are numbers.
        let limits = Limits::default().with_scalar_keys();
        parse(bytes, Format::detect(path, bytes), &limits).map_err(|error| {
            let kind = if error.is_limit() { RejectKind::TooLarge } else { RejectKind::Syntax };
            self.failed(kind, error.at(&self.source.spec))
        })
    }
}

fn kind_of(error: &toolcrib_io::Error) -> RejectKind {
    match error {
        toolcrib_io::Error::TooLarge { .. } => RejectKind::TooLarge,
        _ => RejectKind::Unreadable,
    }
}

//! Retrieval of a document from its file, its server, or the cache.

use http::header::{
    ACCEPT, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
};
use http::{Method, StatusCode};
use toolcrib_document::MAX_BYTES;
use toolcrib_io::Error as IoError;
use toolcrib_io::files::read_bounded;
use toolcrib_io::http::{HttpClient, Request, Response};
use toolcrib_port::RejectKind;
use url::Url;

use crate::client::MAX_REDIRECTS;
use crate::document_cache::{CachedDocument, DocumentCache, Validators};
use crate::{RestSource, SpecLocation};

/// The `Accept` header of document requests.
const ACCEPTED_DOCUMENTS: &str = "application/json, application/yaml, */*;q=0.5";

/// A document that was retrieved.
#[derive(Debug, Default)]
pub(crate) struct FetchedDocument {
    pub(crate) bytes: Vec<u8>,
    /// The validators, if the document was just downloaded and can be cached.
    pub(crate) fresh: Option<Validators>,
    /// The cached document.
    pub(crate) cached: Option<CachedDocument>,
    /// The reason why it may be outdated.
    pub(crate) warning: Option<String>,
}

/// The failure to retrieve a document.
#[derive(Debug)]
pub(crate) struct FetchFailure {
    pub(crate) kind: RejectKind,
    pub(crate) reason: String,
    /// True if access to the document is denied. A cached copy is not used then.
    is_refused: bool,
}

impl FetchFailure {
    fn new(kind: RejectKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), is_refused: false }
    }
}

/// Retrieves the document of a source.
pub(crate) async fn fetch(
    source: &RestSource,
    client: impl Fn(&Url) -> HttpClient,
) -> Result<FetchedDocument, FetchFailure> {
    let url = match &source.spec {
        SpecLocation::Url(url) => url,
        SpecLocation::File(path) => {
            let path = path.clone();
            let bytes = blocking(move || read_bounded(path, MAX_BYTES as u64)).await?;
            let bytes = bytes.map_err(|error| {
                let is_large = matches!(error, IoError::TooLarge { .. });
                let kind = if is_large { RejectKind::TooLarge } else { RejectKind::Unreadable };
                FetchFailure::new(kind, error.to_string())
            })?;
            return Ok(FetchedDocument { bytes, ..FetchedDocument::default() });
        }
    };
    let cached = match source.cache.clone() {
        Some(cache) => {
            let url = url.clone();
            blocking(move || cache.load(&url)).await?
        }
        None => None,
    };
    let response = request_document(source, url, &client(url), cached.as_ref()).await;
    match (response, cached) {
        (Ok(None), Some(cached)) => Ok(FetchedDocument { bytes: cached.bytes, ..FetchedDocument::default() }),
        (Ok(None), None) => Err(FetchFailure::new(
            RejectKind::Unavailable,
            format!("{} was answered without a document", source.spec),
        )),
        (Ok(Some(response)), cached) => Ok(FetchedDocument {
            bytes: response.body.to_vec(),
            fresh: Some(validators(&response.headers)),
            cached,
            warning: None,
        }),
        (Err(failed), Some(cached)) if !failed.is_refused => Ok(FetchedDocument {
            bytes: cached.bytes,
            warning: Some(failed.reason),
            ..FetchedDocument::default()
        }),
        (Err(failed), _) => Err(failed),
    }
}

/// Caches a document that was parsed successfully.
pub(crate) fn cache_document(cache: &DocumentCache, url: &Url, bytes: Vec<u8>, validators: Validators) {
    if let Err(error) = cache.store(url, &CachedDocument { validators, bytes }) {
        tracing::warn!(%error, folder = %cache.folder.display(), "an OpenAPI document could not be cached");
    }
}

/// Requests the document from the server. Returns `None` if the cached copy is current.
async fn request_document(
    source: &RestSource,
    url: &Url,
    client: &HttpClient,
    cached: Option<&CachedDocument>,
) -> Result<Option<Response>, FetchFailure> {
    let request = Request::new(Method::GET, url.clone())
        .with_headers(conditions(cached.map(|cached| &cached.validators)))
        .with_redirects(MAX_REDIRECTS);
    let response = client.send(request).await.map_err(|error| FetchFailure {
        kind: RejectKind::Unavailable,
        is_refused: matches!(error, IoError::AddressRefused { .. } | IoError::HostNotAllowed { .. }),
        reason: error.to_string(),
    })?;
    if response.status == StatusCode::NOT_MODIFIED && cached.is_some() {
        return Ok(None);
    }
    if matches!(response.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        let reason = format!(
            "{} was answered with {}; documents are requested without credentials, so save it to a file and name that \
             as the document",
            source.spec, response.status
        );
        return Err(FetchFailure::new(RejectKind::NeedsLogin, reason));
    }
    if !response.status.is_success() {
        let reason = format!("{} was answered with {}; check the URL", source.spec, response.status);
        return Err(FetchFailure::new(RejectKind::Unavailable, reason));
    }
    if response.truncated {
        let limit = client.policy().max_response_bytes;
        return Err(FetchFailure::new(
            RejectKind::TooLarge,
            format!("the document has more than {limit} bytes"),
        ));
    }
    Ok(Some(response))
}

fn conditions(cached: Option<&Validators>) -> HeaderMap {
    let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(ACCEPTED_DOCUMENTS))]);
    let known = |validator: Option<&String>| validator.and_then(|text| HeaderValue::from_str(text).ok());
    let etag = known(cached.and_then(|cached| cached.etag.as_ref()));
    let last_modified = known(cached.and_then(|cached| cached.last_modified.as_ref()));
    headers.extend(etag.map(|value| (IF_NONE_MATCH, value)));
    headers.extend(last_modified.map(|value| (IF_MODIFIED_SINCE, value)));
    headers
}

fn validators(headers: &HeaderMap) -> Validators {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Validators { etag: text(ETAG), last_modified: text(LAST_MODIFIED) }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, FetchFailure> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        FetchFailure::new(RejectKind::Unreadable, format!("reading the document failed: {error}"))
    })
}

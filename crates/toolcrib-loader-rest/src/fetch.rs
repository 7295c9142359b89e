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

use crate::cache::{DocumentCache, Kept, Validators};
use crate::client::MAX_REDIRECTS;
use crate::{RestSource, SpecLocation};

/// The `Accept` header of document requests.
const ACCEPTED_DOCUMENTS: &str = "application/json, application/yaml, */*;q=0.5";

/// A document that was retrieved.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    pub(crate) bytes: Vec<u8>,
    /// The validators, if the document was just downloaded and can be cached.
    pub(crate) fresh: Option<Validators>,
    /// The cached document.
    pub(crate) kept: Option<Kept>,
    /// The reason why it may be outdated.
    pub(crate) warning: Option<String>,
}

/// The failure to retrieve a document.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) kind: RejectKind,
    pub(crate) reason: String,
    /// True if access to the document is denied. A cached copy is not used then.
    is_refused: bool,
}

impl Failed {
    fn new(kind: RejectKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), is_refused: false }
    }
}

/// Retrieves the document of a source.
pub(crate) async fn fetch(
    source: &RestSource,
    client: impl Fn(&Url) -> HttpClient,
) -> Result<Fetched, Failed> {
    let url = match &source.spec {
        SpecLocation::Url(url) => url,
        SpecLocation::File(path) => {
            let path = path.clone();
            let bytes = blocking(move || read_bounded(path, MAX_BYTES as u64)).await?;
            let bytes = bytes.map_err(|error| {
                let is_large = matches!(error, IoError::TooLarge { .. });
                let kind = if is_large { RejectKind::TooLarge } else { RejectKind::Unreadable };
                Failed::new(kind, error.to_string())
            })?;
            return Ok(Fetched { bytes, ..Fetched::default() });
        }
    };
    let kept = match source.cache.clone() {
        Some(cache) => {
            let url = url.clone();
            blocking(move || cache.load(&url)).await?
        }
        None => None,
    };
    let answered = ask(source, url, &client(url), kept.as_ref()).await;
    match (answered, kept) {
        (Ok(None), Some(kept)) => Ok(Fetched { bytes: kept.bytes, ..Fetched::default() }),
        (Ok(None), None) => Err(Failed::new(
            RejectKind::Unavailable,
            format!("{} was answered without a document", source.spec),
        )),
        (Ok(Some(response)), kept) => Ok(Fetched {
            bytes: response.body.to_vec(),
            fresh: Some(validators(&response.headers)),
            kept,
            warning: None,
        }),
        (Err(failed), Some(kept)) if !failed.is_refused => {
            Ok(Fetched { bytes: kept.bytes, warning: Some(failed.reason), ..Fetched::default() })
        }
        (Err(failed), _) => Err(failed),
    }
}

/// Caches a document that was parsed successfully.
pub(crate) fn keep(cache: &DocumentCache, url: &Url, bytes: Vec<u8>, validators: Validators) {
    if let Err(error) = cache.store(url, &Kept { validators, bytes }) {
        tracing::warn!(%error, folder = %cache.folder.display(), "an OpenAPI document could not be kept");
    }
}

/// Requests the document from the server. Returns `None` if the cached copy is current.
async fn ask(
    source: &RestSource,
    url: &Url,
    client: &HttpClient,
    kept: Option<&Kept>,
) -> Result<Option<Response>, Failed> {
    let request = Request::new(Method::GET, url.clone())
        .with_headers(conditions(kept.map(|kept| &kept.validators)))
        .with_redirects(MAX_REDIRECTS);
    let response = client.send(request).await.map_err(|error| Failed {
        kind: RejectKind::Unavailable,
        is_refused: matches!(error, IoError::AddressRefused { .. } | IoError::HostNotAllowed { .. }),
        reason: error.to_string(),
    })?;
    if response.status == StatusCode::NOT_MODIFIED && kept.is_some() {
        return Ok(None);
    }
    if matches!(response.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        let reason = format!(
            "{} was answered with {}; documents are asked for without credentials, so save it to a file and name that \
             as the document",
            source.spec, response.status
        );
        return Err(Failed::new(RejectKind::NeedsLogin, reason));
    }
    if !response.status.is_success() {
        let reason = format!("{} was answered with {}; check the URL", source.spec, response.status);
        return Err(Failed::new(RejectKind::Unavailable, reason));
    }
    if response.truncated {
        let limit = client.policy().max_response_bytes;
        return Err(Failed::new(RejectKind::TooLarge, format!("the document has more than {limit} bytes")));
    }
    Ok(Some(response))
}

fn conditions(kept: Option<&Validators>) -> HeaderMap {
    let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(ACCEPTED_DOCUMENTS))]);
    let known = |validator: Option<&String>| validator.and_then(|text| HeaderValue::from_str(text).ok());
    let etag = known(kept.and_then(|kept| kept.etag.as_ref()));
    let last_modified = known(kept.and_then(|kept| kept.last_modified.as_ref()));
    headers.extend(etag.map(|value| (IF_NONE_MATCH, value)));
    headers.extend(last_modified.map(|value| (IF_MODIFIED_SINCE, value)));
    headers
}

fn validators(headers: &HeaderMap) -> Validators {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Validators { etag: text(ETAG), last_modified: text(LAST_MODIFIED) }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failed> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Failed::new(RejectKind::Unreadable, format!("reading the document failed: {error}")))
}

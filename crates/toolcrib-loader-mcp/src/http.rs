//! Servers behind a URL, over Streamable HTTP.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::transport::{DynamicTransportError, StreamableHttpClientTransport};
use toolcrib_io::http::{HttpClient, HttpPolicy};
use toolcrib_model::{ErrorKind, Secret};
use url::Url;

use crate::auth::{AuthorizedClient, refusal};
use crate::error::{Error, chain};
use crate::handshake::{Opening, Unopened, shake_hands};
use crate::session::{Classify, Fault, Session};
use crate::{Authorization, McpSource};

/// How many redirects are followed, all at the same origin: servers send `/mcp` on to `/mcp/`.
const MAX_REDIRECTS: usize = 3;

/// How often a broken event stream is taken up again. Answers that were under way are lost after that.
const MAX_STREAM_RETRIES: usize = 3;

/// How long the first of these attempts waits.
const FIRST_STREAM_RETRY: Duration = Duration::from_millis(250);

/// A server behind a URL, and what it is reached with.
pub(crate) struct Place {
    pub(crate) client: HttpClient,
    pub(crate) url: Url,
    pub(crate) headers: HashMap<HeaderName, HeaderValue>,
    pub(crate) authorization: Option<Authorization>,
}

impl Place {
    /// The URL, when it may be reached.
    pub(crate) fn new(
        source: &McpSource,
        url: &str,
        headers: &[(String, Secret)],
        allow_private: bool,
    ) -> Result<Self, Error> {
        let target = source.target();
        let refused =
            |error: &toolcrib_io::Error| Error::Refused { target: target.clone(), reason: chain(error) };
        let url = Url::parse(url).map_err(|error| Error::Refused {
            target: target.clone(),
            reason: format!("the URL cannot be read: {error}"),
        })?;
        let policy = HttpPolicy { allow_private, max_redirects: MAX_REDIRECTS, ..HttpPolicy::default() };
        let client = HttpClient::new(policy).map_err(|error| refused(&error))?;
        client.check_url(&url).map_err(|error| refused(&error))?;
        let authorization = Authorization::of(source).transpose()?.filter(|_| !names_authorization(headers));
        Ok(Self { client, url, headers: custom_headers(source, headers)?, authorization })
    }
}

/// Opens a session over Streamable HTTP.
pub(crate) async fn open(place: Place, opening: Opening) -> Result<Session, Unopened> {
    let client = AuthorizedClient::new(place.client.reqwest_client().clone(), place.authorization);

    let mut retry = ExponentialBackoff::default();
    retry.max_times = Some(MAX_STREAM_RETRIES);
    retry.base_duration = FIRST_STREAM_RETRY;
    let mut config = StreamableHttpClientTransportConfig::with_uri(place.url.as_str())
        .custom_headers(place.headers)
        // rmcp would send a refused call again by itself. The engine decides that.
        .reinit_on_expired_session(false);
    config.retry_config = Arc::new(retry);
    let classify = classifier(&client, place.url.as_str(), &opening.target);
    let transport = StreamableHttpClientTransport::with_client(client, config);
    shake_hands(opening, transport, None, classify).await
}

/// Whether the operator has set what a token would take the place of.
fn names_authorization(headers: &[(String, Secret)]) -> bool {
    headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(AUTHORIZATION.as_str()))
}

fn custom_headers(
    source: &McpSource,
    headers: &[(String, Secret)],
) -> Result<HashMap<HeaderName, HeaderValue>, Error> {
    let parse = |(name, value): &(String, Secret)| {
        let parsed = name.parse().ok().zip(HeaderValue::from_str(value.expose()).ok());
        let (header, mut value) = parsed
            .ok_or_else(|| Error::Header { namespace: source.namespace.clone(), name: name.clone() })?;
        value.set_sensitive(true);
        Ok((header, value))
    };
    headers.iter().map(parse).collect()
}

/// The client is only looked at for the type of its errors, which this crate has no name for.
fn classifier<C: StreamableHttpClient>(_client: &C, url: &str, target: &str) -> Classify {
    let (url, target) = (url.to_owned(), target.to_owned());
    Box::new(move |error| classify::<C::Error>(error, &url, &target))
}

/// What a failed POST means: whether the server can have acted on it.
fn classify<E>(error: &DynamicTransportError, url: &str, target: &str) -> Fault
where
    E: std::error::Error + Send + Sync + 'static,
{
    let error = error.error.as_ref();
    let known = error.downcast_ref::<StreamableHttpError<E>>();
    if let Some(refused) = known.and_then(refusal) {
        return Fault::NoServer(refused.clone());
    }
    // rmcp does not name this one as the source of the other.
    let root: &(dyn std::error::Error + 'static) = match known {
        Some(StreamableHttpError::Client(client)) => client,
        _ => error,
    };
    // The URL in an error may carry a key in its query.
    let reason = chain(root).replace(url, target);
    match known {
        Some(StreamableHttpError::SessionExpired) => Fault::SessionExpired(reason),
        Some(StreamableHttpError::HttpStatus(status)) if status.status == 429 => {
            Fault::TurnedAway { kind: ErrorKind::Overloaded, reason }
        }
        Some(StreamableHttpError::HttpStatus(status)) if status.status == 503 => {
            Fault::TurnedAway { kind: ErrorKind::Unavailable, reason }
        }
        Some(StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_)) => {
            Fault::TurnedAway { kind: ErrorKind::Unavailable, reason }
        }
        Some(StreamableHttpError::UnexpectedServerResponse(response)) if response.starts_with("HTTP 4") => {
            Fault::TurnedAway { kind: ErrorKind::Unavailable, reason }
        }
        _ if never_connected(root) => Fault::NotSent(reason),
        _ => Fault::Lost { how: format!("broke off ({reason})"), said: String::new() },
    }
}

/// Whether the request cannot have reached anybody.
pub(crate) fn never_connected(error: &(dyn std::error::Error + 'static)) -> bool {
    use io::ErrorKind::{AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable};
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>()
            && matches!(
                error.kind(),
                ConnectionRefused | HostUnreachable | NetworkUnreachable | AddrNotAvailable
            )
        {
            return true;
        }
        next = error.source();
    }
    false
}

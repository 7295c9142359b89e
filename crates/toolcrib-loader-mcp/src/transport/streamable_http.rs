//! Streamable HTTP: servers behind a URL.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use toolcrib_io::http::{HttpClient, HttpPolicy};
use toolcrib_model::{ErrorKind, Secret};
use url::Url;

use crate::McpSource;
use crate::auth::{AuthorizedClient, carried_error};
use crate::connection::handshake::{HandshakeError, HandshakeOptions, open_session};
use crate::connection::session::{Classify, RequestError, Session};
use crate::error::{Error, chain};
use crate::oauth::Authorization;
use crate::transport::boxed::BoxedTransport;

/// The largest number of redirects to follow, all within the same origin: servers redirect `/mcp` to `/mcp/`.
const MAX_REDIRECTS: usize = 3;

/// The number of attempts to resume a broken event stream. Pending responses are lost after that.
const MAX_STREAM_RETRIES: usize = 3;

/// The wait before the first of these attempts.
const FIRST_STREAM_RETRY: Duration = Duration::from_millis(250);

/// A server behind a URL, with the client, headers and authorization to reach it.
pub(crate) struct HttpEndpoint {
    pub(crate) client: HttpClient,
    pub(crate) url: Url,
    pub(crate) headers: HashMap<HeaderName, HeaderValue>,
    pub(crate) authorization: Option<Authorization>,
}

impl HttpEndpoint {
    /// Creates the endpoint. Fails if the URL may not be reached.
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
        let authorization = source.authorization().transpose()?.filter(|_| !names_authorization(headers));
        Ok(Self { client, url, headers: custom_headers(source, headers)?, authorization })
    }
}

/// Opens a session over Streamable HTTP.
pub(crate) async fn open(
    endpoint: HttpEndpoint,
    options: HandshakeOptions,
) -> Result<Session, HandshakeError> {
    let client = AuthorizedClient::new(endpoint.client.reqwest_client().clone(), endpoint.authorization);

    let mut retry = ExponentialBackoff::default();
    retry.max_times = Some(MAX_STREAM_RETRIES);
    retry.base_duration = FIRST_STREAM_RETRY;
    let mut config = StreamableHttpClientTransportConfig::with_uri(endpoint.url.as_str())
        .custom_headers(endpoint.headers)
        // rmcp would repeat a rejected call by itself. The engine decides that.
        .reinit_on_expired_session(false);
    config.retry_config = Arc::new(retry);
    let classify = classifier(&client, endpoint.url.as_str(), &options.target);
    let transport = StreamableHttpClientTransport::with_client(client, config);
    open_session(options, BoxedTransport::new(transport), None, classify).await
}

/// Returns true if the operator has set the header that a token would replace.
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

/// Returns the classifier for the errors of a client. The client is only needed for its error type, which this crate
/// cannot name.
fn classifier<C: StreamableHttpClient>(_client: &C, url: &str, target: &str) -> Classify {
    let (url, target) = (url.to_owned(), target.to_owned());
    Box::new(move |error| classify::<C::Error>(error, &url, &target))
}

/// Classifies the error of a failed POST by whether the server can have processed it.
fn classify<E>(error: &(dyn std::error::Error + 'static), url: &str, target: &str) -> RequestError
where
    E: std::error::Error + Send + Sync + 'static,
{
    let known = error.downcast_ref::<StreamableHttpError<E>>();
    if let Some(refused) = known.and_then(carried_error) {
        return RequestError::NoServer(refused.clone());
    }
    // rmcp does not return this error as the source of the outer one.
    let root: &(dyn std::error::Error + 'static) = match known {
        Some(StreamableHttpError::Client(client)) => client,
        _ => error,
    };
    // The query of the URL in an error may contain a key.
    let reason = chain(root).replace(url, target);
    match known {
        Some(StreamableHttpError::SessionExpired) => RequestError::SessionExpired(reason),
        Some(StreamableHttpError::HttpStatus(status)) if status.status == 429 => {
            RequestError::Rejected { kind: ErrorKind::Overloaded, reason }
        }
        Some(StreamableHttpError::HttpStatus(status)) if status.status == 503 => {
            RequestError::Rejected { kind: ErrorKind::Unavailable, reason }
        }
        Some(StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_)) => {
            RequestError::Rejected { kind: ErrorKind::Unavailable, reason }
        }
        Some(StreamableHttpError::UnexpectedServerResponse(response)) if response.starts_with("HTTP 4") => {
            RequestError::Rejected { kind: ErrorKind::Unavailable, reason }
        }
        _ if never_connected(root) => RequestError::NotSent(reason),
        _ => RequestError::Lost { how: format!("broke off ({reason})"), stderr: String::new() },
    }
}

/// Returns true if the request cannot have reached a server.
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

//! An HTTP client for rmcp that sends a token with each request, and obtains another one if the server rejects it.
//!
//! The OAuth client of rmcp is not used: it continues without PKCE if a server does not declare it, permits tokens over
//! plain HTTP, writes codes to the log and server responses into errors, and signs with a second cryptographic library.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use futures::StreamExt as _;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use toolcrib_oauth::client::Authorization;
use url::Url;

use super::token_redaction::{EventStream, RedactToken, redact};
use crate::error::Error;
use crate::transport::argument_headers::ArgumentHeaders;
use crate::transport::message_recovery::PendingRequests;

/// The beginning of rmcp's error for a 401 without a challenge.
const BARE_UNAUTHORIZED: &str = "HTTP 401";

/// The largest event of a stream for which rmcp names no limit, in bytes. It is the default of rmcp.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

type Headers = HashMap<HeaderName, HeaderValue>;

/// A client with the authorization at its server, if there is one.
#[derive(Clone)]
pub(crate) struct AuthorizedClient<C> {
    client: C,
    authorization: Option<Authorization>,
}

impl<C: StreamableHttpClient + Sync> AuthorizedClient<C> {
    pub(crate) fn new(client: C, authorization: Option<Authorization>) -> Self {
        Self { client, authorization }
    }

    /// Sends a request with a token. A server that requires another token has not processed the request, so it is sent
    /// again.
    async fn send<T, F, S>(
        &self,
        method: Method,
        uri: &str,
        headers: Headers,
        send: F,
    ) -> Result<T, StreamableHttpError<C::Error>>
    where
        F: Fn(Headers) -> S + Send + Sync,
        S: Future<Output = Result<T, StreamableHttpError<C::Error>>> + Send,
        T: RedactToken + Send,
    {
        let Some(authorization) = &self.authorization else { return send(headers).await };
        let url = Url::parse(uri).map_err(io::Error::other)?;
        let mut request = authorization.request().await.map_err(wrap_error)?;
        loop {
            let proven = request.headers(&method, &url).map_err(wrap_error)?;
            let proven = proven.into_iter().filter_map(|(name, value)| Some((name?, value)));
            let outcome = send(headers.clone().into_iter().chain(proven).collect()).await;
            let (status, challenge) = match &outcome {
                Err(StreamableHttpError::AuthRequired(asked)) => {
                    (StatusCode::UNAUTHORIZED, asked.www_authenticate_header.clone())
                }
                Err(StreamableHttpError::InsufficientScope(asked)) => {
                    (StatusCode::FORBIDDEN, asked.www_authenticate_header.clone())
                }
                Err(StreamableHttpError::UnexpectedServerResponse(text))
                    if text.starts_with(BARE_UNAUTHORIZED) =>
                {
                    (StatusCode::UNAUTHORIZED, String::new())
                }
                _ => return redact(outcome, request.token()),
            };
            if !request.recover(status, &challenge).await.map_err(wrap_error)? {
                return redact(outcome, request.token());
            }
        }
    }
}

/// Wraps an error of this crate in the only variant of rmcp that can carry it.
fn wrap_error<E: std::error::Error + Send + Sync + 'static>(
    error: toolcrib_oauth::Error,
) -> StreamableHttpError<E> {
    StreamableHttpError::Io(io::Error::other(Error::from(error)))
}

/// Returns the error of this crate that an error of rmcp carries.
pub(crate) fn carried_error<E: std::error::Error + Send + Sync + 'static>(
    error: &StreamableHttpError<E>,
) -> Option<&Error> {
    match error {
        StreamableHttpError::Io(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}

/// Repairs events that rmcp cannot parse. It would skip them, and leave their request waiting.
fn with_repaired_events(
    answer: StreamableHttpPostResponse,
    mut pending: PendingRequests,
) -> StreamableHttpPostResponse {
    let StreamableHttpPostResponse::Sse(events, session) = answer else { return answer };
    let readable = events.map(move |event| {
        let mut event = event?;
        let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
        event.data = event.data.map(|data| if is_message { pending.readable(data) } else { data });
        Ok(event)
    });
    StreamableHttpPostResponse::Sse(readable.boxed(), session)
}

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for AuthorizedClient<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<C::Error>> {
        let max = MAX_EVENT_BYTES;
        self.post_message_with_max_sse_event_size(uri, message, session, token, headers, max).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _token: Option<String>,
        mut headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<C::Error>> {
        ArgumentHeaders::complete(&message, &mut headers);
        let pending = PendingRequests::of(&message);
        // The request is sent once, so nothing has to be cloned.
        if self.authorization.is_none() {
            let client = &self.client;
            let answer = client
                .post_message_with_max_sse_event_size(
                    uri,
                    message,
                    session_id,
                    None,
                    headers,
                    max_sse_event_size,
                )
                .await;
            return answer.map(|answer| with_repaired_events(answer, pending));
        }
        let answer = self.send(Method::POST, &uri, headers, |headers| {
            self.client.post_message_with_max_sse_event_size(
                uri.clone(),
                message.clone(),
                session_id.clone(),
                None,
                headers,
                max_sse_event_size,
            )
        });
        answer.await.map(|answer| with_repaired_events(answer, pending))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<(), StreamableHttpError<C::Error>> {
        self.send(Method::DELETE, &uri, headers, |headers| {
            self.client.delete_session(uri.clone(), session_id.clone(), None, headers)
        })
        .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<EventStream, StreamableHttpError<C::Error>> {
        let max = MAX_EVENT_BYTES;
        self.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, max).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _token: Option<String>,
        headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<EventStream, StreamableHttpError<C::Error>> {
        self.send(Method::GET, &uri, headers, |headers| {
            self.client.get_stream_with_max_sse_event_size(
                uri.clone(),
                session_id.clone(),
                last_event_id.clone(),
                None,
                headers,
                max_sse_event_size,
            )
        })
        .await
    }
}

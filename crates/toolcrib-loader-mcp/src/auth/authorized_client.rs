//! An HTTP client for rmcp that sends a token with each request, and obtains another one if the server rejects it.
//!
//! The OAuth client of rmcp is not used: it continues without PKCE if a server does not declare it, permits tokens over
//! plain HTTP, writes codes to the log and server responses into errors, and signs with a second cryptographic library.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use futures::StreamExt as _;
use http::header::WWW_AUTHENTICATE;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use toolcrib_io::http::{HttpClient, Request, Response};
use url::Url;

use super::Authorization;
use super::authorization::{RecoveryStep, TriedSteps};
use super::challenge::Challenge;
use super::dpop::Credential;
use super::metadata::authorization_error;
use super::token_redaction::{EventStream, RedactToken, redact};
use crate::error::Error;
use crate::transport::argument_headers::ArgumentHeaders;
use crate::transport::message_recovery::PendingRequests;

/// The beginning of rmcp's error for a 401 without a challenge.
const BARE_UNAUTHORIZED: &str = "HTTP 401";

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
    /// again. `send` receives the token, or headers that contain it if rmcp has no parameter for it.
    async fn send<T, F, S>(
        &self,
        method: Method,
        uri: &str,
        headers: Headers,
        send: F,
    ) -> Result<T, StreamableHttpError<C::Error>>
    where
        F: Fn(Option<String>, Headers) -> S + Send + Sync,
        S: Future<Output = Result<T, StreamableHttpError<C::Error>>> + Send,
        T: RedactToken + Send,
    {
        let Some(authorization) = &self.authorization else { return send(None, headers).await };
        let mut credential = authorization.token().await.map_err(wrap_error)?;
        let mut attempt = TriedSteps::default();
        loop {
            let outcome = match &credential {
                Some(Credential { token, key: None }) => {
                    send(Some(token.expose().to_owned()), headers.clone()).await
                }
                Some(bound) => {
                    let url = Url::parse(uri)
                        .map_err(|error| wrap_error(authorization_error(uri, &error.to_string())))?;
                    let mut headers = headers.clone();
                    let proven = authorization.headers(bound, &method, &url).map_err(wrap_error)?;
                    headers.extend(proven.into_iter().filter_map(|(name, value)| Some((name?, value))));
                    send(None, headers).await
                }
                None => send(None, headers.clone()).await,
            };
            let token = credential.as_ref().map(|credential| &credential.token);
            let challenge = match &outcome {
                Err(StreamableHttpError::AuthRequired(asked)) => {
                    Challenge::read(&asked.www_authenticate_header)
                }
                Err(StreamableHttpError::InsufficientScope(asked)) => {
                    let challenge = Challenge::read(&asked.www_authenticate_header);
                    if !challenge.wants_scopes() {
                        return redact(outcome, token);
                    }
                    let other = Box::pin(authorization.with_more_scopes(
                        credential.as_ref(),
                        &challenge,
                        &mut attempt,
                    ))
                    .await;
                    credential = Some(other.map_err(wrap_error)?);
                    continue;
                }
                Err(StreamableHttpError::UnexpectedServerResponse(text))
                    if text.starts_with(BARE_UNAUTHORIZED) =>
                {
                    Challenge::default()
                }
                _ => return redact(outcome, token),
            };
            // Boxed because it is large and rarely needed.
            let other =
                Box::pin(authorization.replacement(credential.as_ref(), &challenge, &mut attempt)).await;
            credential = Some(other.map_err(wrap_error)?);
        }
    }
}

impl Authorization {
    /// Sends a request outside of rmcp, with the same authorization.
    pub(crate) async fn send(
        &self,
        client: &HttpClient,
        request: Request,
    ) -> Result<Result<Response, toolcrib_io::Error>, Error> {
        let mut credential = self.token().await?;
        let mut attempt = TriedSteps::default();
        loop {
            let mut request = request.clone();
            if let Some(credential) = &credential {
                request.headers.extend(self.headers(credential, &request.method, &request.url)?);
            }
            let response = match client.send(request).await {
                Ok(response) => response,
                failed @ Err(_) => return Ok(failed),
            };
            let has_nonce = self.note_nonce(&response.headers);
            let header = response.headers.get(WWW_AUTHENTICATE).and_then(|header| header.to_str().ok());
            let challenge = header.map(Challenge::read).unwrap_or_default();
            if has_nonce && challenge.wants_nonce() && attempt.begin(RecoveryStep::Nonce) {
                continue;
            }
            let sent = credential.as_ref();
            credential = match response.status {
                StatusCode::UNAUTHORIZED => {
                    Some(Box::pin(self.replacement(sent, &challenge, &mut attempt)).await?)
                }
                StatusCode::FORBIDDEN if challenge.wants_scopes() => {
                    Some(Box::pin(self.with_more_scopes(sent, &challenge, &mut attempt)).await?)
                }
                _ => return Ok(Ok(response)),
            };
        }
    }
}

/// Wraps an error of this crate in the only variant of rmcp that can carry it.
fn wrap_error<E: std::error::Error + Send + Sync + 'static>(error: Error) -> StreamableHttpError<E> {
    StreamableHttpError::Io(io::Error::other(error))
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
        session_id: Option<Arc<str>>,
        _token: Option<String>,
        mut headers: Headers,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<C::Error>> {
        ArgumentHeaders::complete(&message, &mut headers);
        if self.authorization.is_none() {
            return self.client.post_message(uri, message, session_id, None, headers).await;
        }
        self.send(Method::POST, &uri, headers, |token, headers| {
            self.client.post_message(uri.clone(), message.clone(), session_id.clone(), token, headers)
        })
        .await
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
        let answer = self.send(Method::POST, &uri, headers, |token, headers| {
            self.client.post_message_with_max_sse_event_size(
                uri.clone(),
                message.clone(),
                session_id.clone(),
                token,
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
        self.send(Method::DELETE, &uri, headers, |token, headers| {
            self.client.delete_session(uri.clone(), session_id.clone(), token, headers)
        })
        .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<EventStream, StreamableHttpError<C::Error>> {
        self.send(Method::GET, &uri, headers, |token, headers| {
            let (session_id, last_event_id) = (session_id.clone(), last_event_id.clone());
            self.client.get_stream(uri.clone(), session_id, last_event_id, token, headers)
        })
        .await
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
        self.send(Method::GET, &uri, headers, |token, headers| {
            self.client.get_stream_with_max_sse_event_size(
                uri.clone(),
                session_id.clone(),
                last_event_id.clone(),
                token,
                headers,
                max_sse_event_size,
            )
        })
        .await
    }
}

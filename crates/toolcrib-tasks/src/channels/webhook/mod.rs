//! The channel that sends signed webhook requests.

#[cfg(test)]
mod tests;

use std::time::Duration;

use async_trait::async_trait;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use jiff::Timestamp;
use serde::Serialize;
use tokio::time::Instant;
use toolcrib_io::Error;
use toolcrib_io::http::{HttpClient, HttpPolicy, Request, Response, WebhookKey, retry_after};
use toolcrib_model::{ErrorKind, Secret, ToolError};
use url::Url;

use super::retry::{Attempt, FIRST_PAUSE, deliver};
use super::{Channel, Message};
use crate::id::random_id;

/// The timeout of one attempt.
const ATTEMPT_TIME: Duration = Duration::from_secs(10);

/// The maximum number of response bytes to read. Only the status matters.
const MAX_ANSWER_BYTES: usize = 4 * 1024;

const IDEMPOTENCY_HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// A channel that sends each message as a request signed according to Standard Webhooks: a `POST` with the JSON `{"id",
/// "at", "channel", "message"}`, and `agent` if it is known. The headers `webhook-id` and `idempotency-key` hold the
/// key of the run, `webhook-timestamp` the time of the attempt in seconds, and `webhook-signature` the proof that the
/// sender knows the secret.
///
/// A status of 2xx means that the message was delivered. A status of 5xx, 408 or 429, a missing response and a failed
/// connection are retried, up to `MAX_ATTEMPTS` attempts within `DELIVERY_TIME`. Everything else, including a
/// redirect, is not retried.
#[derive(Debug)]
pub struct WebhookChannel {
    http: HttpClient,
    url: Url,
    /// The key of signatures. A receiver whose URL is the secret needs none.
    key: Option<WebhookKey>,
    first_pause: Duration,
}

impl WebhookChannel {
    /// Returns the policy of the HTTP client for webhooks. The operator decides if private addresses are allowed.
    pub fn http_policy(allow_private: bool) -> HttpPolicy {
        HttpPolicy {
            allow_private,
            timeout: ATTEMPT_TIME,
            max_response_bytes: MAX_ANSWER_BYTES,
            max_redirects: 0,
        }
    }

    /// Creates a channel to a URL. The secret is `whsec_` followed by Base64, or any other text.
    pub fn new(http: HttpClient, url: Url, secret: &Secret) -> Result<Self, Error> {
        let key = WebhookKey::new(secret.expose())?;
        Ok(Self { key: Some(key), ..Self::unsigned(http, url) })
    }

    /// Creates a channel to a URL that is a secret itself, so that requests are not signed.
    pub fn unsigned(http: HttpClient, url: Url) -> Self {
        Self { http, url, key: None, first_pause: FIRST_PAUSE }
    }

    /// Sets the pause before the second attempt. The default is [`FIRST_PAUSE`]. Each later pause is twice as long.
    pub fn with_first_pause(mut self, pause: Duration) -> Self {
        self.first_pause = pause;
        self
    }

    /// Sends a JSON body under an id by which its receiver recognizes a repetition, with retries. `channel` is the name
    /// in errors.
    pub async fn post(&self, channel: &str, id: &str, at: Timestamp, body: &str) -> Result<(), ToolError> {
        let began = Instant::now();
        // Receivers reject old signatures, so each attempt is signed with its own time.
        let attempt = |_| {
            let now = at.checked_add(began.elapsed()).unwrap_or(at);
            self.attempt(id, now, body)
        };
        deliver(channel, self.first_pause, attempt).await
    }

    async fn attempt(&self, id: &str, at: Timestamp, body: &str) -> Attempt {
        let Some(headers) = self.headers(id, at, body) else {
            return Attempt::Refused("its id is not a valid header value".to_owned());
        };
        let request =
            Request::new(Method::POST, self.url.clone()).with_headers(headers).with_body(body.to_owned());
        match self.http.send(request).await {
            Ok(response) => classify(&response),
            Err(error) => classify_error(&error),
        }
    }

    fn headers(&self, id: &str, at: Timestamp, body: &str) -> Option<HeaderMap> {
        let mut headers = match &self.key {
            Some(key) => key.headers(id, at.as_second(), body)?,
            None => HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]),
        };
        headers.insert(IDEMPOTENCY_HEADER, HeaderValue::from_str(id).ok()?);
        Some(headers)
    }
}

/// The body of a request.
#[derive(Serialize)]
struct Body<'a> {
    id: &'a str,
    at: Timestamp,
    channel: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
}

#[async_trait]
impl Channel for WebhookChannel {
    async fn send(&self, message: &Message<'_>) -> Result<(), ToolError> {
        let id = match message.run_key {
            Some(key) => key.to_owned(),
            None => random_id("message")
                .map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))?,
        };
        let body = Body {
            id: &id,
            at: message.at,
            channel: message.channel,
            message: message.text,
            agent: message.context.agent.as_deref(),
        };
        let body = serde_json::to_string(&body)
            .map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))?;
        self.post(message.channel, &id, message.at, &body).await
    }
}

/// Returns the outcome of an attempt by its status.
pub(super) fn classify(response: &Response) -> Attempt {
    let status = response.status;
    let why = format!("its server answered with status {}", status.as_u16());
    match status {
        _ if status.is_success() => Attempt::Delivered,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
            Attempt::Failed { why, wait: retry_after(&response.headers) }
        }
        _ if status.is_server_error() => Attempt::Failed { why, wait: retry_after(&response.headers) },
        _ if status.is_redirection() => Attempt::Refused(format!("{why}; redirects are not followed")),
        _ => Attempt::Refused(why),
    }
}

/// Returns the outcome of an attempt that failed without a response. It omits the URL, whose path often holds a key.
pub(super) fn classify_error(error: &Error) -> Attempt {
    match error {
        Error::ConnectFailed { reason, .. } | Error::RequestFailed { reason, .. } => {
            Attempt::Failed { why: reason.clone(), wait: None }
        }
        Error::RequestTimedOut { timeout, .. } => {
            Attempt::Failed { why: format!("its server did not answer within {timeout:?}"), wait: None }
        }
        Error::InvalidUrl { reason, .. } => Attempt::Refused((*reason).to_owned()),
        Error::RootCertificatesMissing { .. } => {
            Attempt::Refused("this machine has no root certificates; install `ca-certificates`".to_owned())
        }
        other => Attempt::Refused(other.to_string()),
    }
}

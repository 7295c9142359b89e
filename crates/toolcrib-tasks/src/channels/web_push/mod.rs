//! Push messages to browsers (RFC 8030), which their push services deliver also while no page is open.

mod encryption;
mod subscription;
mod vapid;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use toolcrib_io::http::{HttpClient, Request, names_private_address};
use toolcrib_model::{ErrorKind, ToolError};
use url::Url;

use super::retry::{Attempt, FIRST_PAUSE, deliver};
use super::webhook::{classify, classify_error};

pub use subscription::{MAX_ENDPOINT_BYTES, PushSubscription, SubscriptionError};
pub use vapid::VapidKey;

/// The seconds for which a push service keeps a message for a browser that is away.
const TTL: HeaderName = HeaderName::from_static("ttl");

/// The urgency, by which a push service may wake a device.
const URGENCY: HeaderName = HeaderName::from_static("urgency");

/// A sender of push messages.
#[derive(Debug)]
pub struct WebPush {
    http: HttpClient,
    subject: String,
    allow_private: bool,
    first_pause: Duration,
}

/// The reason why a push message was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The browser has no subscription any more, and gets no further messages.
    #[error("the subscription has ended")]
    Gone,
    /// The message was not accepted.
    #[error(transparent)]
    Failed(#[from] ToolError),
}

impl WebPush {
    /// Creates a sender with a client for [webhooks](super::WebhookChannel::http_policy). `subject` is a `mailto:` or
    /// `https:` URL by which push services contact the operator. Endpoints at private addresses are allowed if
    /// `allow_private` is true.
    pub fn new(http: HttpClient, subject: impl Into<String>, allow_private: bool) -> Self {
        Self { http, subject: subject.into(), allow_private, first_pause: FIRST_PAUSE }
    }

    /// Sets the pause before the second attempt. The default is [`FIRST_PAUSE`].
    pub fn with_first_pause(mut self, pause: Duration) -> Self {
        self.first_pause = pause;
        self
    }

    /// Checks that messages may be sent to an endpoint, which a browser names.
    ///
    /// # Errors
    ///
    /// Returns the reason why they may not.
    pub fn check_endpoint(&self, endpoint: &Url) -> Result<(), String> {
        let is_local = self.allow_private && endpoint.scheme() == "http" && names_private_address(endpoint);
        if endpoint.scheme() != "https" && !is_local {
            return Err("the endpoint of a push service begins with https://".to_owned());
        }
        if !endpoint.username().is_empty() || endpoint.password().is_some() {
            return Err("the endpoint of a push service has no user and no password".to_owned());
        }
        self.http.check_url(endpoint).map_err(|error| error.to_string())
    }

    /// Sends a text of at most 2 KiB, which the push service cannot read, with retries. The service keeps it for
    /// `lifetime`. `channel` is the name in errors.
    ///
    /// # Errors
    ///
    /// Returns an error if the push service does not accept the message.
    pub async fn send(
        &self,
        channel: &str,
        key: &VapidKey,
        subscription: &PushSubscription,
        (text, lifetime): (&str, Duration),
    ) -> Result<(), PushError> {
        let refused = |reason: String| {
            let message = format!("the channel `{channel}` cannot send a push message: {reason}");
            PushError::Failed(ToolError::new(ErrorKind::ToolFailed, message))
        };
        // The rules may have changed since the browser subscribed.
        self.check_endpoint(&subscription.endpoint).map_err(refused)?;
        let body = subscription
            .public_key()
            .zip(subscription.secret())
            .and_then(|(public_key, auth)| encryption::encrypt(text.as_bytes(), &public_key, &auth));
        let body = body.ok_or_else(|| refused("it cannot be encrypted for the browser".to_owned()))?;
        let is_gone = AtomicBool::new(false);
        let attempt = |_| self.attempt(key, subscription, &body, lifetime, &is_gone);
        match deliver(channel, self.first_pause, attempt).await {
            Err(_) if is_gone.load(Ordering::Relaxed) => Err(PushError::Gone),
            delivered => Ok(delivered?),
        }
    }

    async fn attempt(
        &self,
        key: &VapidKey,
        subscription: &PushSubscription,
        body: &[u8],
        lifetime: Duration,
        is_gone: &AtomicBool,
    ) -> Attempt {
        let Some(headers) = self.headers(key, &subscription.endpoint, lifetime) else {
            return Attempt::Refused("the request cannot be signed".to_owned());
        };
        let request = Request::new(Method::POST, subscription.endpoint.clone());
        match self.http.send(request.with_headers(headers).with_body(body.to_vec())).await {
            Ok(response) => {
                let has_ended = matches!(response.status, StatusCode::NOT_FOUND | StatusCode::GONE);
                is_gone.store(has_ended, Ordering::Relaxed);
                classify(&response)
            }
            Err(error) => classify_error(&error),
        }
    }

    fn headers(&self, key: &VapidKey, endpoint: &Url, lifetime: Duration) -> Option<HeaderMap> {
        let mut authorization = HeaderValue::try_from(key.authorization(endpoint, &self.subject)?).ok()?;
        authorization.set_sensitive(true);
        Some(HeaderMap::from_iter([
            (AUTHORIZATION, authorization),
            (CONTENT_ENCODING, HeaderValue::from_static("aes128gcm")),
            (CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
            (TTL, HeaderValue::from(lifetime.as_secs())),
            (URGENCY, HeaderValue::from_static("high")),
        ]))
    }
}

//! A hook that is a webhook.

use std::time::{SystemTime, UNIX_EPOCH};

use http::Method;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use toolcrib_io::Error;
use toolcrib_io::http::{HttpClient, Request, WebhookKey};
use toolcrib_model::random::{hex, random_bytes};
use toolcrib_model::text::clean_text;
use url::Url;

use crate::MAX_ANSWER_BYTES;
use crate::cycle::CHAIN_HEADER;
use crate::error::Failure;

/// The number of random bytes in the id of a request.
const ID_BYTES: usize = 16;

/// The maximum number of characters of a body that an error shows.
const MAX_SHOWN_CHARS: usize = 200;

/// The receiver of a hook's requests.
#[derive(Debug)]
pub(crate) struct Webhook {
    pub(crate) http: HttpClient,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) key: Option<WebhookKey>,
}

impl Webhook {
    /// Posts a message and returns the body of the response.
    ///
    /// # Errors
    ///
    /// Returns the reason if there is no response of status 2xx, or if its body is too long. It omits the URL, whose path
    /// often holds a key.
    pub(crate) async fn ask(&self, message: Vec<u8>, chain: &str) -> Result<Vec<u8>, Failure> {
        let message = String::from_utf8(message).map_err(|error| error.to_string())?;
        let mut headers = self.headers.clone();
        headers.extend(self.signed(&message)?);
        let chain = HeaderValue::from_str(chain).map_err(|error| error.to_string())?;
        headers.insert(HeaderName::from_static(CHAIN_HEADER), chain);
        let request = Request::new(Method::POST, self.url.clone()).with_headers(headers).with_body(message);
        let response = self.http.send(request).await.map_err(|error| failure(&error))?;
        if !response.status.is_success() {
            let said = clean_text(&String::from_utf8_lossy(&response.body), MAX_SHOWN_CHARS);
            let status = response.status.as_u16();
            return Err(Failure::with_returned(format!("its server answered with status {status}"), said));
        }
        if response.truncated {
            return Err(format!("its server answered with more than {MAX_ANSWER_BYTES} bytes").into());
        }
        Ok(response.body.to_vec())
    }

    fn signed(&self, message: &str) -> Result<HeaderMap, String> {
        let plain = || HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        let Some(key) = &self.key else { return Ok(plain()) };
        let id = random_bytes::<ID_BYTES>().map_err(|error| error.to_string())?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|error| error.to_string())?;
        let seconds = i64::try_from(now.as_secs()).map_err(|error| error.to_string())?;
        Ok(key.headers(&format!("hook_{}", hex(&id)), seconds, message).unwrap_or_else(plain))
    }
}

fn failure(error: &Error) -> String {
    match error {
        Error::ConnectFailed { reason, .. } | Error::RequestFailed { reason, .. } => {
            format!("its server was not reached: {reason}")
        }
        Error::RequestTimedOut { timeout, .. } => format!("its server did not answer within {timeout:?}"),
        other => other.to_string(),
    }
}

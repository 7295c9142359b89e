//! One request to a server and its answer, within bounds.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use toolcrib_io::http::{causes, display_url};
use url::Url;

use super::Endpoint;
use super::error_response::refusal;
use super::events::Events;
use crate::Error;

/// The longest answer that is read, in bytes as they come from the server: each word of a streamed reply comes with
/// some hundred bytes of packing.
pub(super) const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// The maximum size of an error's body, in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The time to wait for the body of an error response; at most a quarter of the timeout of a response.
const MAX_ERROR_WAIT: Duration = Duration::from_secs(5);

/// A request to the server.
pub(super) struct Exchange<'a> {
    pub(super) endpoint: &'a Endpoint,
    /// The address of the request, as it may be shown.
    pub(super) shown: String,
    url: Url,
    /// True if the reply is asked for in pieces.
    is_streamed: bool,
}

/// The answer of a server with a status of success.
pub(super) enum ServerAnswer<'a> {
    /// As a whole.
    Whole(Bytes),
    /// In pieces.
    Events(Box<EventStream<'a>>),
}

/// An answer in pieces.
pub(super) struct EventStream<'a> {
    exchange: &'a Exchange<'a>,
    response: reqwest::Response,
    received: usize,
    events: Events,
    is_over: bool,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(endpoint: &'a Endpoint, url: Url, is_streamed: bool) -> Self {
        Self { endpoint, shown: display_url(&url), url, is_streamed }
    }

    /// Sends the request, and returns the answer: in pieces if it was asked for so and is not JSON as a whole.
    pub(super) async fn send(&'a self, body: Bytes) -> Result<ServerAnswer<'a>, Error> {
        let endpoint = self.endpoint;
        let wait = if self.is_streamed { endpoint.idle_timeout } else { endpoint.reply_timeout };
        self.within(wait, async {
            let mut request = endpoint.client.post(self.url.clone()).headers(endpoint.headers().await?);
            request = request.header(CONTENT_TYPE, HeaderValue::from_static("application/json")).body(body);
            let response = request.send().await.map_err(|error| self.unreachable(error))?;
            let status = response.status();
            let headers = response.headers().clone();
            if !status.is_success() {
                let body = beginning(response, wait).await;
                return Err(refusal((endpoint, self.shown.clone()), status, &headers, &body));
            }
            if let Some(coding) = headers.get(CONTENT_ENCODING).filter(|coding| *coding != "identity") {
                let reason = format!("its content encoding is {coding:?}, which was not requested");
                return Err(self.not_a_reply(&reason));
            }
            if self.is_streamed && is_of_type(&headers, b"text/html") {
                let page = beginning(response, wait).await;
                return Err(self.not_a_reply(&format!("a web page: {}", String::from_utf8_lossy(&page))));
            }
            if self.is_streamed && !is_of_type(&headers, b"application/json") {
                let (exchange, events) = (self, Events::default());
                let stream = EventStream { exchange, response, received: 0, events, is_over: false };
                return Ok(ServerAnswer::Events(Box::new(stream)));
            }
            match read(response, MAX_ANSWER_BYTES, &self.shown).await? {
                (body, false) => Ok(ServerAnswer::Whole(body)),
                (_, true) => Err(self.too_large(MAX_ANSWER_BYTES)),
            }
        })
        .await
    }

    async fn within<T>(
        &self,
        time: Duration,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        match tokio::time::timeout(time, work).await {
            Ok(result) => result,
            Err(_) => Err(Error::TimedOut { url: self.shown.clone(), waited: time }),
        }
    }

    fn unreachable(&self, error: reqwest::Error) -> Error {
        if error.is_connect() {
            Error::Unreachable { url: self.shown.clone(), reason: causes(&error.without_url()) }
        } else {
            interrupted(&self.shown, error)
        }
    }

    pub(super) fn not_a_reply(&self, reason: &str) -> Error {
        Error::NotAReply { url: self.shown.clone(), reason: self.endpoint.clean(reason) }
    }

    fn too_large(&self, limit: usize) -> Error {
        Error::TooLarge { url: self.shown.clone(), limit, unit: "bytes" }
    }
}

impl EventStream<'_> {
    /// Returns the data of the next event, and whether it was complete; `None` at the end of the stream.
    ///
    /// # Errors
    ///
    /// The answer is too long, falls silent or breaks off.
    pub(super) async fn next(&mut self) -> Result<Option<(Bytes, bool)>, Error> {
        let exchange = self.exchange;
        loop {
            if let Some(event) = self.events.next() {
                return Ok(Some((event, true)));
            }
            if self.is_over {
                return Ok(self.events.rest().map(|rest| (rest, false)));
            }
            let chunk = exchange.within(exchange.endpoint.idle_timeout, async {
                self.response.chunk().await.map_err(|error| interrupted(&exchange.shown, error))
            });
            let Some(bytes) = chunk.await? else {
                self.is_over = true;
                continue;
            };
            self.received = self.received.saturating_add(bytes.len());
            if self.received > MAX_ANSWER_BYTES {
                return Err(exchange.too_large(MAX_ANSWER_BYTES));
            }
            self.events.push(&bytes).map_err(|limit| exchange.too_large(limit))?;
        }
    }
}

fn is_of_type(headers: &HeaderMap, media_type: &[u8]) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(media_type))
}

/// Returns the beginning of an error's body, or what arrives of it within the time.
async fn beginning(mut response: reqwest::Response, wait: Duration) -> Bytes {
    let mut body = BytesMut::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await
            && body.len() < MAX_ERROR_BYTES
        {
            body.extend_from_slice(&chunk);
        }
    };
    // What has come by then is enough.
    let _late = tokio::time::timeout((wait / 4).min(MAX_ERROR_WAIT), reading).await;
    body.truncate(MAX_ERROR_BYTES);
    body.freeze()
}

/// Reads up to `limit` bytes, and says whether there are more.
pub(super) async fn read(
    mut response: reqwest::Response,
    limit: usize,
    url: &str,
) -> Result<(Bytes, bool), Error> {
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| interrupted(url, error))? {
        let room = limit - body.len();
        body.extend_from_slice(chunk.get(..chunk.len().min(room)).unwrap_or_default());
        if chunk.len() > room {
            return Ok((body.freeze(), true));
        }
    }
    Ok((body.freeze(), false))
}

fn interrupted(url: &str, error: reqwest::Error) -> Error {
    Error::Interrupted { url: url.to_owned(), reason: causes(&error.without_url()) }
}

//! One attempt of a request: within bounds, with this crate's errors.
//!
//! It is the service below `async-openai`, in place of the default one, which retries and reads without a limit.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt as _, stream};
use http::HeaderMap;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use parking_lot::Mutex;
use toolcrib_io::http::causes;
use tower_service::Service;

use super::Endpoint;
use super::error_response::{clean, refusal};
use super::lines::Lines;
use crate::Error;

/// The longest answer that is read, in bytes as they come from the server: each word of a streamed reply comes with
/// some hundred bytes of packing.
pub(super) const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// The maximum size of an error's body, in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The time to wait for the body of an error response; at most a quarter of the timeout of a response.
const MAX_ERROR_WAIT: Duration = Duration::from_secs(5);

/// The mark of the end of a stream. Line ends may follow it.
const END_MARK: &[u8] = b"[DONE]";
const TAIL_BYTES: usize = 32;

/// The outcome of a stream. Errors lose their type in `async-openai`; here they keep it.
#[derive(Debug, Default)]
pub(super) struct StreamOutcome {
    /// True once the server has sent the mark of the end.
    pub(super) is_marked: AtomicBool,
    /// The error, until it is taken.
    error: Mutex<Option<Error>>,
}

impl StreamOutcome {
    fn fail(&self, error: Error) {
        *self.error.lock() = Some(error);
    }

    /// Takes the error. Later calls return `None`.
    pub(super) fn take_error(&self) -> Option<Error> {
        self.error.lock().take()
    }
}

/// The service for one request.
#[derive(Clone)]
pub(super) struct Transport {
    pub(super) endpoint: Arc<Endpoint>,
    /// True if the reply is asked for in pieces.
    pub(super) is_streamed: bool,
    pub(super) outcome: Arc<StreamOutcome>,
}

impl Service<HttpRequestFactory> for Transport {
    type Response = reqwest::Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, OpenAIError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let transport = self.clone();
        Box::pin(async move {
            let request = factory.build().await?;
            transport.send(request).await.map_err(|error| OpenAIError::Boxed(Box::new(error)))
        })
    }
}

impl Transport {
    async fn send(self, mut request: reqwest::Request) -> Result<reqwest::Response, Error> {
        let (endpoint, is_streamed) = (Arc::clone(&self.endpoint), self.is_streamed);
        // The library always writes one, even without a key.
        request.headers_mut().remove(AUTHORIZATION);
        if let Some(authorization) = &endpoint.authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        let wait = if is_streamed { endpoint.idle_timeout } else { endpoint.reply_timeout };
        within(wait, &endpoint.url, async {
            let response =
                endpoint.client.execute(request).await.map_err(|error| unreachable(&endpoint.url, error))?;
            let status = response.status();
            let headers = response.headers().clone();
            if !status.is_success() {
                let body = beginning(response, wait).await;
                return Err(refusal(&endpoint, status, &headers, &body));
            }
            if let Some(coding) = headers.get(CONTENT_ENCODING).filter(|coding| *coding != "identity") {
                let reason = format!("its content encoding is {coding:?}, which was not requested");
                return Err(Error::NotAReply { url: endpoint.url.clone(), reason });
            }
            if is_streamed && is_of_type(&headers, b"text/html") {
                let page = beginning(response, wait).await;
                let reason = format!("a web page: {}", clean(&endpoint, &String::from_utf8_lossy(&page)));
                return Err(Error::NotAReply { url: endpoint.url.clone(), reason });
            }
            let is_json = is_of_type(&headers, b"application/json");
            let body = if !is_streamed {
                reqwest::Body::from(self.read_whole(response).await?)
            } else if is_json {
                // The server does not stream: its whole answer is made the only event.
                reqwest::Body::from(only_event(&self.read_whole(response).await?, &self.outcome))
            } else {
                reqwest::Body::wrap_stream(watched(response, Arc::clone(&endpoint), self.outcome))
            };
            let mut response = http::Response::new(body);
            *response.status_mut() = status;
            Ok(response.into())
        })
        .await
    }

    async fn read_whole(&self, response: reqwest::Response) -> Result<Bytes, Error> {
        match read(response, MAX_ANSWER_BYTES, &self.endpoint.url).await? {
            (body, false) => Ok(body),
            (_, true) => Err(too_large(&self.endpoint.url, MAX_ANSWER_BYTES)),
        }
    }
}

fn is_of_type(headers: &HeaderMap, media_type: &[u8]) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(media_type))
}

/// A stream that records its outcome while it is read.
struct Watched {
    body: futures::stream::BoxStream<'static, reqwest::Result<Bytes>>,
    received: usize,
    tail: Vec<u8>,
    lines: Lines,
    is_over: bool,
}

/// Returns the body in whole lines, until it is too long, falls silent or breaks off.
fn watched(
    response: reqwest::Response,
    endpoint: Arc<Endpoint>,
    outcome: Arc<StreamOutcome>,
) -> impl Stream<Item = Result<Bytes, &'static str>> + Send + 'static {
    let body = response.bytes_stream().boxed();
    let state = Watched { body, received: 0, tail: Vec::new(), lines: Lines::default(), is_over: false };
    stream::unfold(Some(state), move |state| {
        let (endpoint, outcome) = (Arc::clone(&endpoint), Arc::clone(&outcome));
        async move {
            let mut state = state?;
            let url = &endpoint.url;
            let error = loop {
                if let Some(lines) = state.lines.next() {
                    return Some((Ok(lines), Some(state)));
                }
                if state.is_over {
                    let rest = state.lines.rest();
                    return (!rest.is_empty()).then_some((Ok(rest), None));
                }
                match within(endpoint.idle_timeout, url, async { Ok(state.body.next().await) }).await {
                    Ok(None) => state.is_over = true,
                    Ok(Some(Ok(bytes))) => {
                        state.received = state.received.saturating_add(bytes.len());
                        if state.received > MAX_ANSWER_BYTES {
                            break too_large(url, MAX_ANSWER_BYTES);
                        }
                        keep_tail(&mut state.tail, &bytes);
                        if state.tail.trim_ascii_end().ends_with(END_MARK) {
                            outcome.is_marked.store(true, Ordering::Relaxed);
                        }
                        if let Err(limit) = state.lines.push(&bytes) {
                            break too_large(url, limit);
                        }
                    }
                    Ok(Some(Err(error))) => break interrupted(url, error),
                    Err(error) => break error,
                }
            };
            outcome.fail(error);
            Some((Err("see the outcome"), None))
        }
    })
}

fn keep_tail(tail: &mut Vec<u8>, bytes: &[u8]) {
    tail.extend_from_slice(bytes.get(bytes.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default());
    tail.drain(..tail.len().saturating_sub(TAIL_BYTES));
}

/// Returns a JSON document as the one event of a stream. Line ends in it are white space and nothing else.
fn only_event(json: &[u8], outcome: &StreamOutcome) -> Vec<u8> {
    outcome.is_marked.store(true, Ordering::Relaxed);
    let mut event = b"data: ".to_vec();
    event.extend(json.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
    event.extend_from_slice(b"\n\n");
    event
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

async fn within<T>(
    time: Duration,
    url: &str,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout(time, work).await {
        Ok(result) => result,
        Err(_) => Err(Error::TimedOut { url: url.to_owned(), waited: time }),
    }
}

fn unreachable(url: &str, error: reqwest::Error) -> Error {
    if error.is_connect() {
        Error::Unreachable { url: url.to_owned(), reason: causes(&error.without_url()) }
    } else {
        interrupted(url, error)
    }
}

fn interrupted(url: &str, error: reqwest::Error) -> Error {
    Error::Interrupted { url: url.to_owned(), reason: causes(&error.without_url()) }
}

fn too_large(url: &str, limit: usize) -> Error {
    Error::TooLarge { url: url.to_owned(), limit, unit: "bytes" }
}

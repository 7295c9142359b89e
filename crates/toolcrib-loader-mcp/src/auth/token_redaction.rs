//! Removal of tokens from responses: some servers repeat the token of the request.
//!
//! It is removed before any other code sees the response: responses are stored on disk, and the redaction of an app may
//! not know this token yet.

use futures::StreamExt as _;
use futures::stream::BoxStream;
use rmcp::transport::streamable_http_client::{SseError, StreamableHttpError, StreamableHttpPostResponse};
use sse_stream::Sse;
use toolcrib_model::Secret;

/// The replacement for a token.
const MASK: &str = "[secret]";

/// The shortest token to remove. Shorter texts occur in responses by chance.
const MIN_ECHO_BYTES: usize = 8;

/// The events of a stream.
pub(super) type EventStream = BoxStream<'static, Result<Sse, SseError>>;

/// A response of rmcp that may repeat a token.
pub(super) trait RedactToken: Sized {
    /// Returns the response without the token; `None` if that is impossible.
    fn without_token(self, token: &Secret) -> Option<Self>;
}

impl RedactToken for () {
    fn without_token(self, _token: &Secret) -> Option<Self> {
        Some(())
    }
}

impl RedactToken for EventStream {
    fn without_token(self, token: &Secret) -> Option<Self> {
        if !is_long(token) {
            return Some(self);
        }
        let token = token.clone();
        let redact = self.map(move |event| {
            let mut event = event?;
            if let Some(data) = event.data.as_mut().filter(|data| data.contains(token.expose())) {
                *data = data.replace(token.expose(), MASK);
            }
            Ok(event)
        });
        Some(redact.boxed())
    }
}

impl RedactToken for StreamableHttpPostResponse {
    fn without_token(self, token: &Secret) -> Option<Self> {
        match self {
            Self::Json(message, session) if is_long(token) => {
                let text = serde_json::to_string(&message).ok()?;
                if !text.contains(token.expose()) {
                    return Some(Self::Json(message, session));
                }
                let message = serde_json::from_str(&text.replace(token.expose(), MASK)).ok()?;
                Some(Self::Json(message, session))
            }
            Self::Sse(events, session) => Some(Self::Sse(events.without_token(token)?, session)),
            other => Some(other),
        }
    }
}

fn is_long(token: &Secret) -> bool {
    token.expose().len() >= MIN_ECHO_BYTES
}

/// Removes the token from the response to a request that was sent with it.
pub(super) fn redact<T: RedactToken, E: std::error::Error + Send + Sync + 'static>(
    outcome: Result<T, StreamableHttpError<E>>,
    token: Option<&Secret>,
) -> Result<T, StreamableHttpError<E>> {
    let Some(token) = token else { return outcome };
    match outcome {
        Ok(answer) => answer.without_token(token).ok_or_else(|| {
            StreamableHttpError::UnexpectedServerResponse("it repeats the token of its request".into())
        }),
        Err(StreamableHttpError::UnexpectedServerResponse(text)) if text.contains(token.expose()) => {
            Err(StreamableHttpError::UnexpectedServerResponse(text.replace(token.expose(), MASK).into()))
        }
        failed => failed,
    }
}

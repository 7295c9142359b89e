//! Answers without the token of their request, which some servers send back.
//!
//! It is taken out before anything else sees it: answers are kept on disk, and whoever knows the secrets of an app may
//! not know this one yet.

use futures::StreamExt as _;
use futures::stream::BoxStream;
use rmcp::transport::streamable_http_client::{SseError, StreamableHttpError, StreamableHttpPostResponse};
use sse_stream::Sse;
use toolcrib_model::Secret;

/// What stands in the place of a token.
const MASK: &str = "[secret]";

/// Shorter texts stand in answers by chance.
const MIN_ECHO_BYTES: usize = 8;

/// The events of a stream.
pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// An answer of rmcp that may repeat a token.
pub(super) trait Echo: Sized {
    /// The same without it; nothing when there is no saying it without.
    fn without(self, token: &Secret) -> Option<Self>;
}

impl Echo for () {
    fn without(self, _token: &Secret) -> Option<Self> {
        Some(())
    }
}

impl Echo for Events {
    fn without(self, token: &Secret) -> Option<Self> {
        if !is_long(token) {
            return Some(self);
        }
        let token = token.clone();
        let masked = self.map(move |event| {
            let mut event = event?;
            if let Some(data) = event.data.as_mut().filter(|data| data.contains(token.expose())) {
                *data = data.replace(token.expose(), MASK);
            }
            Ok(event)
        });
        Some(masked.boxed())
    }
}

impl Echo for StreamableHttpPostResponse {
    fn without(self, token: &Secret) -> Option<Self> {
        match self {
            Self::Json(message, session) if is_long(token) => {
                let text = serde_json::to_string(&message).ok()?;
                if !text.contains(token.expose()) {
                    return Some(Self::Json(message, session));
                }
                let message = serde_json::from_str(&text.replace(token.expose(), MASK)).ok()?;
                Some(Self::Json(message, session))
            }
            Self::Sse(events, session) => Some(Self::Sse(events.without(token)?, session)),
            other => Some(other),
        }
    }
}

fn is_long(token: &Secret) -> bool {
    token.expose().len() >= MIN_ECHO_BYTES
}

/// The answer to a request that was sent with this token.
pub(super) fn masked<T: Echo, E: std::error::Error + Send + Sync + 'static>(
    outcome: Result<T, StreamableHttpError<E>>,
    token: Option<&Secret>,
) -> Result<T, StreamableHttpError<E>> {
    let Some(token) = token else { return outcome };
    match outcome {
        Ok(answer) => answer.without(token).ok_or_else(|| {
            StreamableHttpError::UnexpectedServerResponse("it repeats the token of its request".into())
        }),
        Err(StreamableHttpError::UnexpectedServerResponse(text)) if text.contains(token.expose()) => {
            Err(StreamableHttpError::UnexpectedServerResponse(text.replace(token.expose(), MASK).into()))
        }
        failed => failed,
    }
}

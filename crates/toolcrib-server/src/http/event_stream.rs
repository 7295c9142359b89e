//! Event streams that end with an error if the server shuts down before they carry the answer to their request.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::reply;

/// The event stream of one request. If the server shuts down before the stream carries the answer, its last event is an
/// error.
pub(super) struct AnsweredStream {
    body: Body,
    /// The id of the request.
    id: Value,
    closing: CancellationToken,
    is_answered: bool,
    has_ended: bool,
}

impl AnsweredStream {
    /// Wraps the body of a response in which each frame is one event, as in those of rmcp.
    pub(super) fn body(body: Body, id: Value, closing: CancellationToken) -> Body {
        Body::new(Self { body, id, closing, is_answered: false, has_ended: false })
    }
}

impl HttpBody for AnsweredStream {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) if !self.is_answered => {
                self.is_answered = frame.data_ref().is_some_and(|event| is_answer(event, &self.id));
            }
            Poll::Ready(None) => {
                self.has_ended = true;
                if !self.is_answered && self.closing.is_cancelled() {
                    let event = format!("data: {}\n\n", reply::shut_down(&self.id));
                    return Poll::Ready(Some(Ok(Frame::data(event.into()))));
                }
            }
            _ => {}
        }
        polled
    }
}

/// Returns true if an event is the response to the request with this id.
fn is_answer(event: &[u8], id: &Value) -> bool {
    #[derive(Deserialize)]
    struct Message {
        id: Option<Value>,
        method: Option<IgnoredAny>,
    }
    let messages = event.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:"));
    messages
        .filter_map(|data| serde_json::from_slice::<Message>(data).ok())
        .any(|message| message.method.is_none() && message.id.as_ref() == Some(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_response_with_the_id_of_the_request_is_its_answer() {
        let id = Value::from(7);
        for (event, expected) in [
            ("id: 0/1\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"method\":\"x\"}}\n\n", true),
            ("data: {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,\"message\":\"x\"}}\n\n", true),
            ("data: {\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}\n\n", false),
            (
                "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"elicitation/create\",\"params\":{}}\n\n",
                false,
            ),
            (
                "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"id\":7}}\n\n",
                false,
            ),
            ("id: 0/0\nretry: 3000\ndata: \n\n", false),
            (":\n\n", false),
        ] {
            assert_eq!(is_answer(event.as_bytes(), &id), expected, "{event}");
        }
    }
}

//! The body of a request, whole, and what is held as long as that of an answer is sent.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::time::timeout;

/// Why a body is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    TooLarge,
    TooSlow,
    Broken,
}

/// Reads a body within bounds of size and time. What it says of its own size is believed where it is too large.
pub(super) async fn read(mut body: Body, max_bytes: usize, patience: Duration) -> Result<Bytes, Unread> {
    let announced = body.size_hint().lower();
    if usize::try_from(announced).unwrap_or(usize::MAX) > max_bytes {
        return Err(Unread::TooLarge);
    }
    let reading = async {
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else { continue };
            if bytes.len() + data.len() > max_bytes {
                return Err(Unread::TooLarge);
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes.freeze())
    };
    timeout(patience, reading).await.unwrap_or(Err(Unread::TooSlow))
}

/// A body of an answer with what is let go when it was sent, or is no longer wanted.
pub(super) struct Held<T> {
    body: Body,
    held: Option<T>,
}

impl<T: Send + Unpin + 'static> Held<T> {
    pub(super) fn body(body: Body, held: T) -> Body {
        Body::new(Self { body, held: Some(held) })
    }
}

impl<T: Unpin> HttpBody for Held<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) {
            self.held = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

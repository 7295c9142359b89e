//! Request bodies, which are read whole, and response bodies that hold resources until they are sent.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::budget::{AnswerBudget, BodyBudget, BodyShare};

/// The reason why a body cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    TooLarge,
    TooSlow,
    Broken,
    /// The bodies of other requests use all the memory.
    NoRoom,
}

/// Reads a body within limits of size and time, and within the memory that remains for all bodies. Rejects a body at
/// once if its declared size is too large. The share is held while the bytes are needed.
pub(super) async fn read(
    mut body: Body,
    max_bytes: usize,
    patience: Duration,
    budget: &BodyBudget,
) -> Result<(Bytes, BodyShare), Unread> {
    let announced = body.size_hint().lower();
    if usize::try_from(announced).unwrap_or(usize::MAX) > max_bytes {
        return Err(Unread::TooLarge);
    }
    let mut share = budget.share();
    let reading = async {
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else { continue };
            let length = bytes.len() + data.len();
            if length > max_bytes {
                return Err(Unread::TooLarge);
            }
            if !share.grow_to(length) {
                return Err(Unread::NoRoom);
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes.freeze())
    };
    let bytes = timeout(patience, reading).await.unwrap_or(Err(Unread::TooSlow))?;
    Ok((bytes, share))
}

/// A response body whose chunks count as unread until they are written.
pub(super) struct Counted {
    body: Body,
    budget: Arc<AnswerBudget>,
    /// Closes the connection when cancelled.
    connection: CancellationToken,
}

impl Counted {
    pub(super) fn new(body: Body, budget: &Arc<AnswerBudget>, connection: &CancellationToken) -> Self {
        Self { body, budget: Arc::clone(budget), connection: connection.clone() }
    }
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        polled.map_ok(|frame| frame.map_data(|data| self.budget.counted(data, &self.connection)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A response body that holds a value until it was sent or dropped.
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

//! Request bodies, which are read whole, and response bodies that hold resources until they are sent.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::memory_budget::{AnswerBudget, BodyBudget, BodyShare};

/// The reason why a body cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
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
) -> Result<(Bytes, BodyShare), BodyError> {
    let announced = body.size_hint().lower();
    if usize::try_from(announced).unwrap_or(usize::MAX) > max_bytes {
        return Err(BodyError::TooLarge);
    }
    let mut share = budget.share();
    let reading = async {
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
            let length = bytes.len() + data.len();
            if length > max_bytes {
                return Err(BodyError::TooLarge);
            }
            if !share.grow_to(length) {
                return Err(BodyError::NoRoom);
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes.freeze())
    };
    let bytes = timeout(patience, reading).await.unwrap_or(Err(BodyError::TooSlow))?;
    Ok((bytes, share))
}

/// Returns a response body whose chunks count as unread until they are written. Cancels the token of the connection if
/// the memory does not suffice.
pub(super) fn counted(body: Body, budget: &Arc<AnswerBudget>, connection: &CancellationToken) -> Body {
    let (budget, connection) = (Arc::clone(budget), connection.clone());
    Body::new(body.map_frame(move |frame| frame.map_data(|data| budget.counted(data, &connection))))
}

/// Returns a response body that holds a value until it is dropped, which is when it was sent or its client has
/// disconnected.
pub(super) fn holding<T: Send + 'static>(body: Body, held: T) -> Body {
    // The closure names the value in order to own it.
    Body::new(body.map_frame(move |frame| (&held, frame).1))
}

//! Out-of-band notifications for a model.

use async_trait::async_trait;
use toolcrib_port::CallContext;

/// The number of notifications that a model reads with one turn. Others follow with the next turn.
pub(crate) const MAX_NOTES: usize = 10;

/// One notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The id of the notification in its queue.
    pub id: String,
    /// The text for the model.
    pub text: String,
}

/// A queue of out-of-band events that are delivered to the model with the next turn.
#[async_trait]
pub trait NotificationQueue: Send + Sync {
    /// Returns the pending notes for the session and the agent of this context, the oldest first, at most `most`. They stay
    /// pending until they are [acknowledged](Self::acknowledge).
    async fn pending(&self, context: &CallContext, most: usize) -> Vec<Note>;

    /// Acknowledges notifications, which are now part of the conversation and of its journal.
    async fn acknowledge(&self, context: &CallContext, notes: Vec<Note>);
}

//! What happened beside a conversation.

use async_trait::async_trait;
use toolcrib_port::CallContext;

/// The most notes that a model is told with one turn. What else waits is told with the next.
pub const MAX_NOTES: usize = 10;

/// Something that happened while the model was not looking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// By which it is known to the inbox.
    pub id: String,
    /// What the model is told.
    pub text: String,
}

/// Where what happened beside a conversation waits until the model is told, which it is with the next turn.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// What waits for the session and the agent of this context, the oldest first, at most so many. It goes on waiting until it
    /// [was told](Self::told).
    async fn waiting(&self, context: &CallContext, most: usize) -> Vec<Note>;

    /// These have become part of the conversation, and of what is kept of it.
    async fn told(&self, context: &CallContext, notes: Vec<Note>);
}

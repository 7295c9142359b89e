//! Where notifications go besides the conversation.

use async_trait::async_trait;
use jiff::Timestamp;
use toolcrib_model::ToolError;
use toolcrib_port::CallContext;

/// Something that is told outside of the conversation.
#[non_exhaustive]
pub struct Message<'a> {
    /// When it happened.
    pub at: Timestamp,
    /// What, as a person or a model reads it.
    pub text: &'a str,
    /// The run that it is about: the same when it is told again after a crash.
    pub run_key: Option<&'a str>,
    /// In whose name it is told.
    pub context: CallContext,
}

/// A way by which notifications leave.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Sends a message. It has left when this returns.
    async fn send(&self, message: &Message<'_>) -> Result<(), ToolError>;
}

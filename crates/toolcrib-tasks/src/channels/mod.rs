//! Where notifications go besides the conversation: the terminal, a file, a webhook, any tool.
//!
//! A [`Channel`] is added to [`Services`](crate::Services) under a name, and tasks say the name. What a channel is told has
//! left when it says so; what it could not send is an error of the task, and nothing is told twice but by a webhook, whose
//! receiver knows a second attempt by its id.

mod file;
mod send;
mod terminal;
mod tool;
mod webhook;

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use jiff::Timestamp;
use toolcrib_model::ToolError;
use toolcrib_port::CallContext;

pub use file::{DEFAULT_MAX_FILE_BYTES, FileChannel, MIN_FILE_BYTES};
pub use send::{SEND_MESSAGE, channel_tools};
pub use terminal::{Terminal, TerminalChannel};
pub use tool::{PLACES, ToolChannel};
pub use webhook::{
    ATTEMPT_TIME, DELIVERY_TIME, FIRST_PAUSE, MAX_ATTEMPTS, MAX_PAUSE, SIGNATURE_HEADER, WebhookChannel,
};

/// How long a message of a channel may be, in characters; what is longer is cut.
pub const MAX_MESSAGE_CHARS: usize = 8_000;

/// Something that is told outside of the conversation.
#[derive(Clone)]
#[non_exhaustive]
pub struct Message<'a> {
    /// The name of the channel.
    pub channel: &'a str,
    /// When it happened.
    pub at: Timestamp,
    /// What, as a person or a model reads it; at most [`MAX_MESSAGE_CHARS`].
    pub text: &'a str,
    /// The run that it is about: the same when it is told again after a crash.
    pub run_key: Option<&'a str>,
    /// In whose name it is told. The entrance is there as long as calls are taken.
    pub context: CallContext,
}

/// A way by which notifications leave.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Sends a message. It has left when this returns.
    async fn send(&self, message: &Message<'_>) -> Result<(), ToolError>;
}

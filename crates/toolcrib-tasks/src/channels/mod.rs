//! Channels, which deliver notifications outside of the conversation: the terminal, a file, a webhook or any tool.
//!
//! A [`Channel`] is added to [`Services`](crate::Services) under a name, by which tasks refer to it. A message is
//! delivered when [`Channel::send`] returns, and a failure is an error of the task. Only a webhook retries; its
//! receiver recognizes a repeated message by its id.

mod file;
mod mailer;
mod retry;
mod send_message;
mod terminal;
mod tool;
mod web_push;
mod webhook;

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use jiff::Timestamp;
use toolcrib_model::ToolError;
use toolcrib_port::CallContext;

pub use file::{DEFAULT_MAX_FILE_BYTES, FileChannel, MIN_FILE_BYTES};
pub use mailer::{Mail, Mailer, MailerError, check_address};
pub use retry::{DELIVERY_TIME, FIRST_PAUSE, MAX_ATTEMPTS};
pub use send_message::{SEND_MESSAGE, channel_tools};
pub use terminal::{Terminal, TerminalChannel};
pub use tool::ToolChannel;
pub use web_push::{MAX_ENDPOINT_BYTES, PushError, PushSubscription, SubscriptionError, VapidKey, WebPush};
pub use webhook::WebhookChannel;

/// The maximum length of a message in characters. Longer messages are truncated.
pub const MAX_MESSAGE_CHARS: usize = 8_000;

/// A message that leaves the conversation.
#[derive(Clone)]
#[non_exhaustive]
pub struct Message<'a> {
    /// The name of the channel.
    pub channel: &'a str,
    /// The time of the event.
    pub at: Timestamp,
    /// The text for a person or a model; at most [`MAX_MESSAGE_CHARS`].
    pub text: &'a str,
    /// The key of the run that it is about, which stays the same if the message is sent again after a crash.
    pub run_key: Option<&'a str>,
    /// The context of the sender. Its tool caller is absent once no more calls are accepted.
    pub context: CallContext,
}

/// A channel, which delivers messages outside of the conversation.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Sends a message. It is delivered when this returns.
    async fn send(&self, message: &Message<'_>) -> Result<(), ToolError>;
}

//! Retries with backoff, within bounds.

use std::time::Duration;

use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolError};

/// The maximum number of attempts to send a message.
pub const MAX_ATTEMPTS: u32 = 5;

/// The default pause before the second attempt. Each later pause is twice as long.
pub const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause, even if the server asks for a longer one.
pub(crate) const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The time limit of all attempts together.
pub const DELIVERY_TIME: Duration = Duration::from_mins(2);

/// The outcome of one attempt.
pub(crate) enum Attempt {
    /// The message was delivered.
    Delivered,
    /// The receiver rejected the message, and retries are useless.
    Refused(String),
    /// A retry may succeed, after the time that the server may have given.
    Failed { why: String, wait: Option<Duration> },
}

/// Retries until a message is delivered, is rejected, or the bounds are reached.
pub(crate) async fn deliver<F>(
    channel: &str,
    first_pause: Duration,
    mut attempt: impl FnMut(u32) -> F,
) -> Result<(), ToolError>
where
    F: Future<Output = Attempt>,
{
    let end = Instant::now() + DELIVERY_TIME;
    let mut pause = first_pause.min(MAX_PAUSE);
    let mut number = 1;
    loop {
        let why = match tokio::time::timeout_at(end, attempt(number)).await {
            Ok(Attempt::Delivered) => return Ok(()),
            Ok(Attempt::Refused(why)) => {
                let message = format!("the channel `{channel}` rejected the message: {why}");
                return Err(ToolError::new(ErrorKind::ToolFailed, message)
                    .with_hint("give up, or use another channel"));
            }
            Ok(Attempt::Failed { why, wait }) => {
                let wait = wait.unwrap_or(pause).max(pause).min(MAX_PAUSE);
                if number < MAX_ATTEMPTS && Instant::now() + wait < end {
                    tokio::time::sleep(wait).await;
                    pause = pause.saturating_mul(2).min(MAX_PAUSE);
                    number += 1;
                    continue;
                }
                why
            }
            Err(_) => format!("the time limit of {} s has passed", DELIVERY_TIME.as_secs()),
        };
        let message = format!("the channel `{channel}` was not reached in {number} attempts: {why}");
        return Err(ToolError::new(ErrorKind::Unavailable, message)
            .with_hint("it may have arrived anyway; its receiver recognizes it by its id"));
    }
}

//! The channel to the terminal of the person who runs the program.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_model::text::{is_invisible, is_joiner};
use toolcrib_model::{ErrorKind, ToolError};

use super::{Channel, Message};

/// A terminal on which a program shows lines to its user.
pub trait Terminal: Send + Sync {
    /// Shows one line, which contains no control characters. Implementations must not block.
    fn line(&self, line: &str);
}

/// A channel that shows each message as a line on a terminal.
#[derive(Clone, Default)]
pub struct TerminalChannel {
    terminal: Option<Arc<dyn Terminal>>,
}

impl TerminalChannel {
    /// Creates a channel to a terminal. Without a terminal, sending a message is an error.
    pub fn new(terminal: Option<Arc<dyn Terminal>>) -> Self {
        Self { terminal }
    }
}

#[async_trait]
impl Channel for TerminalChannel {
    async fn send(&self, message: &Message<'_>) -> Result<(), ToolError> {
        let Some(terminal) = &self.terminal else {
            let error = ToolError::new(ErrorKind::Unavailable, "this program has no terminal to show it on");
            return Err(error.with_hint("use another channel, or none").with_retryable(false));
        };
        terminal.line(&format!("[{}] {}", message.channel, one_line(message.text)));
        Ok(())
    }
}

/// Returns a text as one line without control characters.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !is_invisible(*c) || is_joiner(*c)).collect()
}

//! The terminal of whoever runs the program.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_model::{ErrorKind, ToolError, is_invisible, is_joiner};

use super::{Channel, Message};

/// Where a program shows lines to the person before it.
pub trait Terminal: Send + Sync {
    /// Shows one line, which holds no control character. It must not wait.
    fn line(&self, line: &str);
}

/// Shows messages on a terminal, each as a line.
#[derive(Clone, Default)]
pub struct TerminalChannel {
    terminal: Option<Arc<dyn Terminal>>,
}

impl TerminalChannel {
    /// A channel to this terminal. Without one, what is sent is an error: the program has nobody before it.
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

/// A text as one line without anything that a terminal would obey.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !is_invisible(*c) || is_joiner(*c)).collect()
}

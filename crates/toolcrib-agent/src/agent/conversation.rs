//! What has been said, from one prompt to the next.

use std::collections::HashSet;

use super::notes::append;
use crate::Message;

/// What has been said, without the system prompt. Each call in it has exactly one result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    messages: Vec<Message>,
}

impl Conversation {
    /// Nothing said yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub(super) fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// Adds a note to the last message, where that is not the model's own.
    pub(super) fn extend_last(&mut self, note: &str) -> bool {
        match self.messages.last_mut() {
            Some(Message::User { content } | Message::Tool { content, .. }) => {
                append(content, note);
                true
            }
            Some(Message::Assistant { .. }) | None => false,
        }
    }

    /// The ids of all calls.
    pub(super) fn call_ids(&self) -> HashSet<String> {
        let calls = self.messages.iter().filter_map(|message| match message {
            Message::Assistant { tool_calls, .. } => Some(tool_calls),
            _ => None,
        });
        calls.flatten().map(|call| call.id.clone()).collect()
    }
}

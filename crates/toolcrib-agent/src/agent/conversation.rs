//! What has been said, from one prompt to the next.

use std::collections::HashSet;

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

    /// The ids of all calls.
    pub(super) fn call_ids(&self) -> HashSet<String> {
        let calls = self.messages.iter().filter_map(|message| match message {
            Message::Assistant { tool_calls, .. } => Some(tool_calls),
            _ => None,
        });
        calls.flatten().map(|call| call.id.clone()).collect()
    }
}

//! A conversation across prompts.

use std::collections::HashSet;

use super::compaction::{message_size, size};
use super::conversation_repair::{Repairs, repaired};
use super::runtime_notes::append;
use crate::Message;
use crate::chat::EncodedPrefix;
use crate::journal::OpenRun;

/// The messages of a conversation, without the system prompt. Each call has exactly one result, except the last calls
/// of an interrupted run that [can be resumed](Self::is_open).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    messages: Vec<Message>,
    /// The size of the messages: it is asked at each turn, and most turns only add to it.
    bytes: usize,
    encoded: EncodedPrefix,
    open: Option<OpenRun>,
    repairs: Repairs,
}

impl Conversation {
    /// Creates an empty conversation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a conversation that was held elsewhere. A call without a result gets one that says so, a result without
    /// a call is dropped, and ids that are used twice are told apart; the model is told of what was dropped with the
    /// next prompt.
    pub fn from_messages(messages: Vec<Message>) -> Self {
        let (messages, repairs) = repaired(messages);
        Self { bytes: size(&messages), messages, encoded: EncodedPrefix::default(), open: None, repairs }
    }

    /// Returns the conversation of a session, and the run that is open in it.
    pub(crate) fn restored(mut messages: Vec<Message>, open: Option<OpenRun>) -> Self {
        // What is open is at the end, and is not repaired but gone on with.
        let is_open = open.as_ref().is_some_and(|open| !open.calls.is_empty());
        let last = if is_open { messages.pop() } else { None };
        let (mut messages, repairs) = repaired(messages);
        messages.extend(last);
        Self { bytes: size(&messages), messages, encoded: EncodedPrefix::default(), open, repairs }
    }

    /// Returns the messages, oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns true if the last run was interrupted, so that [`Agent::resume`](crate::Agent::resume) can continue it.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Answers calls that have no result because the future of their run was dropped. Those of a run that is open are
    /// left to it.
    pub(super) fn complete(&mut self) {
        if self.open.is_none() && self.lacks_results() {
            let (messages, repairs) = repaired(std::mem::take(&mut self.messages));
            self.replace(messages);
            self.repairs.dropped += repairs.dropped;
        }
    }

    /// Returns true if the last calls have fewer results than there are calls.
    fn lacks_results(&self) -> bool {
        let mut results = 0;
        for message in self.messages.iter().rev() {
            match message {
                Message::Tool { .. } => results += 1,
                Message::Assistant { tool_calls, .. } => return tool_calls.len() > results,
                _ => {}
            }
        }
        false
    }

    pub(super) fn take_open(&mut self) -> Option<OpenRun> {
        self.open.take()
    }

    pub(super) fn take_repairs(&mut self) -> Repairs {
        std::mem::take(&mut self.repairs)
    }

    pub(super) fn push(&mut self, message: Message) {
        self.bytes += message_size(&message);
        self.messages.push(message);
    }

    /// Puts others in the place of all.
    pub(super) fn replace(&mut self, messages: Vec<Message>) {
        self.bytes = size(&messages);
        self.encoded.forget_from(0);
        self.messages = messages;
    }

    /// Returns the messages as they were sent.
    pub(super) fn encoded(&self) -> &EncodedPrefix {
        &self.encoded
    }

    /// Returns the size of the messages, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Changes a message, if there is one at this position.
    pub(super) fn change(&mut self, position: usize, change: impl FnOnce(&mut Message)) {
        self.encoded.forget_from(position);
        if let Some(message) = self.messages.get_mut(position) {
            let before = message_size(message);
            change(message);
            self.bytes = self.bytes.saturating_sub(before) + message_size(message);
        }
    }

    /// Adds a note to the last message, where that is not the model's own.
    pub(super) fn extend_last(&mut self, text: &str) -> bool {
        self.encoded.forget_from(self.messages.len().saturating_sub(1));
        let before = self.messages.last().map_or(0, message_size);
        let is_extended = extend_last(&mut self.messages, text);
        self.bytes = self.bytes.saturating_sub(before) + self.messages.last().map_or(0, message_size);
        is_extended
    }

    /// Returns the ids of all calls.
    pub(super) fn call_ids(&self) -> HashSet<String> {
        let calls = self.messages.iter().filter_map(|message| match message {
            Message::Assistant { tool_calls, .. } => Some(tool_calls),
            _ => None,
        });
        calls.flatten().map(|call| call.id.clone()).collect()
    }
}

/// Appends a text to the last message. Returns `false` if the last message cannot be extended.
pub(crate) fn extend_last(messages: &mut [Message], text: &str) -> bool {
    match messages.last_mut() {
        Some(Message::User { content }) => append(content, text),
        Some(Message::Tool { note, .. }) if note.is_empty() => text.clone_into(note),
        Some(Message::Tool { note, .. }) => append(note, text),
        _ => return false,
    }
    true
}

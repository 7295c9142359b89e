//! Offloading of results: an excerpt stays in the conversation, with a handle to read the rest.

use std::fmt::Write as _;

use crate::Message;

/// The size of the excerpt that is left of a result, in bytes.
const LEFT_BYTES: usize = 300;

/// Shorter results stay as they are: their excerpt and handle would be as long.
const MIN_BYTES: usize = 1_000;

/// The mark at the end of each offloaded result.
const MARK: &str = "[Put aside to make room:";

/// The text in place of pictures.
const NO_PICTURES: &str = "[The pictures that stood here were taken out to make room.]";

/// A result to offload.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::agent) struct OffloadedResult {
    pub(in crate::agent) position: usize,
    /// The name of its tool.
    pub(in crate::agent) name: String,
    /// The whole text.
    pub(in crate::agent) text: String,
}

/// Returns the results before a message to offload so that the given number of bytes is freed, the oldest first.
pub(in crate::agent) fn results(messages: &[Message], before: usize, bytes: usize) -> Vec<OffloadedResult> {
    let (mut offloaded, mut freed) = (Vec::new(), 0);
    for (position, message) in messages.iter().enumerate().take(before) {
        let Message::Tool { name, content, .. } = message else { continue };
        if freed >= bytes {
            break;
        }
        if content.len() >= MIN_BYTES && !content.contains(MARK) {
            freed += content.len().saturating_sub(LEFT_BYTES);
            offloaded.push(OffloadedResult { position, name: name.clone(), text: content.clone() });
        }
    }
    offloaded
}

/// Returns the position of the first message of the last turn.
pub(in crate::agent) fn last_turn(messages: &[Message]) -> usize {
    messages
        .iter()
        .rposition(|message| matches!(message, Message::Assistant { .. }))
        .unwrap_or(messages.len())
}

/// Replaces a result by its excerpt. `hint` says how to read the rest if it is stored.
pub(in crate::agent) fn offload(message: &mut Message, hint: Option<&str>) {
    let Message::Tool { content, .. } = message else { return };
    let bytes = content.len();
    content.truncate(content.floor_char_boundary(LEFT_BYTES));
    let rest = hint.unwrap_or("the rest is not kept; call again if it is needed");
    // Writing to a string cannot fail.
    let _ = write!(content, "…\n{MARK} {bytes} bytes; {rest}]");
}

/// Removes the pictures before a message. Returns the number of messages that had pictures.
pub(in crate::agent) fn without_pictures(messages: &mut [Message], before: usize) -> usize {
    let seen = messages.iter_mut().take(before).filter(|message| matches!(message, Message::Pictures { .. }));
    seen.map(|message| *message = Message::user(NO_PICTURES)).count()
}

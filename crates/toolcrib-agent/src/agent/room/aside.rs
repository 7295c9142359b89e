//! Results that make room for their beginnings.

use std::fmt::Write as _;

use crate::Message;

/// How much of a result is left, in bytes.
const LEFT_BYTES: usize = 300;

/// Shorter results stay as they are: what would stand there takes as much room.
const MIN_BYTES: usize = 1_000;

/// What every result ends with that made room.
const MARK: &str = "[Put aside to make room:";

/// What stands for pictures.
const NO_PICTURES: &str = "[The pictures that stood here were taken out to make room.]";

/// A result that is to make room.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::agent) struct Put {
    pub(in crate::agent) position: usize,
    /// The name of its tool.
    pub(in crate::agent) name: String,
    /// All of it.
    pub(in crate::agent) text: String,
}

/// The results before a message that are to make room for so many bytes, the oldest first.
pub(in crate::agent) fn results(messages: &[Message], before: usize, bytes: usize) -> Vec<Put> {
    let (mut puts, mut made) = (Vec::new(), 0);
    for (position, message) in messages.iter().enumerate().take(before) {
        let Message::Tool { name, content, .. } = message else { continue };
        if made >= bytes {
            break;
        }
        if content.len() >= MIN_BYTES && !content.contains(MARK) {
            made += content.len().saturating_sub(LEFT_BYTES);
            puts.push(Put { position, name: name.clone(), text: content.clone() });
        }
    }
    puts
}

/// The position of the first message of the last turn.
pub(in crate::agent) fn last_turn(messages: &[Message]) -> usize {
    messages
        .iter()
        .rposition(|message| matches!(message, Message::Assistant { .. }))
        .unwrap_or(messages.len())
}

/// Leaves the beginning of a result; `hint` says how the rest is read, if it is kept.
pub(in crate::agent) fn put_in_place(message: &mut Message, hint: Option<&str>) {
    let Message::Tool { content, .. } = message else { return };
    let bytes = content.len();
    content.truncate(content.floor_char_boundary(LEFT_BYTES));
    let rest = hint.unwrap_or("the rest is not kept; call again if it is needed");
    // Writing to a string cannot fail.
    let _ = write!(content, "…\n{MARK} {bytes} bytes; {rest}]");
}

/// Takes the pictures before a message out. How many messages had some.
pub(in crate::agent) fn without_pictures(messages: &mut [Message], before: usize) -> usize {
    let seen = messages.iter_mut().take(before).filter(|message| matches!(message, Message::Pictures { .. }));
    seen.map(|message| *message = Message::user(NO_PICTURES)).count()
}

//! Conversations in which calls and results do not match.

use std::collections::HashSet;

use super::result_text::error_text;
use crate::Message;
use crate::chat::RequestedCall;
use toolcrib_model::{ErrorKind, ToolError};

/// The repairs of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Repairs {
    /// Results that belonged to no call.
    pub(super) dropped: usize,
}

impl Repairs {
    /// Returns the text that tells the model of the repairs.
    pub(super) fn note(self) -> Option<String> {
        match self.dropped {
            0 => None,
            1 => Some("[One result that belonged to no call was dropped from this conversation.]".to_owned()),
            dropped => Some(format!(
                "[{dropped} results that belonged to no call were dropped from this conversation.]"
            )),
        }
    }
}

/// Returns the same conversation with exactly one result behind each call, in the order of the calls.
pub(super) fn repaired(messages: Vec<Message>) -> (Vec<Message>, Repairs) {
    let (mut sound, mut repairs, mut used) =
        (Vec::with_capacity(messages.len()), Repairs::default(), HashSet::new());
    let mut rest = messages.into_iter().peekable();
    while let Some(message) = rest.next() {
        let Message::Assistant { content, mut tool_calls, reasoning, written, provider_items } = message
        else {
            // Behind no call.
            match message {
                Message::Tool { .. } => repairs.dropped += 1,
                other => sound.push(other),
            }
            continue;
        };
        // The results of a message, and what else was said before the next one.
        let (mut results, mut others) = (Vec::new(), Vec::new());
        while let Some(next) = rest.next_if(|next| !matches!(next, Message::Assistant { .. })) {
            match next {
                Message::Tool { .. } => results.push(next),
                other => others.push(other),
            }
        }
        let answers: Vec<_> =
            tool_calls.iter_mut().map(|call| answer(call, &mut results, &mut used)).collect();
        repairs.dropped += results.len();
        sound.push(Message::Assistant { content, tool_calls, reasoning, written, provider_items });
        sound.extend(answers);
        sound.extend(others);
    }
    (sound, repairs)
}

/// Returns the result of a call, which gets a new id if it has none.
fn answer(call: &mut RequestedCall, results: &mut Vec<Message>, used: &mut HashSet<String>) -> Message {
    let is_its = |result: &Message| matches!(result, Message::Tool { call_id, .. } if *call_id == call.id);
    let found = results.iter().position(is_its).map(|position| results.remove(position));
    let mut number = used.len();
    while call.id.is_empty() || used.contains(&call.id) {
        number += 1;
        call.id = format!("call_0_{number}");
    }
    used.insert(call.id.clone());
    match found {
        Some(Message::Tool { content, note, name, loads, .. }) => {
            let name = if name.is_empty() { call.name.clone() } else { name };
            Message::Tool { call_id: call.id.clone(), name, content, note, loads }
        }
        _ => Message::tool(call.id.clone(), call.name.clone(), error_text(&lost(&call.name))),
    }
}

/// Returns the error of a call that may have run, and of which nothing more is known.
pub(super) fn lost(name: &str) -> ToolError {
    let message = format!(
        "the session was interrupted before `{name}` had a result, and the outcome of the call is unknown"
    );
    ToolError::new(ErrorKind::OutcomeUnknown, message)
        .with_hint("look whether it has happened before you call it again")
}

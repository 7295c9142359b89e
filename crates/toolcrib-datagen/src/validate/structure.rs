//! The order of messages, and the identifiers of calls.

use std::collections::HashSet;

use super::finding::{Finding, Location, Reason};
use crate::conversation::Message;

/// Returns the findings about the form of a conversation: the system prompt comes first, the user begins, each result
/// follows its call, each call has exactly one result, and the assistant has the last word.
pub(super) fn check(messages: &[Message]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut push =
        |location: Location, detail: String| findings.push(Finding::new(Reason::Malformed, location, detail));
    let mut pending: Vec<(&str, usize, usize)> = Vec::new();
    let mut ids: HashSet<&str> = HashSet::new();
    let mut has_user = false;
    for (at, message) in messages.iter().enumerate() {
        if !matches!(message, Message::Tool { .. }) {
            for (id, message, call) in pending.drain(..) {
                push(Location::call(message, call), format!("the call `{id}` has no result"));
            }
        }
        match message {
            Message::System { .. } if at > 0 => {
                push(Location::message(at), "the system prompt is not the first message".into());
            }
            Message::System { .. } => {}
            Message::User { content } => {
                has_user = true;
                if content.trim().is_empty() {
                    push(Location::message(at), "the message of the user is empty".into());
                }
            }
            Message::Assistant { content, calls } => {
                if !has_user {
                    push(Location::message(at), "the assistant speaks before the user".into());
                }
                if content.trim().is_empty() && calls.is_empty() {
                    push(
                        Location::message(at),
                        "the message of the assistant has neither text nor calls".into(),
                    );
                }
                for (number, call) in calls.iter().enumerate() {
                    if call.id.is_empty() || !ids.insert(&call.id) {
                        let detail =
                            format!("the identifier `{}` of the call is empty or not unique", call.id);
                        push(Location::call(at, number), detail);
                    }
                    if !call.arguments.is_object() {
                        let detail = "the arguments are not a JSON object".to_owned();
                        push(Location::call(at, number), detail);
                    }
                    pending.push((&call.id, at, number));
                }
            }
            Message::Tool { call_id, .. } => {
                match pending.iter().position(|(id, _, _)| *id == call_id.as_str()) {
                    Some(position) => {
                        pending.remove(position);
                    }
                    None => {
                        push(Location::message(at), format!("no call `{call_id}` is waiting for a result"));
                    }
                }
            }
        }
    }
    for (id, message, call) in pending {
        findings.push(Finding::new(
            Reason::Malformed,
            Location::call(message, call),
            format!("the call `{id}` has no result"),
        ));
    }
    if !matches!(messages.last(), Some(Message::Assistant { .. })) {
        let detail = "the last message is not one of the assistant";
        findings.push(Finding::new(Reason::Malformed, Location::conversation(), detail));
    }
    findings
}

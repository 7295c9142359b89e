//! The user's reply to a question, and texts of all kinds of questions.

use serde_json::Value;

use super::{MAX_MESSAGE_CHARS, secret_detection};
use crate::text::clean;

/// The user's reply.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    /// Accepted, with the content for the server.
    Accept(Option<Value>),
    Decline,
}

/// The choices of a question without fields.
pub(super) const YES_AND_NO: [&str; 2] = ["yes, go on", "no"];

/// Returns a server's message as a quotation, each line of it marked.
pub(super) fn quoted(message: &str) -> String {
    let message = clean(message, MAX_MESSAGE_CHARS);
    message.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// Returns the warning above a question that seems to ask for secrets.
pub(super) fn warning(texts: &[&str]) -> Option<&'static str> {
    texts.iter().any(|text| secret_detection::is_about_secrets(text)).then_some(
        "Careful: this looks like a question for a secret. What you write goes to the server named above, as it is.",
    )
}

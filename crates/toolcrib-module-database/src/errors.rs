//! The texts of errors, as models read them.

use std::borrow::Cow;

use toolcrib_model::text::ellipsize_chars;
use toolcrib_model::{ErrorKind, ToolError};

/// The maximum length of a server's message that is passed on, in characters.
const MAX_MESSAGE_CHARS: usize = 600;

/// The number of characters of a statement that are shown after a mistake.
const MISTAKE_CHARS: usize = 30;

/// Creates the error of a tool that failed.
pub(super) fn failed(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::ToolFailed, message)
}

/// Creates the error of invalid arguments.
pub(super) fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}

/// The setting that lets tools change data.
pub(super) const ALLOW_WRITES: &str = "allow_writes";

pub(super) const READ_ONLY: &str = "this transaction may only read: `database.execute` changes data, where the operator has set `allow_writes`";

pub(super) const TOO_LONG: &str =
    "let it do less: add a condition or a limit, and look at it with `database.explain`";

pub(super) fn error_with_hint(kind: ErrorKind, message: String, hint: Option<&str>) -> ToolError {
    let error = ToolError::new(kind, message);
    match hint {
        Some(READ_ONLY) => error.with_hint(READ_ONLY).with_setting(ALLOW_WRITES),
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Describes the position of a character by line and column, counted from 1, and the text at it.
pub(super) fn position_of(sql: &str, at: usize) -> Option<String> {
    let before: String = sql.chars().take(at.checked_sub(1)?).collect();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|character| *character != '\n').count() + 1;
    let rest: String = sql.chars().skip(at - 1).take(MISTAKE_CHARS).collect();
    let excerpt = rest.lines().next().unwrap_or_default();
    Some(if excerpt.is_empty() {
        format!("at the end of the statement, line {line}, column {column}")
    } else {
        format!("at line {line}, column {column}: `{excerpt}`")
    })
}

/// Returns the text between the first two of this quote.
pub(super) fn between(text: &str, quote: char) -> Option<String> {
    text.split(quote).nth(1).map(ToOwned::to_owned)
}

pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    ellipsize_chars(text, MAX_MESSAGE_CHARS)
}

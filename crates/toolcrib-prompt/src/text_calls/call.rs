//! The calls of a message, and the limits of reading them.

use toolcrib_model::JsonObject;

/// The most calls that are read from one message; the rest becomes one call that cannot be read.
pub const MAX_TEXT_CALLS: usize = 64;

/// The longest message that is read, in bytes; the rest becomes one call that cannot be read.
pub(crate) const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// The most bytes that are read more than once; beyond it, the rest becomes one call that cannot be read.
pub(super) const MAX_REREAD_BYTES: usize = 256 * 1024;

/// The content of a model's message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedText {
    /// The message without its calls and without reasoning.
    pub prose: String,
    /// The reasoning of the model, marked by `<think>` or similar.
    pub reasoning: String,
    /// The calls, in order.
    pub calls: Vec<TextCall>,
}

/// A call in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextCall {
    /// The name as it was written; empty if it cannot be determined.
    pub name: String,
    /// The arguments, or an explanation for the model why they cannot be read.
    pub arguments: Result<JsonObject, String>,
    /// The part of the message that the call was read from.
    pub raw: String,
}

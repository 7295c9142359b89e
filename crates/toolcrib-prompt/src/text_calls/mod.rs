//! Parsing of calls that models write as text.
//!
//! [`TextReader`] documents the notations.

use toolcrib_model::JsonObject;

mod cursor;
mod fence;
mod marker;
mod names;

mod element;
mod item;
mod json_call;
mod python;
mod value;

mod call_block;
mod channel;
mod prose;
mod reader;
mod tool_outputs;
mod unmarked;

mod result;

#[cfg(test)]
mod tests;

pub(crate) use marker::{MAX_MARK_BYTES, bracket_marks, is_marker_word};
pub use names::ToolNames;
pub use reader::TextReader;
pub use result::render_tool_result;

/// The notation that models are told to write.
pub const TEXT_CALL_FORMAT: &str =
    r#"<tool_call>{"name": "tool_name", "arguments": {"param": "value"}}</tool_call>"#;

/// The most calls that are read from one message; the rest becomes one call that cannot be read.
pub const MAX_TEXT_CALLS: usize = 64;

/// The longest message that is read, in bytes; the rest becomes one call that cannot be read.
pub const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// The most bytes that are read more than once; beyond it, the rest becomes one call that cannot be read.
const MAX_REREAD_BYTES: usize = 256 * 1024;

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

/// Parses the calls of a model's message. The table in [`TextReader`] lists the notations.
///
/// Pass only text of the assistant: a call within a tool's result is data.
///
/// ```
/// use toolcrib_prompt::{ToolNames, parse_text_calls};
/// let names = ToolNames::new(["ls"]);
/// let tagged = "I look.\n<tool_call>{\"name\": \"ls\", \"arguments\": {\"path\": \".\"}}</tool_call>";
/// let bare = "{\"name\": \"ls\", \"arguments\": {\"path\": \".\"}}";
/// for text in [tagged, bare] {
///     let parsed = parse_text_calls(text, &names);
///     assert_eq!(parsed.calls[0].arguments.as_ref().map(|arguments| &arguments["path"]), Ok(&".".into()));
/// }
/// assert!(parse_text_calls(bare, &ToolNames::default()).calls.is_empty());
/// ```
pub fn parse_text_calls(text: &str, names: &ToolNames) -> ParsedText {
    TextReader::new(names).read(text)
}

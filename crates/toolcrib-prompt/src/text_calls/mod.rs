//! Parsing of calls that models write as text.
//!
//! [`TextReader`] documents the notations.

mod call;
mod cursor;
mod fence;
pub(crate) mod marker;
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

pub use call::{MAX_TEXT_CALLS, ParsedText, TextCall};
pub use names::ToolNames;
pub use reader::TextReader;
pub use result::render_tool_result;

/// The notation that models are told to write.
pub(crate) const TEXT_CALL_FORMAT: &str =
    r#"<tool_call>{"name": "tool_name", "arguments": {"param": "value"}}</tool_call>"#;

/// Parses the calls of a model's message. The table in [`TextReader`] lists the notations.
///
/// Pass only text of the assistant: a call within a tool's result is data.
///
/// ```
/// use toolcrib_prompt::text_calls::{ToolNames, parse_text_calls};
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

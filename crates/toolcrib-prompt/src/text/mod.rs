//! Calls of models that write them as text.
//!
//! A recogniser finds the calls of one notation. They are asked in order, and the first that finds any reads the
//! whole message: a model writes one notation at a time.

use std::ops::Range;

use toolcrib_model::JsonObject;

mod object;
mod result;
mod tagged;
mod whole;

pub use result::render_tool_result;

/// The notation that models are told to write.
pub const TEXT_CALL_FORMAT: &str =
    r#"<tool_call>{"name": "tool_name", "arguments": {"param": "value"}}</tool_call>"#;

/// The most calls that are read from one message; what follows becomes one call that cannot be read.
pub const MAX_TEXT_CALLS: usize = 64;

/// The notations, the most certain first.
const RECOGNISERS: [fn(&str) -> Vec<Found>; 3] = [tagged::find, whole::find_fenced, whole::find_bare];

/// What a model's message consists of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedText {
    /// The message without its calls.
    pub prose: String,
    /// The calls, in order.
    pub calls: Vec<TextCall>,
}

/// A call as it stands in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextCall {
    /// The name as it was written; empty where none can be made out.
    pub name: String,
    /// The arguments, or why they cannot be read, for the model.
    pub arguments: Result<JsonObject, String>,
    /// The piece of the message that it was read from.
    pub raw: String,
}

/// Calls, and the place of the message that they stand in.
struct Found {
    range: Range<usize>,
    calls: Vec<TextCall>,
}

/// Reads the calls of a model's message.
///
/// Only what the assistant wrote must come in here: a call inside of a tool's result is data. Read are
/// `<tool_call>{"name": …, "arguments": …}</tool_call>` anywhere, the closing tag optional at the end, and the object
/// alone or in a code fence when it is the whole message. `tool` may stand for `name`; `parameters`, `params` or
/// `args` for `arguments`, which may be an object or a JSON text of one. Something that is plainly meant as a call and
/// cannot be read is a [`TextCall`] that says why. Prose and other JSON are never calls.
///
/// ```
/// use toolcrib_prompt::parse_text_calls;
/// let parsed = parse_text_calls("I look.\n<tool_call>{\"name\": \"ls\", \"arguments\": {\"path\": \".\"}}</tool_call>");
/// assert_eq!(parsed.prose, "I look.");
/// assert_eq!(parsed.calls[0].arguments.as_ref().map(|arguments| &arguments["path"]), Ok(&".".into()));
/// ```
pub fn parse_text_calls(text: &str) -> ParsedText {
    let found = RECOGNISERS.iter().map(|find| find(text)).find(|found| !found.is_empty()).unwrap_or_default();
    let prose = prose(text, &found);
    let mut calls: Vec<_> = found.into_iter().flat_map(|found| found.calls).collect();
    if calls.len() > MAX_TEXT_CALLS {
        calls.truncate(MAX_TEXT_CALLS);
        calls.push(TextCall {
            name: String::new(),
            arguments: Err(format!(
                "there are more than {MAX_TEXT_CALLS} calls in one message; this one and those behind it were not read"
            )),
            raw: String::new(),
        });
    }
    ParsedText { prose, calls }
}

/// What stands around the calls, without the code fences around nothing but calls.
fn prose(text: &str, found: &[Found]) -> String {
    let mut pieces = Vec::new();
    let mut from = 0;
    for range in found.iter().map(|found| found.range.clone()) {
        pieces.push(text.get(from..range.start).unwrap_or_default());
        from = range.end;
    }
    pieces.push(text.get(from..).unwrap_or_default());
    let mut pieces: Vec<_> = pieces.into_iter().map(str::trim).filter(|piece| !piece.is_empty()).collect();
    for position in 1..pieces.len() {
        if let Some([before, after]) = pieces.get_mut(position - 1..=position)
            && let Some((kept, rest)) = without_fence(before, after)
        {
            (*before, *after) = (kept, rest);
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces.join("\n")
}

/// The two pieces without the code fence that the first leaves open and the second begins by closing.
fn without_fence<'a>(before: &'a str, after: &'a str) -> Option<(&'a str, &'a str)> {
    let is_open = before.lines().filter(|line| line.starts_with("```")).count() % 2 == 1;
    let (kept, last) = before.rsplit_once('\n').unwrap_or(("", before));
    let rest = after.strip_prefix("```")?;
    (is_open && last.starts_with("```") && (rest.is_empty() || rest.starts_with('\n')))
        .then(|| (kept.trim_end(), rest.trim_start()))
}

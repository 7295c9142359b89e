//! The markers that models put around calls, results and reasoning.

use super::cursor::{Cursor, Stop};

/// The meaning of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkerKind {
    /// Around one call or several.
    Call,
    /// Around calls, but also around other content.
    Tools,
    /// Between the name of a tool and its arguments.
    Middle,
    /// Around one call; the marker itself names the tool.
    Function,
    /// Around one argument.
    Parameter,
    /// Around the name of an argument.
    Key,
    /// Around the value of an argument.
    Value,
    /// Around the name of the tool.
    Name,
    /// Around all arguments.
    Arguments,
    /// Around the reasoning of a model.
    Thought,
    /// Around the result of a tool.
    Result,
    /// Before a message with a recipient.
    Channel,
    /// Between the head and the body of such a message.
    Message,
    /// At the end of a turn.
    TurnEnd,
}

/// Tags: `<word>`, `<word attribute="…">`, `<word=value>`, and the closing ones with `/`. A prefix such as `ns:` is
/// ignored.
const TAGS: [(&str, MarkerKind); 45] = [
    ("tool_call", MarkerKind::Call),
    ("tool_calls", MarkerKind::Call),
    ("toolcall", MarkerKind::Call),
    ("toolcalls", MarkerKind::Call),
    ("function_call", MarkerKind::Call),
    ("function_calls", MarkerKind::Call),
    ("functioncall", MarkerKind::Call),
    ("functioncalls", MarkerKind::Call),
    ("tool_use", MarkerKind::Call),
    ("start_function_call", MarkerKind::Call),
    (END_FUNCTION_CALL, MarkerKind::Call),
    ("longcat_tool_call", MarkerKind::Call),
    ("tool_code", MarkerKind::Call),
    ("tools", MarkerKind::Tools),
    ("function", MarkerKind::Function),
    ("invoke", MarkerKind::Function),
    ("parameter", MarkerKind::Parameter),
    ("param", MarkerKind::Parameter),
    ("arg_key", MarkerKind::Key),
    ("longcat_arg_key", MarkerKind::Key),
    ("arg_value", MarkerKind::Value),
    ("longcat_arg_value", MarkerKind::Value),
    ("name", MarkerKind::Name),
    ("tool", MarkerKind::Name),
    ("tool_name", MarkerKind::Name),
    ("function_name", MarkerKind::Name),
    ("arguments", MarkerKind::Arguments),
    ("parameters", MarkerKind::Arguments),
    ("params", MarkerKind::Arguments),
    ("args", MarkerKind::Arguments),
    ("input", MarkerKind::Arguments),
    ("think", MarkerKind::Thought),
    ("thinking", MarkerKind::Thought),
    ("thought", MarkerKind::Thought),
    ("reasoning", MarkerKind::Thought),
    ("scratch_pad", MarkerKind::Thought),
    ("scratchpad", MarkerKind::Thought),
    ("tool_result", MarkerKind::Result),
    ("tool_results", MarkerKind::Result),
    ("tool_response", MarkerKind::Result),
    ("tool_responses", MarkerKind::Result),
    ("function_result", MarkerKind::Result),
    ("function_results", MarkerKind::Result),
    ("tool_output", MarkerKind::Result),
    ("s", MarkerKind::TurnEnd),
];

/// Tokens: `<|word|>`, also with wide pipes, and with one pipe if the word is a [tag](TAGS) of calls; the flag is true
/// for closing ones.
const TOKENS: [(&str, MarkerKind, bool); 39] = [
    ("tool_calls_begin", MarkerKind::Call, false),
    ("tool_call_begin", MarkerKind::Call, false),
    ("tool_calls_start", MarkerKind::Call, false),
    ("tool_call_start", MarkerKind::Call, false),
    ("tool_calls_section_begin", MarkerKind::Call, false),
    ("tool_call_section_begin", MarkerKind::Call, false),
    ("start_action", MarkerKind::Call, false),
    ("action_start", MarkerKind::Call, false),
    ("plugin", MarkerKind::Call, false),
    ("python_tag", MarkerKind::Call, false),
    ("python_start", MarkerKind::Call, false),
    ("tools_prefix", MarkerKind::Call, false),
    ("tool_calls_end", MarkerKind::Call, true),
    ("tool_call_end", MarkerKind::Call, true),
    ("tool_calls_section_end", MarkerKind::Call, true),
    ("tool_call_section_end", MarkerKind::Call, true),
    ("end_action", MarkerKind::Call, true),
    ("action_end", MarkerKind::Call, true),
    ("python_end", MarkerKind::Call, true),
    ("tools_suffix", MarkerKind::Call, true),
    ("call", MarkerKind::Call, true),
    ("tool_sep", MarkerKind::Middle, false),
    ("tool_call_argument_begin", MarkerKind::Middle, false),
    ("start_thinking", MarkerKind::Thought, false),
    ("end_thinking", MarkerKind::Thought, true),
    ("start_tool_result", MarkerKind::Result, false),
    ("end_tool_result", MarkerKind::Result, true),
    ("tool_outputs_begin", MarkerKind::Result, false),
    ("tool_outputs_end", MarkerKind::Result, true),
    ("start", MarkerKind::Channel, false),
    ("channel", MarkerKind::Channel, false),
    ("message", MarkerKind::Message, false),
    ("end", MarkerKind::TurnEnd, false),
    ("return", MarkerKind::TurnEnd, false),
    ("eom_id", MarkerKind::TurnEnd, false),
    ("eot_id", MarkerKind::TurnEnd, false),
    ("im_end", MarkerKind::TurnEnd, false),
    ("end_of_text", MarkerKind::TurnEnd, false),
    ("end_of_sentence", MarkerKind::TurnEnd, false),
];

/// Markers in square brackets; the flag is true for closing ones.
const BRACKETS: [(&str, MarkerKind, bool); 13] = [
    ("[TOOL_CALLS]", MarkerKind::Call, false),
    ("[TOOL_CALL]", MarkerKind::Call, false),
    ("[TOOL_REQUEST]", MarkerKind::Call, false),
    ("[/TOOL_CALLS]", MarkerKind::Call, true),
    ("[/TOOL_CALL]", MarkerKind::Call, true),
    ("[END_TOOL_REQUEST]", MarkerKind::Call, true),
    ("[ARGS]", MarkerKind::Middle, false),
    ("[THINK]", MarkerKind::Thought, false),
    ("[/THINK]", MarkerKind::Thought, true),
    ("[TOOL_RESULTS]", MarkerKind::Result, false),
    ("[/TOOL_RESULTS]", MarkerKind::Result, true),
    ("[TOOL_RESULT]", MarkerKind::Result, false),
    ("[END_TOOL_RESULT]", MarkerKind::Result, true),
];

/// Markers of other shapes; the flag is true for closing ones.
const OTHERS: [(&str, MarkerKind, bool); 2] =
    [("◁think▷", MarkerKind::Thought, false), ("◁/think▷", MarkerKind::Thought, true)];

/// The word of a tag that closes without a `/`.
const END_FUNCTION_CALL: &str = "end_function_call";

/// The longest word of a marker including its prefix, in bytes. In data, longer words are not examined either.
pub(crate) const MAX_MARK_BYTES: usize = 64;

/// The longest value or attributes of a marker, in bytes.
const MAX_ATTRIBUTE_BYTES: usize = 512;

/// A marker in a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Marker<'a> {
    pub(super) kind: MarkerKind,
    pub(super) is_close: bool,
    /// The word of a tag or a token in lower case; the closing marker has the same word.
    pub(super) word: String,
    /// The text between the word and the end of the marker.
    pub(super) attributes: &'a str,
}

impl<'a> Marker<'a> {
    /// Returns `x` of `<function=x>`, `<invoke name="x">` and similar markers.
    pub(super) fn value(&self) -> Option<&'a str> {
        let value = match self.attributes.trim_start().strip_prefix('=') {
            Some(value) => value,
            None => self.attribute("name")?,
        };
        Some(value.trim().trim_matches(['"', '\'', '“', '”'])).filter(|value| !value.is_empty())
    }

    /// Returns the value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&'a str> {
        let (before, rest) = self.attributes.split_once(name)?;
        if !before.is_empty() && !before.ends_with(char::is_whitespace) {
            return None;
        }
        let rest = rest.trim_start().strip_prefix('=')?.trim_start();
        match rest.strip_prefix(['"', '\'', '“', '”']) {
            Some(quoted) => quoted.split(['"', '\'', '“', '”']).next(),
            None => rest.split_whitespace().next(),
        }
    }
}

/// Returns true if a word makes a tag that denotes calls, results or reasoning, and rarely anything else.
pub(crate) fn is_marker_word(word: &str) -> bool {
    let is_plain = |kind| matches!(kind, MarkerKind::Name | MarkerKind::Arguments);
    TAGS.iter().any(|(known, kind)| *known == word && !is_plain(*kind))
}

/// Returns all markers in square brackets.
pub(crate) fn bracket_marks() -> impl Iterator<Item = &'static str> {
    BRACKETS.iter().map(|(mark, ..)| *mark)
}

/// Returns every marker of calls, results or reasoning, except words that are also common in other text.
#[cfg(test)]
pub(super) fn all_marks() -> Vec<String> {
    let tags = TAGS
        .iter()
        .filter(|(word, _)| is_marker_word(word))
        .flat_map(|(word, _)| [format!("<{word}>"), format!("</{word}>")]);
    let tokens = TOKENS.iter().flat_map(|(word, ..)| [format!("<|{word}|>"), format!("<｜{word}｜>")]);
    tags.chain(tokens).chain(bracket_marks().map(str::to_owned)).collect()
}

/// Reads the marker at the cursor, and moves past it.
pub(super) fn marker<'a>(cursor: &mut Cursor<'a>) -> Result<Marker<'a>, Stop> {
    match cursor.need()? {
        '<' => {}
        '[' | '◁' => return fixed(cursor),
        _ => return Err(Stop::no("no marker")),
    }
    cursor.next();
    let mut is_close = cursor.eat("/");
    let mut has_pipe = eat_pipe(cursor);
    is_close |= cursor.eat("/");
    let mut word = word(cursor, has_pipe)?;
    // DeepSeek writes a namespace as a separate token.
    if has_pipe && word == "dsml" && eat_pipe(cursor) {
        word = self::word(cursor, true)?;
        has_pipe = false;
    }
    let local = word.rsplit(':').next().unwrap_or_default();
    let token = TOKENS.iter().find(|(known, ..)| has_pipe && *known == local);
    let tag = TAGS.iter().find(|(known, _)| *known == local);
    let kind = match (token, tag) {
        (Some((_, kind, closes)), _) => {
            is_close |= closes;
            *kind
        }
        (None, Some((_, kind))) if !has_pipe || *kind == MarkerKind::Call => *kind,
        _ if cursor.is_out() && may_become(local, has_pipe) => return Err(Stop::Out),
        _ => return Err(Stop::no("no marker")),
    };
    if kind == MarkerKind::Function
        && !is_close
        && let Some(attributes) = name_before_arguments(cursor)?
    {
        return Ok(Marker { kind, is_close, word: local.to_owned(), attributes });
    }
    let attributes = match cursor.need()? {
        ' ' | '=' | '\t' => cursor.take_while(MAX_ATTRIBUTE_BYTES, |c| !matches!(c, '<' | '>' | '\n'))?,
        _ => "",
    };
    is_close |= local == END_FUNCTION_CALL;
    // `<tool_call|>` closes what `<|tool_call>` opens.
    if eat_pipe(cursor) && !has_pipe && kind == MarkerKind::Call {
        is_close = true;
    }
    match cursor.need()? {
        '>' => drop(cursor.next()),
        _ => return Err(Stop::no("no marker")),
    }
    Ok(Marker { kind, is_close, word: local.to_owned(), attributes })
}

/// Reads `=name` of `<function=name{…}` and `<function=name({…})`, which Llama writes on some servers: the arguments
/// begin at the position where the marker would end.
fn name_before_arguments<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a str>, Stop> {
    let at = cursor.at();
    if cursor.need()? == '=' {
        let name = cursor.take_while(MAX_ATTRIBUTE_BYTES, |c| !matches!(c, '<' | '>' | '\n' | '{' | '('))?;
        if matches!(cursor.need()?, '{' | '(') {
            return Ok(Some(name));
        }
        cursor.jump(at);
    }
    Ok(None)
}

/// Returns true if a word that breaks off can become the word of a marker.
fn may_become(word: &str, has_pipe: bool) -> bool {
    TAGS.iter().any(|(known, _)| known.starts_with(word))
        || (has_pipe && TOKENS.iter().any(|(known, ..)| known.starts_with(word)))
}

fn eat_pipe(cursor: &mut Cursor<'_>) -> bool {
    cursor.eat("|") || cursor.eat("｜")
}

fn word(cursor: &mut Cursor<'_>, has_pipe: bool) -> Result<String, Stop> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':') || (has_pipe && c == '▁');
    let word = cursor.take_while(MAX_MARK_BYTES, is_part)?;
    Ok(word.replace('▁', "_").to_ascii_lowercase())
}

fn fixed<'a>(cursor: &mut Cursor<'a>) -> Result<Marker<'a>, Stop> {
    let mut may_follow = false;
    for (known, kind, is_close) in BRACKETS.iter().chain(&OTHERS) {
        match cursor.begins(known) {
            Ok(true) => {
                cursor.eat(known);
                let word = known.trim_matches(['[', ']', '/', '◁', '▷', '<', '>']).to_lowercase();
                return Ok(Marker { kind: *kind, is_close: *is_close, word, attributes: "" });
            }
            Ok(false) => {}
            Err(_) => may_follow = true,
        }
    }
    Err(if may_follow { Stop::Out } else { Stop::no("no marker") })
}

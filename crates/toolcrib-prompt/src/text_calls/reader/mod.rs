//! The incremental reader of messages.

mod blocks;
mod markers;

use super::call::{MAX_REREAD_BYTES, MAX_TEXT_BYTES, MAX_TEXT_CALLS, ParsedText, TextCall};
use super::call_block::CallBlock;
use super::cursor::{Cursor, Stop};
use super::json_call::unreadable;
use super::names::ToolNames;
use super::prose::Prose;
use super::python;

/// Reads a message of a model while it is streamed: returns prose as soon as it may be shown, and the calls at the end.
///
/// No part of a call is ever shown, nor of text that may become one. The result at the end does not depend on the
/// division of the message into pieces: it is the same that [`parse_text_calls`](super::parse_text_calls) returns for
/// the whole message.
///
/// ```
/// use toolcrib_prompt::text_calls::{TextReader, ToolNames};
/// let names = ToolNames::default();
/// let mut reader = TextReader::new(&names);
/// assert_eq!(reader.push("I look.\n<tool"), "I look.");
/// assert_eq!(reader.push("_call>{\"name\": \"ls\", \"arguments\": {}}</tool_call>"), "");
/// let (rest, message) = reader.finish();
/// assert_eq!(rest, "");
/// assert_eq!((message.prose.as_str(), message.calls[0].name.as_str()), ("I look.", "ls"));
/// ```
///
/// # Notations of calls
///
/// Each family of models is trained on a different notation, and falls back to it regardless of instructions. So all of
/// them are read. The conditions differ:
///
/// | notation | read as a call |
/// |---|---|
/// | markers of calls: `<tool_call>`, `<tool_calls>`, `<function_call>`, `<function_calls>`, `<tool_use>`, `<tool_code>`, with any prefix; `<function=x>`, `<function=x{…}`, `<function=x({…})`, `<invoke name="x">`; `[TOOL_CALLS]`, `[TOOL_REQUEST]`; the tokens of `DeepSeek`, Kimi, Gemma, Granite, Llama, LFM, Command and others | of any tool, at any position. In the middle of a line only if a call follows, and not between backticks |
/// | a channel, <code>&lt;\|channel\|>… to=x &lt;\|message\|>{…}</code> | of any tool, at any position |
/// | `<tools>` | of known tools, if it contains nothing else |
/// | a JSON object or a list of them, at the start of a line, bare or in a code block | of known tools, if it has only a name and arguments and the message ends with it |
/// | `x {…}`, `functools[…]`, `>>>x` and an object, `Action: x` and `Action Input: {…}` | the same |
/// | `x(a=1)` in Python notation, or a list of such calls | of known tools, if the whole message consists of them; after prose if a block marked `tool_code` or `tool_call` does and the message ends with it |
/// | any of them in reasoning, in a repeated result, or among other code | never |
///
/// Some notations count only at the end of the message, because a model that calls waits for the result, and one that
/// shows or explains continues. If a message shows other JSON, or such a call in the middle, no call of these notations
/// is read at its end either.
///
/// After markers, calls are read in any notation, because models mix them. An intended call that cannot be read there
/// becomes a call with the reason, and so does one that breaks off: missing parts are not guessed. The content of an
/// element (`<parameter=x>5</parameter>`) is a text; the repair of arguments takes its type from the schema.
///
/// The output of tools cannot become a call: [`render_tool_result`](super::result::render_tool_result) escapes every
/// marker, and forms without markers are not read if they occur in a [result](Self::with_results) that the model was
/// given.
///
/// # Reasoning
///
/// One case cannot be recognized in time: text that was already shown is reasoning if the model ends reasoning that it
/// never began, because its server did. The message has it as [`reasoning`](ParsedText::reasoning).
#[derive(Debug)]
pub struct TextReader<'a> {
    names: &'a ToolNames,
    results: Vec<&'a str>,
    text: String,
    /// The end of the text that was read.
    at: usize,
    state: State,
    line: Line,
    prose: Prose,
    reasoning: String,
    has_thought: bool,
    /// True if JSON or a call was shown as an example, so that another one is expected.
    has_shown_calls: bool,
    calls: Vec<TextCall>,
    /// The length of the text at which the next attempt is made.
    retry_at: usize,
    /// The number of bytes that were read more than once.
    reread: usize,
    /// The number of bytes that were read.
    work: usize,
    is_cut: bool,
}

/// The kind of text that the reader is in.
#[derive(Debug, PartialEq)]
enum State {
    Prose,
    /// A code block.
    Code,
    /// Reasoning, until a marker with this word ends it.
    Thought(String),
    /// A repeated result, until a marker with this word ends it.
    Echo(String),
    /// The end: nothing more is read.
    Closed,
}

/// The text before on the same line.
#[derive(Clone, Copy, Debug)]
struct Line {
    is_blank: bool,
    /// True if it has backticks that are not closed.
    is_marked: bool,
}

const NEW_LINE: Line = Line { is_blank: true, is_marked: false };

/// The next action of the reader.
#[derive(Debug, PartialEq)]
enum Flow {
    On,
    /// Waits for more of the text.
    Wait,
}

impl<'a> TextReader<'a> {
    /// Creates a reader of a message of a model that may call tools of these names.
    pub fn new(names: &'a ToolNames) -> Self {
        Self {
            names,
            results: Vec::new(),
            text: String::new(),
            at: 0,
            state: State::Prose,
            line: NEW_LINE,
            prose: Prose::default(),
            reasoning: String::new(),
            has_thought: false,
            has_shown_calls: false,
            calls: Vec::new(),
            retry_at: 0,
            reread: 0,
            work: 0,
            is_cut: false,
        }
    }

    /// Sets the results of earlier calls. A call without markers that occurs in one of them is only repeated by the
    /// model.
    pub fn with_results(mut self, results: impl IntoIterator<Item = &'a str>) -> Self {
        self.results = results.into_iter().collect();
        self
    }

    /// Reads a complete message.
    pub fn read(mut self, message: &str) -> ParsedText {
        self.append(message);
        self.finish().1
    }

    /// Takes the next piece of the message, and returns the prose that may be shown next.
    pub fn push(&mut self, piece: &str) -> String {
        self.append(piece);
        if self.text.len() >= self.retry_at {
            self.advance(false);
        }
        self.prose.take()
    }

    /// Returns the prose that was returned so far.
    pub fn shown(&self) -> &str {
        self.prose.taken()
    }

    /// Ends the message. Returns the remaining prose, and the whole message.
    pub fn finish(mut self) -> (String, ParsedText) {
        self.advance(true);
        if self.is_cut {
            self.give_up(format!("the message is longer than {MAX_TEXT_BYTES} bytes; the rest was not read"));
        }
        let rest = self.prose.take();
        let message = ParsedText {
            prose: self.prose.into_text(),
            reasoning: self.reasoning.trim().to_owned(),
            calls: self.calls,
        };
        (rest, message)
    }

    /// Appends the next piece of the message, within the bound.
    fn append(&mut self, piece: &str) {
        let room = MAX_TEXT_BYTES - self.text.len();
        let fits = if self.is_cut { 0 } else { piece.floor_char_boundary(room) };
        self.text.push_str(piece.get(..fits).unwrap_or_default());
        self.is_cut |= fits < piece.len();
    }

    #[cfg(test)]
    pub(super) fn work(&self) -> usize {
        self.work
    }

    #[cfg(test)]
    pub(super) fn push_all(&mut self, text: &str) {
        self.append(text);
        self.advance(true);
    }

    fn advance(&mut self, is_end: bool) {
        let text = std::mem::take(&mut self.text);
        while self.at < text.len() {
            let flow = match &self.state {
                State::Prose => self.prose(&text, is_end),
                State::Code => self.code(&text, is_end),
                State::Thought(_) | State::Echo(_) => self.apart(&text, is_end),
                State::Closed => break,
            };
            if flow == Flow::Wait {
                // The longer the pending text is, the rarer it is read again, so that the total work is bounded.
                self.retry_at = text.len() + 1 + (text.len() - self.at) / 4;
                break;
            }
        }
        self.text = text;
    }

    /// Reads the next piece of prose, or a part within it.
    fn prose(&mut self, text: &str, is_end: bool) -> Flow {
        let cursor = Cursor::new(text, self.at, is_end);
        let Some(next) = cursor.peek() else { return Flow::On };
        let is_first_of_line = self.line.is_blank && !next.is_whitespace();
        match next {
            '`' if is_first_of_line => self.marked(text, cursor),
            '<' | '[' | '◁' => self.mark(text, cursor),
            '{' if is_first_of_line => self.unmarked(text, cursor),
            '>' => self.unmarked(text, cursor),
            c if is_first_of_line && python::may_begin(c) => self.unmarked(text, cursor),
            _ => {
                let rest = cursor.rest();
                let is_special = |c: char| matches!(c, '<' | '[' | '◁' | '`' | '>' | '\n');
                let length = if self.line.is_blank { 0 } else { rest.find(is_special).unwrap_or(rest.len()) };
                self.show(text, self.at + length.max(next.len_utf8()))
            }
        }
    }

    /// Returns true if there is no text before.
    fn is_first(&self) -> bool {
        self.prose.is_empty() && self.calls.is_empty()
    }

    /// Shows the text up to a byte.
    fn show(&mut self, text: &str, end: usize) -> Flow {
        let piece = text.get(self.at..end).unwrap_or_default();
        for c in piece.chars() {
            match c {
                '\n' => self.line = NEW_LINE,
                '`' => {
                    self.line.is_marked = !self.line.is_marked;
                    self.line.is_blank = false;
                }
                c => self.line.is_blank &= c.is_whitespace(),
            }
        }
        self.prose.push(piece);
        self.work += piece.len();
        self.at = end;
        Flow::On
    }

    /// Shows the next character.
    fn show_one(&mut self, text: &str) -> Flow {
        let length = text.get(self.at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        self.show(text, self.at + length)
    }

    /// Attempts to read a part that begins here. Returns the next action if nothing was read; `None` if the text does
    /// not match.
    fn attempt<T>(
        &mut self,
        mut cursor: Cursor<'_>,
        read: impl FnOnce(&mut Cursor<'_>, &ToolNames) -> Result<T, Stop>,
    ) -> Result<T, Option<Flow>> {
        let result = read(&mut cursor, self.names);
        self.work += cursor.furthest() - self.at;
        match result {
            Ok(found) => {
                self.reread += cursor.furthest() - cursor.at();
                Ok(found)
            }
            Err(Stop::Out) if !cursor.is_end() => Err(Some(Flow::Wait)),
            Err(_) => {
                self.reread += cursor.furthest() - self.at;
                if self.reread <= MAX_REREAD_BYTES {
                    return Err(None);
                }
                self.give_up("the message has too many incomplete calls; the rest was not read".to_owned());
                Err(Some(Flow::On))
            }
        }
    }

    fn found(&mut self, text: &str, found: CallBlock) -> Flow {
        if found.is_spoken {
            return self.show(text, found.end);
        }
        self.at = found.end;
        self.line.is_blank = false;
        self.prose.gap();
        self.calls.extend(found.calls);
        if self.calls.len() > MAX_TEXT_CALLS {
            self.calls.truncate(MAX_TEXT_CALLS);
            self.give_up(format!(
                "there are more than {MAX_TEXT_CALLS} calls in one message; this one and those after it were not read"
            ));
        }
        Flow::On
    }

    /// Stops reading. The rest is one call that cannot be read.
    fn give_up(&mut self, why: String) {
        self.calls.push(unreadable(String::new(), why, ""));
        self.state = State::Closed;
    }
}

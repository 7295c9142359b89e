//! Reading a message piece by piece.

mod blocks;
mod marks;

use super::cursor::{Cursor, Stop};
use super::names::ToolNames;
use super::object::unreadable;
use super::prose::Prose;
use super::python;
use super::region::Found;
use super::{MAX_REREAD_BYTES, MAX_TEXT_BYTES, MAX_TEXT_CALLS, ParsedText, TextCall};

/// Reads a message of a model while it is written: what may be shown at once, and at the end its calls.
///
/// No part of a call is ever shown, nor of what may become one. What comes out at the end does not depend on how the
/// message was cut into pieces: it is what [`parse_text_calls`](crate::parse_text_calls) makes of the whole.
///
/// ```
/// use toolcrib_prompt::{TextReader, ToolNames};
/// let names = ToolNames::default();
/// let mut reader = TextReader::new(&names);
/// assert_eq!(reader.push("I look.\n<tool"), "I look.");
/// assert_eq!(reader.push("_call>{\"name\": \"ls\", \"arguments\": {}}</tool_call>"), "");
/// let (rest, message) = reader.finish();
/// assert_eq!(rest, "");
/// assert_eq!((message.prose.as_str(), message.calls[0].name.as_str()), ("I look.", "ls"));
/// ```
///
/// # What is a call
///
/// Each family of models has learned a notation of its own, and falls back into it whatever it is told. So all of them
/// are read. What makes a notation a call differs:
///
/// | what is written | it is a call |
/// |---|---|
/// | marks that mean calls: `<tool_call>`, `<tool_calls>`, `<function_call>`, `<function_calls>`, `<tool_use>`, `<tool_code>`, with any prefix; `<function=x>`, `<function=x{…}`, `<function=x({…})`, `<invoke name="x">`; `[TOOL_CALLS]`, `[TOOL_REQUEST]`; the tokens of `DeepSeek`, Kimi, Gemma, Granite, Llama, LFM, Command and others | of any tool, wherever it stands. In the middle of a line only where a call follows, and not between code marks |
/// | a channel, <code>&lt;\|channel\|>… to=x &lt;\|message\|>{…}</code> | of any tool, wherever it stands |
/// | `<tools>` | of known tools, where nothing else stands in it |
/// | a JSON object or a list of them, from the start of a line on, bare or in a block of code | of known tools, where name and arguments are all it says and the message ends with it |
/// | `x {…}`, `functools[…]`, `>>>x` and an object, `Action: x` and `Action Input: {…}` | the same |
/// | `x(a=1)` as Python writes it, or a list of such | of known tools, where the whole message consists of them; behind prose where a block marked `tool_code` or `tool_call` does and the message ends with it |
/// | any of them in reasoning, in a result that is repeated, or among other code | never |
///
/// What needs the end of the message needs it because a model that calls waits for what comes of it, and one that shows
/// or explains goes on. A message that shows other JSON, or such a call in its midst, has none at its end either.
///
/// Behind marks, calls are read in any notation: models mix them. There, what is meant as a call and cannot be read is
/// one that says why, and so is one that breaks off: what is missing is not guessed. What is written as an element
/// (`<parameter=x>5</parameter>`) is a text; the repair of arguments knows from the schema what it should be.
///
/// What tools return cannot become a call: [`render_tool_result`](crate::render_tool_result) takes every mark out, and
/// forms without marks are not read where they stand in a [result](Self::with_results) that the model was given.
///
/// # Reasoning
///
/// One thing cannot be known in time: that what was shown is reasoning, where a model ends it and never began it, since
/// its server did so. In the message it is [`reasoning`](ParsedText::reasoning).
#[derive(Debug)]
pub struct TextReader<'a> {
    names: &'a ToolNames,
    results: Vec<&'a str>,
    text: String,
    /// Up to here everything is read.
    at: usize,
    state: State,
    line: Line,
    prose: Prose,
    reasoning: String,
    has_thought: bool,
    /// Whether JSON or a call was shown that is none, so that more of it is no wonder.
    has_shown_calls: bool,
    calls: Vec<TextCall>,
    /// The length of the text from which on it is worth another look.
    retry_at: usize,
    /// How much was looked at more than once.
    reread: usize,
    /// How much was looked at.
    work: usize,
    is_cut: bool,
}

/// What is read.
#[derive(Debug, PartialEq)]
enum State {
    Prose,
    /// A block of code.
    Code,
    /// Reasoning, until a mark with this word ends it.
    Thought(String),
    /// A result that is repeated, until a mark with this word ends it.
    Echo(String),
    /// Nothing any more.
    Closed,
}

/// What stands before on the same line.
#[derive(Clone, Copy, Debug)]
struct Line {
    is_blank: bool,
    /// Whether code marks stand there that are not closed.
    is_marked: bool,
}

const NEW_LINE: Line = Line { is_blank: true, is_marked: false };

/// Whether there is more to read.
#[derive(Debug, PartialEq)]
enum Flow {
    On,
    /// Not before more of the text has come.
    Wait,
}

impl<'a> TextReader<'a> {
    /// A reader of a message of a model that may call tools of these names.
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

    /// Sets what tools have returned before. Where a call without marks stands in there, the model only repeats it.
    pub fn with_results(mut self, results: impl IntoIterator<Item = &'a str>) -> Self {
        self.results = results.into_iter().collect();
        self
    }

    /// Reads a message that is complete.
    pub fn read(mut self, message: &str) -> ParsedText {
        self.append(message);
        self.finish().1
    }

    /// Takes the next piece of the message, and returns what may be shown after all that was returned before.
    pub fn push(&mut self, piece: &str) -> String {
        self.append(piece);
        if self.text.len() >= self.retry_at {
            self.advance(false);
        }
        self.prose.take()
    }

    /// What was returned of the prose so far.
    pub fn shown(&self) -> &str {
        self.prose.taken()
    }

    /// Ends the message. Returns what is left to show, and the whole.
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

    /// Takes the next piece of the message, as far as there is room.
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
                // The longer what waits is, the rarer it is looked at again, so that all looks together are few.
                self.retry_at = text.len() + 1 + (text.len() - self.at) / 4;
                break;
            }
        }
        self.text = text;
    }

    /// The next piece of prose, or what stands in it.
    fn prose(&mut self, text: &str, is_end: bool) -> Flow {
        let cursor = Cursor::new(text, self.at, is_end);
        let Some(next) = cursor.peek() else { return Flow::On };
        let is_first_of_line = self.line.is_blank && !next.is_whitespace();
        match next {
            '`' if is_first_of_line => self.marked(text, cursor),
            '<' | '[' | '◁' => self.mark(text, cursor),
            '{' if is_first_of_line => self.doubtful(text, cursor),
            '>' => self.doubtful(text, cursor),
            c if is_first_of_line && python::may_begin(c) => self.doubtful(text, cursor),
            _ => {
                let rest = cursor.rest();
                let is_special = |c: char| matches!(c, '<' | '[' | '◁' | '`' | '>' | '\n');
                let length = if self.line.is_blank { 0 } else { rest.find(is_special).unwrap_or(rest.len()) };
                self.show(text, self.at + length.max(next.len_utf8()))
            }
        }
    }

    /// Whether nothing was said yet.
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

    /// Looks at something that begins here. Where nothing came of it, what is to be done; `None` where it is something
    /// else.
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
                self.give_up(
                    "the message holds too much that is almost a call; the rest was not read".to_owned(),
                );
                Err(Some(Flow::On))
            }
        }
    }

    fn found(&mut self, text: &str, found: Found) -> Flow {
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
                "there are more than {MAX_TEXT_CALLS} calls in one message; this one and those behind it were not read"
            ));
        }
        Flow::On
    }

    /// Reads no more. What is left is one call that cannot be read.
    fn give_up(&mut self, why: String) {
        self.calls.push(unreadable(String::new(), why, ""));
        self.state = State::Closed;
    }
}

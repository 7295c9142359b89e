//! Code blocks, and calls without markers.

use super::super::call_block::{CallBlock, LinePosition, call_block};
use super::super::cursor::{Cursor, Stop};
use super::super::fence;
use super::super::marker::marker;
use super::super::tool_outputs::ToolOutputs;
use super::super::unmarked::{FormContext, Outcome, unmarked};
use super::markers::opens_calls;
use super::{Flow, Line, State, TextReader};

impl TextReader<'_> {
    /// Reads a form that is a call only if the message ends with it.
    pub(super) fn unmarked(&mut self, text: &str, start: Cursor<'_>) -> Flow {
        let is_block = start.rest().starts_with("```");
        if self.has_shown_calls {
            return if is_block { self.begin_code(text) } else { self.show_one(text) };
        }
        let is_first = self.is_first();
        match self.attempt(start, |cursor, names| unmarked(cursor, FormContext { names, is_first })) {
            Ok(Outcome::Calls(calls)) => {
                let outputs = ToolOutputs::new(&self.results);
                if calls.iter().any(|call| outputs.contain(&call.raw)) {
                    return self.show(text, text.len());
                }
                self.found(text, CallBlock { calls, end: text.len(), fences: 0, is_spoken: false })
            }
            Ok(Outcome::Text { end }) => {
                self.has_shown_calls = true;
                self.show(text, end)
            }
            Err(Some(flow)) => flow,
            Err(None) if is_block => self.begin_code(text),
            Err(None) => self.show_one(text),
        }
    }

    /// Reads backticks at the start of a line: a code block, or a call in backticks.
    pub(super) fn marked(&mut self, text: &str, cursor: Cursor<'_>) -> Flow {
        let mut line = cursor.clone();
        match fence::line(&mut line) {
            Err(_) if !cursor.is_end() => return Flow::Wait,
            Ok(Some(_)) => return self.block(text, cursor, line.at()),
            _ => {}
        }
        let mut inner = cursor;
        inner.next();
        match inner.peek() {
            None if !inner.is_end() => return Flow::Wait,
            Some('<' | '[') => {}
            _ => return self.show_one(text),
        }
        match marker(&mut inner.clone()) {
            Err(Stop::Out) if !inner.is_end() => return Flow::Wait,
            Ok(mark) if opens_calls(&mark) => {}
            _ => return self.show_one(text),
        }
        match self.attempt(inner, |cursor, names| call_block(cursor, LinePosition::Marked, names)) {
            Ok(mut found) => {
                if text.get(found.end..).is_some_and(|behind| behind.starts_with('`')) {
                    found.end += 1;
                }
                self.found(text, found)
            }
            Err(flow) => flow.unwrap_or_else(|| self.show_one(text)),
        }
    }

    /// Reads a code block, whose first line ends at `inner`.
    pub(super) fn block(&mut self, text: &str, cursor: Cursor<'_>, inner: usize) -> Flow {
        let mut body = Cursor::new(text, inner, cursor.is_end());
        body.skip_blanks();
        let opens = match marker(&mut body.clone()) {
            Err(Stop::Out) if !body.is_end() => return Flow::Wait,
            Ok(mark) => opens_calls(&mark),
            Err(_) => false,
        };
        if !opens {
            return self.unmarked(text, cursor);
        }
        let read = self.attempt(body, |cursor, names| {
            let mut found = call_block(cursor, LinePosition::LineStart, names)?;
            let mut is_closed = found.fences % 2 == 1;
            if !is_closed {
                cursor.skip_blanks();
                is_closed = cursor.is_end() && cursor.is_out();
                if cursor.begins("```")? {
                    cursor.eat("```");
                    found.end = cursor.at();
                    is_closed = true;
                }
            }
            Ok((found, is_closed))
        });
        match read {
            Ok((found, is_closed)) => {
                if found.is_spoken {
                    return self.begin_code(text);
                }
                if !is_closed {
                    self.show(text, inner);
                    self.state = State::Code;
                }
                self.found(text, found)
            }
            Err(flow) => flow.unwrap_or_else(|| self.begin_code(text)),
        }
    }

    pub(super) fn begin_code(&mut self, text: &str) -> Flow {
        self.state = State::Code;
        self.show(text, self.at + "```".len())
    }

    /// Reads code, up to the end of the block.
    pub(super) fn code(&mut self, text: &str, is_end: bool) -> Flow {
        let mut cursor = Cursor::new(text, self.at, is_end);
        if self.line.is_blank && cursor.rest().starts_with('`') {
            match fence::line(&mut cursor) {
                Err(_) if !is_end => return Flow::Wait,
                Ok(Some(_)) => {
                    self.state = State::Prose;
                    self.show(text, cursor.at());
                    self.line = Line { is_blank: false, is_marked: false };
                    return Flow::On;
                }
                _ => {}
            }
        }
        let rest = cursor.rest();
        let line_end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let length = if self.line.is_blank && (1..line_end).contains(&blanks) { blanks } else { line_end };
        self.show(text, self.at + length)
    }
}

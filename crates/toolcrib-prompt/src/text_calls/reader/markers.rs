//! Markers within a message, and the parts that they delimit.

use super::super::call_block::{LinePosition, call_block};
use super::super::channel::{self, Head};
use super::super::cursor::{Cursor, Stop};
use super::super::marker::{Marker, MarkerKind, marker};
use super::{Flow, NEW_LINE, State, TextReader};

impl TextReader<'_> {
    /// Reads a marker, or a prefix of one.
    pub(super) fn mark(&mut self, text: &str, mut cursor: Cursor<'_>) -> Flow {
        let start = cursor.clone();
        let mark = match marker(&mut cursor) {
            Ok(mark) if !self.line.is_marked => mark,
            Err(Stop::Out) if !cursor.is_end() => return Flow::Wait,
            _ if self.line.is_blank && cursor.slice_from(self.at).starts_with('[') => {
                return self.unmarked(text, start);
            }
            _ => return self.show_one(text),
        };
        match mark.kind {
            _ if opens_calls(&mark) => {
                let place = if self.line.is_blank { LinePosition::LineStart } else { LinePosition::Inside };
                match self.attempt(start, |cursor, names| call_block(cursor, place, names)) {
                    Ok(found) => self.found(text, found),
                    Err(flow) => flow.unwrap_or_else(|| self.show_one(text)),
                }
            }
            MarkerKind::Thought if !mark.is_close && self.line.is_blank => {
                self.prose.gap();
                self.has_thought = true;
                self.state = State::Thought(closing(&mark));
                self.at = cursor.at();
                Flow::On
            }
            MarkerKind::Thought if mark.is_close && !self.has_thought => match is_line_end(&cursor) {
                Err(_) => Flow::Wait,
                Ok(true) => self.reclassify_as_reasoning(text, cursor.at()),
                Ok(false) => self.show_one(text),
            },
            MarkerKind::Result if !mark.is_close && self.line.is_blank => {
                self.state = State::Echo(closing(&mark));
                self.show(text, cursor.at())
            }
            MarkerKind::Channel => self.channel(text, start),
            _ => self.show_one(text),
        }
    }

    /// Turns the prose and the calls so far into reasoning.
    pub(super) fn reclassify_as_reasoning(&mut self, text: &str, end: usize) -> Flow {
        let before = text.get(..self.at).unwrap_or_default();
        before.trim().clone_into(&mut self.reasoning);
        self.prose.restart();
        self.calls.clear();
        self.has_thought = true;
        self.has_shown_calls = false;
        self.at = end;
        Flow::On
    }

    /// Skips reasoning, or a repeated result, up to the marker that ends it.
    pub(super) fn apart(&mut self, text: &str, is_end: bool) -> Flow {
        let mut cursor = Cursor::new(text, self.at, is_end);
        let (State::Thought(word) | State::Echo(word)) = &self.state else { return Flow::On };
        let is_thought = matches!(self.state, State::Thought(_));
        let rest = cursor.rest();
        let mut length = rest.find(['<', '[', '◁']).unwrap_or(rest.len());
        let mut is_over = false;
        if length == 0 {
            length = cursor.peek().map_or(0, char::len_utf8);
            match marker(&mut cursor) {
                Err(Stop::Out) if !is_end => return Flow::Wait,
                Ok(mark) if ends(&mark, word) => {
                    is_over = true;
                    // A head that follows immediately is read as a head.
                    length = if mark.kind == MarkerKind::Channel { 0 } else { cursor.at() - self.at };
                }
                _ => {}
            }
        }
        let end = self.at + length;
        if is_thought && !is_over {
            self.reasoning.push_str(text.get(self.at..end).unwrap_or_default());
        }
        if is_over {
            self.state = State::Prose;
        }
        if !is_thought {
            return self.show(text, end);
        }
        if is_over {
            self.reasoning.push('\n');
            self.line = NEW_LINE;
        }
        self.work += length;
        self.at = end;
        Flow::On
    }

    /// Reads the head of a message with a recipient.
    pub(super) fn channel(&mut self, text: &str, start: Cursor<'_>) -> Flow {
        match self.attempt(start, channel::head) {
            Ok(Head::Calls(found)) => self.found(text, found),
            Ok(Head::Thought { end }) => {
                self.prose.gap();
                self.has_thought = true;
                self.state = State::Thought(String::new());
                self.at = end;
                Flow::On
            }
            Ok(Head::Plain { end }) => {
                self.prose.gap();
                self.line = NEW_LINE;
                self.at = end;
                Flow::On
            }
            Err(flow) => flow.unwrap_or_else(|| self.show_one(text)),
        }
    }
}

/// Returns true if calls follow a marker.
pub(super) fn opens_calls(mark: &Marker<'_>) -> bool {
    match mark.kind {
        MarkerKind::Call | MarkerKind::Tools => !mark.is_close,
        MarkerKind::Function => !mark.is_close && mark.value().is_some(),
        _ => false,
    }
}

/// Returns the word of the marker that ends the part which this one begins.
fn closing(mark: &Marker<'_>) -> String {
    let word = mark.word.strip_prefix("start_").unwrap_or(&mark.word);
    word.strip_suffix("_begin").unwrap_or(word).to_owned()
}

/// Returns true if a marker ends the part that a word began. The part after a message head ends with the turn, or with
/// the next head.
fn ends(mark: &Marker<'_>, word: &str) -> bool {
    let own = mark.word.strip_prefix("end_").unwrap_or(&mark.word);
    let own = own.strip_suffix("_end").unwrap_or(own);
    if word.is_empty() {
        matches!(mark.kind, MarkerKind::TurnEnd | MarkerKind::Channel)
    } else {
        mark.is_close && matches!(mark.kind, MarkerKind::Thought | MarkerKind::Result) && own == word
    }
}

/// Returns true if only blanks follow on the line of a marker.
fn is_line_end(cursor: &Cursor<'_>) -> Result<bool, Stop> {
    let rest = cursor.rest().trim_start_matches([' ', '\t', '\r']);
    match rest.chars().next() {
        None if !cursor.is_end() => Err(Stop::Out),
        c => Ok(c.is_none_or(|c| c == '\n')),
    }
}

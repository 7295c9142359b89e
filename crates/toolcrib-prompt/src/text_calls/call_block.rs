//! Calls within markers that denote calls only.
//!
//! Models mix notations: some write Python within the tags of another family, or omit a marker. So one reader handles
//! all: markers, and between them calls in any notation.

use super::call::{MAX_TEXT_CALLS, TextCall};
use super::cursor::{Cursor, Stop};
use super::element;
use super::fence;
use super::item::{Item, item};
use super::json_call::{BREAKS_OFF, guess_name, unreadable};
use super::marker::{Marker, MarkerKind, marker};
use super::names::ToolNames;

/// The position of a marker on its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinePosition {
    /// After blanks only.
    LineStart,
    /// After a backtick only.
    Marked,
    /// After other text.
    Inside,
}

/// A block of calls.
#[derive(Debug)]
pub(super) struct CallBlock {
    pub(super) calls: Vec<TextCall>,
    pub(super) end: usize,
    /// The number of lines among them that open or close a code block.
    pub(super) fences: usize,
    /// True if the text up to the end only mentions calls.
    pub(super) is_spoken: bool,
}

/// The kind of the last token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// An opening marker, which begins at this byte; calls follow.
    Open(usize),
    /// A call, within markers.
    Call,
    /// A comma or semicolon after a call.
    Comma,
    /// A closing marker; calls follow only after another opening one.
    Close,
}

/// Reads the calls that begin with the marker at the cursor. Returns [`Stop::No`] if the marker is only mentioned.
pub(super) fn call_block(
    cursor: &mut Cursor<'_>,
    place: LinePosition,
    names: &ToolNames,
) -> Result<CallBlock, Stop> {
    let start = cursor.at();
    let mut reader = CallBlockReader {
        calls: Vec::new(),
        end: start,
        last: Last::Close,
        fences: 0,
        names,
        is_doubtful: false,
    };
    loop {
        if reader.calls.len() > MAX_TEXT_CALLS {
            break;
        }
        match reader.step(cursor) {
            Ok(true) => {}
            Ok(false) => break,
            Err(stop) if stop == Stop::Out && !cursor.is_end() => return Err(stop),
            Err(stop) => {
                reader.broken(cursor, stop)?;
                break;
            }
        }
    }
    if let Last::Open(at) = reader.last {
        // No text that could be a call follows the last marker.
        if reader.calls.is_empty() && place != LinePosition::LineStart {
            return Err(Stop::no("the marker is only mentioned"));
        }
        if reader.calls.is_empty() {
            cursor.jump(reader.end);
            cursor.skip_blanks();
            let is_empty = cursor.is_out() || cursor.rest().starts_with("</");
            let why = if is_empty { "the call is empty" } else { "the call is not a JSON object" };
            cursor.jump(at);
            reader.broken(cursor, Stop::no(why))?;
        } else {
            reader.end = at;
        }
    }
    cursor.jump(reader.end);
    Ok(reader.found(place))
}

struct CallBlockReader<'a> {
    calls: Vec<TextCall>,
    /// The end of all that was read so far.
    end: usize,
    last: Last,
    fences: usize,
    names: &'a ToolNames,
    /// True if only a marker with several meanings was read.
    is_doubtful: bool,
}

impl CallBlockReader<'_> {
    /// Reads the next marker or call. Returns `false` at the end of the block.
    fn step(&mut self, cursor: &mut Cursor<'_>) -> Result<bool, Stop> {
        cursor.jump(self.end);
        let is_new_line = cursor.skip_blanks();
        let Some(next) = cursor.peek() else {
            return if cursor.is_end() { Ok(false) } else { Err(Stop::Out) };
        };
        let at = cursor.at();
        if matches!(next, '<' | '[') {
            match marker(cursor) {
                Ok(mark) => {
                    if let Some(goes_on) = self.mark(cursor, &mark, at)? {
                        return Ok(goes_on);
                    }
                }
                // A closing marker that breaks off at the end of the message.
                Err(Stop::Out) if cursor.is_end() && self.last == Last::Call => {
                    cursor.go_to_end();
                    self.end = cursor.at();
                    return Ok(false);
                }
                Err(Stop::Out) if cursor.is_end() && self.last == Last::Close => return Ok(false),
                Err(Stop::Out) => return Err(Stop::Out),
                Err(Stop::No(_)) => {}
            }
            cursor.jump(at);
        }
        if self.last == Last::Close {
            return Ok(false);
        }
        if next == '`' && fence::line(cursor)?.is_some() {
            self.fences += 1;
            return Ok(self.reached(cursor, self.last));
        }
        match item(cursor, self.names) {
            Ok(Item::Calls(calls)) => {
                self.calls.extend(calls);
                return Ok(self.reached(cursor, Last::Call));
            }
            Ok(Item::Skipped) => return Ok(self.reached(cursor, self.last)),
            Ok(Item::None) => {}
            // Words on a separate line after a call are prose.
            Err(Stop::No(_))
                if self.last == Last::Call && is_new_line && !matches!(next, '{' | '[' | '<') => {}
            Err(stop) => return Err(stop),
        }
        cursor.jump(at);
        self.between(cursor, next, is_new_line)
    }

    /// Returns the calls that were read.
    fn found(mut self, place: LinePosition) -> CallBlock {
        let is_known = |call: &TextCall| self.names.knows(&call.name);
        // In the middle of a line, unreadable text without the name of a tool is an example.
        let is_vague =
            |call: &TextCall| call.arguments.as_ref().is_err_and(|why| why != BREAKS_OFF) && !is_known(call);
        let is_spoken = if self.is_doubtful {
            !self.calls.iter().all(|call| call.arguments.is_ok() && is_known(call))
        } else {
            place != LinePosition::LineStart && self.calls.iter().all(is_vague)
        };
        if is_spoken {
            self.calls.clear();
        }
        CallBlock { calls: self.calls, end: self.end, fences: self.fences, is_spoken }
    }

    fn reached(&mut self, cursor: &Cursor<'_>, last: Last) -> bool {
        self.last = last;
        self.end = cursor.at();
        true
    }

    /// Processes a marker. Returns `None` if it is not part of calls.
    fn mark(&mut self, cursor: &mut Cursor<'_>, mark: &Marker<'_>, at: usize) -> Result<Option<bool>, Stop> {
        let goes_on = match (mark.kind, mark.is_close) {
            (MarkerKind::Call | MarkerKind::Tools, false) if self.is_doubtful && self.last == Last::Close => {
                false
            }
            (MarkerKind::Call | MarkerKind::Tools, false) => {
                if mark.kind == MarkerKind::Tools && self.calls.is_empty() && self.last == Last::Close {
                    self.is_doubtful = true;
                }
                self.reached(cursor, Last::Open(at))
            }
            // There is no text between the markers.
            (MarkerKind::Call | MarkerKind::Tools, true) if matches!(self.last, Last::Open(_)) => {
                return Ok(Some(false));
            }
            (MarkerKind::Call | MarkerKind::Tools, true) => self.reached(cursor, Last::Close),
            (MarkerKind::TurnEnd, _) if !matches!(self.last, Last::Open(_)) => {
                self.reached(cursor, Last::Close)
            }
            (MarkerKind::Middle, _) | (MarkerKind::Function, true) => self.reached(cursor, self.last),
            (MarkerKind::Function, false) if mark.value().is_some() || mark.word == "invoke" => {
                // After a broken call, the next one may follow.
                if self.last == Last::Close {
                    self.last = Last::Open(at);
                }
                let call = element::function(cursor, mark, at, self.names)?;
                self.calls.push(call);
                self.reached(cursor, Last::Call)
            }
            _ => return Ok(None),
        };
        Ok(Some(goes_on))
    }

    /// Reads text that may occur between two calls, or after the last one.
    fn between(&mut self, cursor: &mut Cursor<'_>, next: char, is_new_line: bool) -> Result<bool, Stop> {
        match (self.last, next) {
            // A surplus bracket is harmless.
            (Last::Call, '}' | ']' | ')') => {
                cursor.next();
                Ok(self.reached(cursor, Last::Call))
            }
            (Last::Call, ',' | ';') => {
                cursor.next();
                Ok(self.reached(cursor, Last::Comma))
            }
            (Last::Call, _) if is_new_line && !matches!(next, '"' | ':') => Ok(false),
            (Last::Call | Last::Comma, _) => {
                // The text after it may belong to the call, and half of a call is not a call.
                let why = "found other text between the call and the marker that closes it";
                let last = self.calls.pop();
                let name = last.as_ref().map(|call| call.name.clone()).unwrap_or_default();
                let raw = last.map(|call| call.raw).unwrap_or_default();
                self.end = end_of_broken(cursor)?;
                self.calls.push(unreadable(name, why, &raw));
                self.last = Last::Close;
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    /// Reads a call that cannot be parsed, which extends to the next closing marker.
    fn broken(&mut self, cursor: &mut Cursor<'_>, stop: Stop) -> Result<(), Stop> {
        let from = match self.last {
            Last::Open(at) => at,
            _ => self.end,
        };
        let (why, end) = match stop {
            Stop::Out => {
                cursor.go_to_end();
                (BREAKS_OFF.into(), cursor.at())
            }
            Stop::No(why) => {
                cursor.jump(self.end.max(from));
                (why, end_of_broken(cursor)?)
            }
        };
        let raw = cursor.slice(from, end).trim();
        let name = self
            .names
            .strip(
                guess_name(raw)
                    .or_else(|| named(raw))
                    .or_else(|| self.names.first_in(raw))
                    .unwrap_or_default(),
            )
            .to_owned();
        let why =
            if why.starts_with("the call") { why } else { format!("the call cannot be read: {why}").into() };
        self.calls.push(unreadable(name, why, raw));
        self.end = end;
        self.last = Last::Close;
        Ok(())
    }
}

/// Returns the name in a marker that names the tool.
fn named(raw: &str) -> Option<&str> {
    let opens = ["<function=", "<function name=", "<invoke name="];
    let at = opens.into_iter().find_map(|open| Some(raw.find(open)? + open.len()))?;
    let name = raw.get(at..)?.trim_start_matches(['"', '\'']);
    name.split(['"', '\'', '>', '\n', '<', '{', '(']).next().filter(|name| super::json_call::is_name(name))
}

/// Finds the end of a call that cannot be read: after the next markers that close calls, or else at the end of the
/// message. Opening markers are not trusted, because they may occur in an argument.
pub(super) fn end_of_broken(cursor: &mut Cursor<'_>) -> Result<usize, Stop> {
    let mut end = None;
    loop {
        if end.is_some() {
            cursor.skip_blanks();
            match cursor.peek() {
                Some('<' | '[') => {}
                None if !cursor.is_end() => return Err(Stop::Out),
                _ => return Ok(end.unwrap_or_default()),
            }
        }
        let Some(length) = cursor.rest().find(['<', '[']) else {
            cursor.go_to_end();
            return if cursor.is_end() { Ok(cursor.at()) } else { Err(Stop::Out) };
        };
        let at = cursor.at() + length;
        cursor.jump(at);
        match marker(cursor) {
            Ok(mark)
                if mark.is_close
                    && matches!(mark.kind, MarkerKind::Call | MarkerKind::Tools | MarkerKind::Function) =>
            {
                end = Some(cursor.at());
            }
            Err(Stop::Out) if !cursor.is_end() => return Err(Stop::Out),
            _ => match end {
                Some(end) => return Ok(end),
                None => cursor.jump(at + 1),
            },
        }
    }
}

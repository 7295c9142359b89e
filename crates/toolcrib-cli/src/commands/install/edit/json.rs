//! JSON with comments.
//!
//! Comments, and commas before a closing bracket, are overwritten with spaces of the same length. So the strict reader of
//! `toolcrib-document` takes the text, with its bounds and its places, and the scanner below only meets valid JSON.

use std::ops::Range;

use serde_json::{Map, Value};
use toolcrib_document::{Error, Format, Limits, parse};

use super::{Problem, line_end, not_editable, place, spliced};
use crate::file_edit::MAX_CONFIGURATION_BYTES;

/// Replaces each byte of a comment. JSON never has it outside of a string.
const COMMENT: u8 = 1;

/// The indentation where the text itself shows none.
const INDENT: &str = "  ";

/// The text that an empty file is read as.
const EMPTY: &str = "{}\n";

pub(super) fn read(text: &str) -> Result<Map<String, Value>, Problem> {
    Ok(Json::read(text)?.value)
}

pub(super) fn written(text: &str, servers: &str, name: &str) -> Result<Option<String>, Problem> {
    let json = Json::read(text)?;
    let entry =
        json.object_of(servers)?.and_then(|object| object.member(name).map(|member| member.value.clone()));
    Ok(entry.and_then(|range| json.text.get(range)).map(str::to_owned))
}

pub(super) fn with(
    text: &str,
    servers: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, Problem> {
    let text = if text.trim().is_empty() { EMPTY } else { text };
    let json = Json::read(text)?;
    let entry = Value::Object(entry.clone());
    let Some(object) = json.object_of(servers)? else {
        let all = Value::Object([(name.to_owned(), entry)].into_iter().collect());
        return Ok(json.appended(&json.root(), servers, &all));
    };
    let Some(member) = object.member(name) else { return Ok(json.appended(&object, name, &entry)) };
    let rendered = json.rendered(&entry, &json.indent_at(member.key.start), json.is_laid_out(&object));
    Ok(spliced(text, member.value.clone(), &rendered))
}

pub(super) fn with_written(text: &str, servers: &str, name: &str, written: &str) -> Result<String, Problem> {
    let json = Json::read(text)?;
    let object = json.object_of(servers)?;
    let member = object.as_ref().and_then(|object| object.member(name)).ok_or_else(|| not_editable(name))?;
    Ok(spliced(text, member.value.clone(), written))
}

pub(super) fn without(text: &str, servers: &str, name: &str, drops: bool) -> Result<String, Problem> {
    let json = Json::read(text)?;
    let Some(object) = json.object_of(servers)? else { return Ok(text.to_owned()) };
    if object.member(name).is_none() {
        return Ok(text.to_owned());
    }
    let left = json.removed(&object, name);
    let json = Json::read(&left)?;
    let servers_left = json.object_of(servers)?.filter(|_| drops);
    let inside = servers_left.and_then(|object| json.text.get(object.open + 1..object.close));
    if inside.is_some_and(|inside| inside.trim().is_empty()) {
        return Ok(json.removed(&json.root(), servers));
    }
    Ok(left)
}

struct Json<'a> {
    text: &'a str,
    /// The text with [`COMMENT`] in the place of each byte of a comment.
    shape: Vec<u8>,
    value: Map<String, Value>,
}

/// The positions of an object and its members.
struct Object {
    /// The opening bracket.
    open: usize,
    /// The closing bracket.
    close: usize,
    members: Vec<Member>,
}

struct Member {
    name: String,
    key: Range<usize>,
    value: Range<usize>,
}

impl Object {
    fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }
}

impl<'a> Json<'a> {
    fn read(text: &'a str) -> Result<Self, Problem> {
        let shape = shape(text)?;
        let mut strict: Vec<u8> = shape
            .iter()
            .zip(text.bytes())
            .map(|(shape, byte)| match (*shape, byte) {
                (COMMENT, b'\n' | b'\r') => byte,
                (COMMENT, _) => b' ',
                (other, _) => other,
            })
            .collect();
        blank_last_commas(&mut strict);
        if strict.trim_ascii().is_empty() {
            return Ok(Self { text, shape, value: Map::new() });
        }
        let limits = Limits {
            max_bytes: usize::try_from(MAX_CONFIGURATION_BYTES).unwrap_or(usize::MAX),
            ..Limits::default()
        };
        let document = parse(&strict, Format::Json, &limits).map_err(|error| problem(&error))?;
        match document.value {
            Value::Object(value) => Ok(Self { text, shape, value }),
            _ => Err(Problem {
                at: Some((1, 1)),
                message: "the whole of it has to be an object, `{…}`".into(),
            }),
        }
    }

    fn root(&self) -> Object {
        self.object_at(self.next(0))
    }

    /// Returns the object under a key of the root; an error where something else is there.
    fn object_of(&self, key: &str) -> Result<Option<Object>, Problem> {
        if self.value.is_empty() {
            return Ok(None);
        }
        let root = self.root();
        let Some(member) = root.member(key) else { return Ok(None) };
        if self.shape.get(member.value.start) == Some(&b'{') {
            return Ok(Some(self.object_at(member.value.start)));
        }
        let message = format!("`{key}` has to be an object, `{{…}}`");
        Err(Problem { at: Some(place(self.text, member.value.start)), message })
    }

    /// Returns the first byte from here on that is neither white space nor comment.
    fn next(&self, from: usize) -> usize {
        let rest = self.shape.get(from..).unwrap_or_default();
        let blank = |byte: &&u8| byte.is_ascii_whitespace() || **byte == COMMENT;
        from + rest.iter().take_while(blank).count()
    }

    fn byte(&self, at: usize) -> u8 {
        self.shape.get(at).copied().unwrap_or(0)
    }

    fn object_at(&self, open: usize) -> Object {
        let mut members = Vec::new();
        let mut at = self.next(open + 1);
        while self.byte(at) == b'"' {
            let key = at..self.end_of_string(at);
            let start = self.next(self.next(key.end) + 1);
            let value = start..self.end_of_value(start);
            let name = self.text.get(key.clone()).and_then(|key| serde_json::from_str(key).ok());
            at = self.next(value.end);
            members.push(Member { name: name.unwrap_or_default(), key, value });
            if self.byte(at) == b',' {
                at = self.next(at + 1);
            }
        }
        Object { open, close: at, members }
    }

    fn end_of_string(&self, start: usize) -> usize {
        end_of_string(&self.shape, start)
    }

    fn end_of_value(&self, start: usize) -> usize {
        let mut depth = 0_usize;
        let mut at = start;
        while at < self.shape.len() {
            match self.byte(at) {
                b'"' => {
                    at = self.end_of_string(at);
                    if depth == 0 {
                        return at;
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth <= 1 => return if depth == 1 { at + 1 } else { at },
                b'}' | b']' => depth -= 1,
                b',' if depth == 0 => return at,
                byte if depth == 0 && (byte.is_ascii_whitespace() || byte == COMMENT) => return at,
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// Returns the white space before what stands first in a line.
    fn indent_at(&self, at: usize) -> String {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
    }

    /// One step of indentation, as the first member of the root shows it.
    fn step(&self) -> String {
        let root = self.root();
        let first = root.members.first().filter(|_| self.is_laid_out(&root));
        let step = first.map(|member| self.indent_at(member.key.start)).unwrap_or_default();
        if step.is_empty() { INDENT.to_owned() } else { step }
    }

    /// Returns true if each member of an object has a separate line.
    fn is_laid_out(&self, object: &Object) -> bool {
        match object.members.first() {
            Some(first) => {
                self.text.get(object.open..first.key.start).is_some_and(|before| before.contains('\n'))
            }
            None => self.text.contains('\n') || self.text.trim() == "{}",
        }
    }

    /// Returns a value as text, whose later lines are indented by this.
    fn rendered(&self, value: &Value, indent: &str, is_laid_out: bool) -> String {
        if !is_laid_out {
            return value.to_string();
        }
        let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
        let step = self.step();
        let lines = pretty.lines().enumerate().map(|(number, line)| {
            let own = line.trim_start_matches(' ');
            // `serde_json` indents by two.
            let depth = (line.len() - own.len()) / 2;
            let indent = if number == 0 { "" } else { indent };
            format!("{indent}{}{own}", step.repeat(depth))
        });
        lines.collect::<Vec<_>>().join(line_end(self.text))
    }

    /// Returns the text with one member more at the end of an object.
    fn appended(&self, object: &Object, name: &str, value: &Value) -> String {
        let key = Value::from(name).to_string();
        let laid_out = self.is_laid_out(object);
        let newline = line_end(self.text);
        let Some(last) = object.members.last() else {
            let base = self.indent_at(object.open);
            let indent = format!("{base}{}", self.step());
            let inside = self.text.get(object.open + 1..object.close).unwrap_or_default().trim_end();
            let value = self.rendered(value, &indent, laid_out);
            let new = if laid_out {
                format!("{inside}{newline}{indent}{key}: {value}{newline}{base}")
            } else {
                format!("{inside}{key}:{value}")
            };
            return spliced(self.text, object.open + 1..object.close, &new);
        };
        let after = self.next(last.value.end);
        let has_comma = self.byte(after) == b',';
        let behind = if has_comma { after + 1 } else { last.value.end };
        if !laid_out {
            let value = self.rendered(value, "", false);
            let new = if has_comma { format!(" {key}:{value},") } else { format!(",{key}:{value}") };
            return spliced(self.text, behind..behind, &new);
        }
        let indent = self.indent_at(last.key.start);
        let value = self.rendered(value, &indent, true);
        // A comment behind the last member stays with it.
        let rest = self.shape.get(behind..object.close).unwrap_or_default();
        let line = rest.iter().take_while(|byte| matches!(**byte, b' ' | b'\t' | COMMENT)).count();
        let line = self.text.get(behind..behind + line).unwrap_or_default().trim_end().len();
        let place = behind + line;
        let comma = if has_comma { "," } else { "" };
        let new = format!("{newline}{indent}{key}: {value}{comma}");
        let text = spliced(self.text, place..place, &new);
        if has_comma { text } else { spliced(&text, last.value.end..last.value.end, ",") }
    }

    /// Returns the text without a member of an object.
    fn removed(&self, object: &Object, name: &str) -> String {
        let Some(index) = object.members.iter().position(|member| member.name == name) else {
            return self.text.to_owned();
        };
        let Some(member) = object.members.get(index) else { return self.text.to_owned() };
        let before = index.checked_sub(1).and_then(|index| object.members.get(index));
        let after = self.next(member.value.end);
        let has_comma = self.byte(after) == b',';
        let mut end = if has_comma { after + 1 } else { member.value.end };
        let mut start = member.key.start - self.line_before(member.key.start);
        if start == member.key.start {
            // In the middle of a line the space behind goes, too.
            let rest = self.text.get(end..).unwrap_or_default();
            end += if has_comma { rest.len() - rest.trim_start_matches(' ').len() } else { 0 };
        }
        let mut text = self.text.to_owned();
        match before {
            Some(before) if !has_comma => {
                let comma = self.next(before.value.end);
                let between = self.shape.get(comma + 1..member.key.start).unwrap_or_default();
                if between.iter().all(u8::is_ascii_whitespace) {
                    start = comma;
                    text = spliced(&text, start..end, "");
                } else {
                    text = spliced(&text, start..end, "");
                    text = spliced(&text, comma..comma + 1, "");
                }
            }
            _ => text = spliced(&text, start..end, ""),
        }
        if object.members.len() > 1 {
            return text;
        }
        let close = object.close - (self.text.len() - text.len());
        let inside = text.get(object.open + 1..close).unwrap_or_default();
        if inside.trim().is_empty() { spliced(&text, object.open + 1..close, "") } else { text }
    }

    /// Returns the number of bytes of white space before this in its line, including the line end; zero if there is
    /// anything else in the line before it.
    fn line_before(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.trim_end_matches([' ', '\t']);
        match line.strip_suffix('\n') {
            Some(rest) => at - rest.strip_suffix('\r').unwrap_or(rest).len(),
            None => 0,
        }
    }
}

/// Returns the text with its comments marked.
fn shape(text: &str) -> Result<Vec<u8>, Problem> {
    let mut shape = text.as_bytes().to_vec();
    let mut at = 0;
    while let Some(byte) = shape.get(at) {
        let end = match (byte, shape.get(at + 1)) {
            (b'"', _) => {
                at = end_of_string(&shape, at);
                continue;
            }
            (b'/', Some(b'/')) => {
                text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |end| at + end)
            }
            (b'/', Some(b'*')) => match text.get(at + 2..).and_then(|rest| rest.find("*/")) {
                Some(end) => at + 2 + end + 2,
                None => {
                    return Err(Problem {
                        at: Some(place(text, at)),
                        message: "the comment has no end".into(),
                    });
                }
            },
            (&COMMENT, _) => {
                return Err(Problem {
                    at: Some(place(text, at)),
                    message: "not valid JSON: a control character".into(),
                });
            }
            _ => {
                at += 1;
                continue;
            }
        };
        // The line end after a comment is not a part of it.
        let end =
            if text.get(at..end).is_some_and(|comment| comment.ends_with('\r')) { end - 1 } else { end };
        if let Some(comment) = shape.get_mut(at..end) {
            comment.fill(COMMENT);
        }
        at = end;
    }
    Ok(shape)
}

/// Behind the closing quote of a string that starts here.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Overwrites commas between a value and a closing bracket.
fn blank_last_commas(bytes: &mut [u8]) {
    let (mut at, mut comma, mut before) = (0, None, 0_u8);
    while let Some(byte) = bytes.get(at).copied() {
        match byte {
            b'"' => {
                at = end_of_string(bytes, at);
                (comma, before) = (None, byte);
                continue;
            }
            b',' => {
                comma = Some(at).filter(|_| !matches!(before, b'{' | b'[' | b',' | b':' | 0));
                before = byte;
            }
            b'}' | b']' => {
                if let Some(place) = comma.take().and_then(|comma| bytes.get_mut(comma)) {
                    *place = b' ';
                }
                before = byte;
            }
            byte if byte.is_ascii_whitespace() => {}
            byte => (comma, before) = (None, byte),
        }
        at += 1;
    }
}

fn problem(error: &Error) -> Problem {
    Problem {
        at: error.position().map(|position| (position.line, position.column)),
        message: error.to_string(),
    }
}

//! Calls without markers: forms that may be a call, but also an example, data or code.
//!
//! They are calls only if the tool is known and the message ends with them: a model that calls waits for the result, a
//! model that shows an example continues.

use serde_json::Value;

use super::call::{MAX_TEXT_CALLS, TextCall};
use super::cursor::{Cursor, Stop};
use super::fence;
use super::item::{Item, list};
use super::json_call::{
    BREAKS_OFF, MAX_NAME_BYTES, arguments, calls, guess_name, has_arguments, is_call, is_name,
    may_begin_call, unreadable,
};
use super::names::ToolNames;
use super::python;
use super::value::value;

/// The languages of a code block with JSON.
const JSON_LANGUAGES: [&str; 9] =
    ["", "json", "jsonc", "json5", "javascript", "tool_call", "tool_calls", "tool", "function_call"];

/// The languages of a code block that contains only calls in Python notation.
const CALL_LANGUAGES: [&str; 4] = ["tool_code", "tool_call", "tool_calls", "function_call"];

/// The languages of such a block that may contain code as well.
const CODE_LANGUAGES: [&str; 3] = ["", "python", "py"];

/// The context of a form.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormContext<'a> {
    pub(super) names: &'a ToolNames,
    /// True if there is no text before the form.
    pub(super) is_first: bool,
}

/// The result of reading a form.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Calls at the end of the message.
    Calls(Vec<TextCall>),
    /// Data or an example, at least up to this byte.
    Text { end: usize },
}

/// Reads a form that begins here, at the start of a line, and everything after it up to the end of the message.
pub(super) fn unmarked(cursor: &mut Cursor<'_>, context: FormContext<'_>) -> Result<Outcome, Stop> {
    let mut found: Vec<TextCall> = Vec::new();
    loop {
        cursor.skip_blanks();
        let Some(next) = cursor.peek() else {
            return if cursor.is_end() { Ok(Outcome::Calls(found)) } else { Err(Stop::Out) };
        };
        let at = cursor.at();
        let one = match next {
            '{' | '[' => json(cursor, context, at),
            '`' => block(cursor, context),
            'A' if cursor.begins("Action:")? => react(cursor, context.names),
            '>' => functionary(cursor, context.names),
            'f' if cursor.begins("functools[")? => functools(cursor, context.names),
            c if python::may_begin(c) => word(cursor, context),
            _ => Err(Stop::no("no call")),
        };
        match one {
            Ok(Outcome::Calls(calls)) => {
                found.extend(calls);
                found.truncate(MAX_TEXT_CALLS + 1);
                cursor.skip_blanks();
                cursor.eat(";");
            }
            Ok(text) => return Ok(text),
            Err(Stop::Out) => return Err(Stop::Out),
            // The forms before are followed by something else, so they are no calls either.
            Err(Stop::No(why)) if found.is_empty() => return Err(Stop::No(why)),
            Err(Stop::No(_)) => return Ok(Outcome::Text { end: at }),
        }
    }
}

/// Reads JSON, or a list in Python notation.
fn json(cursor: &mut Cursor<'_>, context: FormContext<'_>, from: usize) -> Result<Outcome, Stop> {
    if let Some(outcome) = python_list(cursor, context)? {
        return Ok(outcome);
    }
    match parsed(cursor, context.names, from) {
        Err(stop) if stop != Stop::Out && cursor.slice_from(from).starts_with('[') => Err(stop),
        // Invalid JSON has no recognizable end, so the rest of the message belongs to it.
        Err(stop) if context.is_first || stop == Stop::Out => {
            cursor.go_to_end();
            if !cursor.is_end() {
                return Err(Stop::Out);
            }
            let call = broken(cursor, context, from, &stop);
            Ok(call.map_or(Outcome::Text { end: cursor.at() }, |call| Outcome::Calls(vec![call])))
        }
        Err(_) => Ok(Outcome::Text { end: from + 1 }),
        outcome => outcome,
    }
}

/// Reads JSON, unless its first key shows that it is not a call.
fn parsed(cursor: &mut Cursor<'_>, names: &ToolNames, from: usize) -> Result<Outcome, Stop> {
    if cursor.rest().starts_with('[') && !begins_list(cursor)? {
        return Err(Stop::no("no call"));
    }
    if !begins_call(cursor)? {
        return Ok(Outcome::Text { end: from + 1 });
    }
    let value = value(cursor)?;
    let raw = cursor.slice(from, cursor.at());
    if !is_call(&value, names) {
        return Ok(Outcome::Text { end: cursor.at() });
    }
    Ok(Outcome::Calls(calls(value, raw, names)))
}

/// Returns true if a list begins with an object. The cursor does not move.
fn begins_list(cursor: &mut Cursor<'_>) -> Result<bool, Stop> {
    let at = cursor.at();
    cursor.next();
    cursor.skip_blanks();
    let begins = cursor.need().map(|c| c == '{');
    cursor.jump(at);
    begins
}

/// Returns true if the first key of the first object is one of a call. The cursor does not move.
fn begins_call(cursor: &mut Cursor<'_>) -> Result<bool, Stop> {
    let at = cursor.at();
    let mut look = || {
        if cursor.eat("[") {
            cursor.skip_blanks();
        }
        if cursor.need()? != '{' {
            return Ok(false);
        }
        cursor.next();
        cursor.skip_blanks();
        if !matches!(cursor.need()?, '"' | '\'' | '“' | '”' | '‘' | '’') {
            return Ok(false);
        }
        cursor.next();
        let key = cursor.take_while(MAX_NAME_BYTES, |c| c.is_alphanumeric() || c == '_');
        match key {
            Err(Stop::No(_)) => Ok(false),
            key => key.map(may_begin_call),
        }
    };
    let begins = look();
    cursor.jump(at);
    begins
}

/// Returns a call that is invalid JSON or breaks off, if a name and arguments show that a call was intended. Invalid
/// JSON that is a list, or follows other words, could be anything.
fn broken(cursor: &Cursor<'_>, context: FormContext<'_>, from: usize, stop: &Stop) -> Option<TextCall> {
    let raw = cursor.slice_from(from);
    let name = guess_name(raw).filter(|name| context.names.knows(name))?;
    let could_be_else = *stop != Stop::Out && (!context.is_first || raw.starts_with('['));
    if could_be_else || !has_arguments(raw) {
        return None;
    }
    let why = match stop {
        Stop::Out => BREAKS_OFF.to_owned(),
        Stop::No(why) => format!("the call cannot be read: {why}"),
    };
    Some(unreadable(context.names.strip(name).to_owned(), why, raw.trim()))
}

fn python_list(cursor: &mut Cursor<'_>, context: FormContext<'_>) -> Result<Option<Outcome>, Stop> {
    let at = cursor.at();
    if !cursor.eat("[") {
        return Ok(None);
    }
    cursor.skip_blanks();
    let is_python = python::may_begin(cursor.need()?);
    cursor.jump(at);
    if !is_python {
        return Ok(None);
    }
    if !context.is_first {
        return Err(Stop::no("no call"));
    }
    let found = match list(cursor, context.names) {
        Err(Stop::Out) if cursor.is_end() => return cut_off(cursor, context.names, at).map(Some),
        found => found?,
    };
    match found {
        Item::Calls(calls) if calls.iter().all(|call| context.names.knows(&call.name)) => {
            Ok(Some(Outcome::Calls(calls)))
        }
        _ => Err(Stop::no("no call")),
    }
}

/// Reads a call that begins with the name of its tool. Python notation counts only if there is no text before it.
fn word(cursor: &mut Cursor<'_>, context: FormContext<'_>) -> Result<Outcome, Stop> {
    let from = cursor.at();
    match named(cursor, context) {
        Err(Stop::No(_)) if context.is_first => {
            cursor.jump(from);
            statement(cursor, context.names)
        }
        outcome => outcome,
    }
}

/// Reads `name {…}`, the form of call templates.
fn named(cursor: &mut Cursor<'_>, context: FormContext<'_>) -> Result<Outcome, Stop> {
    let from = cursor.at();
    // Most lines begin with a word that is not a tool's name: they are not examined further, and do not count as
    // attempted calls.
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '-' | '/');
    let mut look = cursor.clone();
    let name = look.take_while(MAX_NAME_BYTES, is_part)?;
    if name.ends_with(':') || !context.names.knows(name) {
        return Err(Stop::no("no call"));
    }
    cursor.jump(look.at());
    cursor.skip_blanks();
    let object = cursor.at();
    match named_object(cursor, context.names, name, from) {
        // An object that begins with a key is intended as arguments; after other words it may be code.
        Err(Stop::No(why)) if context.is_first && begins_call_arguments(cursor.slice_from(object)) => {
            cursor.go_to_end();
            if !cursor.is_end() {
                return Err(Stop::Out);
            }
            let why = format!("the call cannot be read: {why}");
            let call = unreadable(context.names.strip(name).to_owned(), why, cursor.slice_from(from).trim());
            Ok(Outcome::Calls(vec![call]))
        }
        outcome => outcome,
    }
}

/// Returns true if a text begins as an object whose first key is in quotes.
fn begins_call_arguments(text: &str) -> bool {
    text.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with(['"', '\'', '“']))
}

/// Reads a call in Python notation.
fn statement(cursor: &mut Cursor<'_>, names: &ToolNames) -> Result<Outcome, Stop> {
    let from = cursor.at();
    let call = match python::call(cursor, names) {
        Err(Stop::Out) if cursor.is_end() => return cut_off(cursor, names, from),
        call => call?,
    };
    if names.knows(&call.name) { Ok(Outcome::Calls(vec![call])) } else { Err(Stop::no("no call")) }
}

/// Reads a call in Python notation, or a list of such calls, at which the message breaks off.
fn cut_off(cursor: &mut Cursor<'_>, names: &ToolNames, from: usize) -> Result<Outcome, Stop> {
    let raw = cursor.slice_from(from);
    let called = raw.trim_start_matches('[').split_once('(').map(|(name, _)| name.trim());
    match called.filter(|name| is_name(name) && names.knows(name)) {
        Some(name) => {
            cursor.go_to_end();
            Ok(Outcome::Calls(vec![unreadable(names.strip(name).to_owned(), BREAKS_OFF, raw.trim())]))
        }
        None => Err(Stop::no("no call")),
    }
}

/// Reads a code block that contains only calls.
fn block(cursor: &mut Cursor<'_>, context: FormContext<'_>) -> Result<Outcome, Stop> {
    let Some(language) = fence::line(cursor)? else { return Err(Stop::no("no call")) };
    let language = language.to_ascii_lowercase();
    let may_be = |languages: &[&str]| languages.contains(&language.as_str());
    let is_json = may_be(&JSON_LANGUAGES);
    let is_python = may_be(&CALL_LANGUAGES) || (context.is_first && may_be(&CODE_LANGUAGES));
    let mut found = Vec::new();
    let inner = FormContext { is_first: true, ..context };
    loop {
        cursor.skip_blanks();
        let at = cursor.at();
        let Some(next) = cursor.peek() else {
            return if cursor.is_end() { Ok(Outcome::Calls(found)) } else { Err(Stop::Out) };
        };
        let one = match next {
            '`' if !found.is_empty() && cursor.begins("```")? => {
                cursor.eat("```");
                return Ok(Outcome::Calls(found));
            }
            '{' | '[' if is_json || is_python => fenced_json(cursor, inner, at, is_json),
            c if (is_json || is_python) && python::may_begin(c) => {
                word(cursor, FormContext { is_first: is_python, ..context })
            }
            _ => Err(Stop::no("no call")),
        };
        match one? {
            Outcome::Calls(calls) => found.extend(calls),
            Outcome::Text { .. } => return Err(Stop::no("no call")),
        }
        found.truncate(MAX_TEXT_CALLS + 1);
        cursor.skip_blanks();
        if !cursor.eat(",") {
            cursor.eat(";");
        }
    }
}

/// Reads JSON as [`json`] does, except that the end of the block ends unreadable JSON.
fn fenced_json(
    cursor: &mut Cursor<'_>,
    context: FormContext<'_>,
    from: usize,
    is_json: bool,
) -> Result<Outcome, Stop> {
    if let Some(outcome) = python_list(cursor, context)? {
        return Ok(outcome);
    }
    if !is_json {
        return Err(Stop::no("no call"));
    }
    match parsed(cursor, context.names, from) {
        Ok(outcome) => Ok(outcome),
        Err(Stop::Out) if !cursor.is_end() => Err(Stop::Out),
        Err(stop) => {
            cursor.jump(from);
            let rest = cursor.rest();
            let length = match rest.find("\n```") {
                None if !cursor.is_end() => return Err(Stop::Out),
                length => length.unwrap_or(rest.len()),
            };
            cursor.jump(from + length);
            let inner = Cursor::new(cursor.slice(0, from + length), from, true);
            broken(&inner, context, from, &stop)
                .map(|call| Outcome::Calls(vec![call]))
                .ok_or(Stop::no("no call"))
        }
    }
}

/// Reads `Action: name` and `Action Input: {…}`, each on its line.
fn react(cursor: &mut Cursor<'_>, names: &ToolNames) -> Result<Outcome, Stop> {
    let from = cursor.at();
    cursor.eat("Action:");
    let name = cursor.take_while(MAX_NAME_BYTES, |c| c != '\n')?.trim().trim_matches('`');
    cursor.skip_blanks();
    if !is_name(name) || !names.knows(name) || !cursor.begins("Action Input:")? {
        return Err(Stop::no("no call"));
    }
    cursor.eat("Action Input:");
    cursor.skip_blanks();
    named_object(cursor, names, name, from)
}

/// Reads `>>>name` and the arguments on the next line.
fn functionary(cursor: &mut Cursor<'_>, names: &ToolNames) -> Result<Outcome, Stop> {
    let from = cursor.at();
    if !cursor.begins(">>>")? {
        return Err(Stop::no("no call"));
    }
    cursor.eat(">>>");
    let name = cursor.take_while(MAX_NAME_BYTES, |c| c != '\n')?;
    cursor.next();
    if !is_name(name) || !names.knows(name) {
        return Err(Stop::no("no call"));
    }
    named_object(cursor, names, name, from)
}

/// Reads `functools[{…}]`.
fn functools(cursor: &mut Cursor<'_>, names: &ToolNames) -> Result<Outcome, Stop> {
    cursor.eat("functools");
    let from = cursor.at();
    parsed(cursor, names, from)
}

/// Reads the object of arguments after a name.
fn named_object(
    cursor: &mut Cursor<'_>,
    names: &ToolNames,
    name: &str,
    from: usize,
) -> Result<Outcome, Stop> {
    if cursor.need()? != '{' {
        return Err(Stop::no("no call"));
    }
    let name = names.strip(name).to_owned();
    let found: Result<Value, Stop> = value(cursor);
    let read = match found {
        Ok(value) => arguments("arguments", value),
        Err(Stop::Out) if cursor.is_end() => {
            cursor.go_to_end();
            Err(BREAKS_OFF.to_owned())
        }
        Err(stop) => return Err(stop),
    };
    let raw = cursor.slice(from, cursor.at()).to_owned();
    Ok(Outcome::Calls(vec![TextCall { name, arguments: read, raw }]))
}

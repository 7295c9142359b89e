//! Calls that are written as XML elements, with arguments as child elements.
//!
//! The content of such an element is a text, even if it looks like another type: the schema of the tool decides whether
//! `5` is a number, and the repair of arguments uses it. The text is read as a value only if the model marks it as not
//! a string (`string="false"`).

use serde_json::Value;
use toolcrib_model::JsonObject;

use super::call::TextCall;
use super::cursor::{Cursor, Stop};
use super::json_call::{MAX_NAME_BYTES, arguments as from_value, from_text};
use super::marker::{Marker, MarkerKind, marker};
use super::names::ToolNames;
use super::python;
use super::value::value;

/// The longest name of an argument, in bytes.
const MAX_KEY_BYTES: usize = 256;

/// Reads the body of `<function=name>` or `<invoke name="name">`, whose opening marker was just read and begins at
/// `from`.
pub(super) fn function(
    cursor: &mut Cursor<'_>,
    open: &Marker<'_>,
    from: usize,
    names: &ToolNames,
) -> Result<TextCall, Stop> {
    let mut name = open.value().map(|name| name.trim_end_matches('/').to_owned());
    let is_whole = open.attributes.trim_end().ends_with('/');
    let arguments = if is_whole { Ok(JsonObject::new()) } else { body(cursor, &mut name, &open.word)? };
    let name =
        name.filter(|name| !name.trim().is_empty()).ok_or(Stop::no("the call has no name of a tool"))?;
    let raw = cursor.slice(from, cursor.at()).to_owned();
    Ok(TextCall { name: names.strip(&name).to_owned(), arguments, raw })
}

/// Reads arguments up to the marker that closes the call.
fn body(
    cursor: &mut Cursor<'_>,
    name: &mut Option<String>,
    closing: &str,
) -> Result<Result<JsonObject, String>, Stop> {
    let mut arguments = JsonObject::new();
    let mut whole = None;
    loop {
        let before = cursor.at();
        cursor.skip_blanks();
        let Some(next) = cursor.peek() else {
            // A JSON object shows that it is complete; of other arguments some may be missing.
            return if cursor.is_end() && whole.is_some() {
                Ok(whole.unwrap_or(Ok(arguments)))
            } else {
                Err(Stop::Out)
            };
        };
        if whole.is_none() && arguments.is_empty() && matches!(next, '{' | '(') {
            whole = Some(match next {
                '(' => Ok(python::arguments(cursor)?),
                _ => from_value("arguments", value(cursor)?),
            });
            // The end of a marker that contains the arguments.
            if cursor.peek() == Some('>') {
                cursor.next();
            }
            continue;
        }
        if next != '<' {
            return match whole {
                Some(whole) => {
                    cursor.jump(before);
                    Ok(whole)
                }
                None => Err(Stop::no("expected an argument, found other text")),
            };
        }
        let at = cursor.at();
        let read = match marker(cursor) {
            Err(Stop::Out) if cursor.is_end() && whole.is_some() => return Ok(whole.unwrap_or(Ok(arguments))),
            Err(Stop::Out) => return Err(Stop::Out),
            read => read.ok(),
        };
        match read {
            Some(mark) if mark.is_close && mark.word == closing => return Ok(whole.unwrap_or(Ok(arguments))),
            // The enclosing marker closes the call too.
            Some(mark)
                if mark.is_close
                    && matches!(mark.kind, MarkerKind::Call | MarkerKind::TurnEnd | MarkerKind::Tools) =>
            {
                cursor.jump(before);
                return Ok(whole.unwrap_or(Ok(arguments)));
            }
            Some(mark) if !mark.is_close && whole.is_none() => match mark.kind {
                MarkerKind::Parameter => parameter(cursor, &mark, &mut arguments)?,
                MarkerKind::Name if name.is_none() => {
                    *name = Some(enclosed(cursor, &mark.word)?.trim().to_owned());
                }
                MarkerKind::Arguments => whole = Some(object(cursor, &mark.word)?),
                _ => return Err(Stop::no("expected an argument, found other text")),
            },
            _ if whole.is_some() => {
                cursor.jump(before);
                return Ok(whole.unwrap_or(Ok(arguments)));
            }
            _ => {
                cursor.jump(at);
                return Err(Stop::no("expected an argument, found other text"));
            }
        }
    }
}

/// Reads one argument, whose opening marker was just read.
fn parameter(cursor: &mut Cursor<'_>, open: &Marker<'_>, arguments: &mut JsonObject) -> Result<(), Stop> {
    let key = open.value().ok_or(Stop::no("an argument has no name"))?.to_owned();
    let text = enclosed(cursor, &open.word)?;
    let is_text = open.attribute("string").is_none_or(|is_text| is_text != "false");
    insert(arguments, key, text, is_text)
}

fn insert(arguments: &mut JsonObject, key: String, text: &str, is_text: bool) -> Result<(), Stop> {
    let plain = without_line_ends(text);
    let value = (!is_text).then(|| literal(plain)).flatten().unwrap_or_else(|| Value::from(plain));
    match arguments.insert(key, value) {
        None => Ok(()),
        Some(_) => Err(Stop::no("an argument is given twice")),
    }
}

/// Returns the value of a text that is a literal as a whole.
fn literal(text: &str) -> Option<Value> {
    toolcrib_document::StrictValue::parse(text.trim()).ok().map(|value| value.0)
}

/// Returns the text without the line ends that only separate it from its markers.
fn without_line_ends(text: &str) -> &str {
    let text = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text);
    text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(text)
}

/// Reads up to the marker that closes a word. A marker that is followed neither by another one nor by the end is part
/// of the text: arguments can mention markers.
fn enclosed<'a>(cursor: &mut Cursor<'a>, word: &str) -> Result<&'a str, Stop> {
    let from = cursor.at();
    loop {
        let Some(length) = cursor.rest().find('<') else {
            cursor.go_to_end();
            return Err(Stop::Out);
        };
        let at = cursor.at() + length;
        cursor.jump(at);
        match marker(cursor) {
            Err(Stop::Out) => return Err(Stop::Out),
            Ok(mark) if mark.is_close && mark.word == word => {
                let end = cursor.at();
                cursor.skip_blanks();
                let is_followed = match cursor.peek() {
                    None if !cursor.is_end() => return Err(Stop::Out),
                    None | Some('<' | '{') => true,
                    Some(_) => false,
                };
                if is_followed {
                    cursor.jump(end);
                    return Ok(cursor.slice(from, at));
                }
            }
            _ => {}
        }
        cursor.jump(at + 1);
    }
}

/// Reads all arguments up to the marker that closes a word: a JSON object, or an element for each.
pub(super) fn object(cursor: &mut Cursor<'_>, word: &str) -> Result<Result<JsonObject, String>, Stop> {
    let from = cursor.at();
    cursor.skip_blanks();
    match cursor.need()? {
        '{' => {
            let arguments = from_value("arguments", value(cursor)?);
            close(cursor, word)?;
            Ok(arguments)
        }
        '<' => elements(cursor, word).map(Ok),
        _ => {
            cursor.jump(from);
            enclosed(cursor, word).map(from_text)
        }
    }
}

/// Reads `<key>value</key>` for each argument.
fn elements(cursor: &mut Cursor<'_>, word: &str) -> Result<JsonObject, Stop> {
    let mut arguments = JsonObject::new();
    loop {
        cursor.skip_blanks();
        if closes(cursor, word)? {
            return Ok(arguments);
        }
        if cursor.need()? != '<' {
            return Err(Stop::no("expected an argument, found other text"));
        }
        cursor.next();
        let key =
            cursor.take_while(MAX_KEY_BYTES, |c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))?;
        if key.is_empty() || cursor.need()? != '>' {
            return Err(Stop::no("an argument has no name"));
        }
        cursor.next();
        let closing = format!("</{key}>");
        let from = cursor.at();
        let Some(length) = cursor.rest().find(&closing) else {
            cursor.go_to_end();
            return Err(Stop::Out);
        };
        cursor.jump(from + length + closing.len());
        insert(&mut arguments, key.to_owned(), cursor.slice(from, from + length), true)?;
    }
}

fn closes(cursor: &mut Cursor<'_>, word: &str) -> Result<bool, Stop> {
    let at = cursor.at();
    match marker(cursor) {
        Err(Stop::Out) => Err(Stop::Out),
        Ok(mark) if mark.is_close && mark.word == word => Ok(true),
        _ => {
            cursor.jump(at);
            Ok(false)
        }
    }
}

fn close(cursor: &mut Cursor<'_>, word: &str) -> Result<(), Stop> {
    cursor.skip_blanks();
    if closes(cursor, word)? {
        Ok(())
    } else {
        Err(Stop::no("found other text between the arguments and the marker that closes them"))
    }
}

/// Reads the name of the tool in `<name>…</name>`, whose opening marker was just read.
pub(super) fn name<'a>(cursor: &mut Cursor<'a>, word: &str) -> Result<&'a str, Stop> {
    let name = enclosed(cursor, word)?.trim();
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains(char::is_whitespace) {
        return Err(Stop::no("the call has no name of a tool"));
    }
    Ok(name)
}

/// Reads all pairs of `<arg_key>` and `<arg_value>`, the notation of GLM.
pub(super) fn pairs(cursor: &mut Cursor<'_>) -> Result<JsonObject, Stop> {
    let mut arguments = JsonObject::new();
    loop {
        let before = cursor.at();
        cursor.skip_blanks();
        if cursor.need()? != '<' {
            return Err(Stop::no("expected an argument, found other text"));
        }
        match marker(cursor) {
            Err(Stop::Out) => return Err(Stop::Out),
            Ok(mark) if mark.kind == MarkerKind::Key && !mark.is_close => {
                let key = enclosed(cursor, &mark.word)?.trim().to_owned();
                cursor.skip_blanks();
                cursor.need()?;
                let open = marker(cursor)?;
                if open.kind != MarkerKind::Value || open.is_close {
                    return Err(Stop::no("an argument has no value"));
                }
                let text = enclosed(cursor, &open.word)?;
                insert(&mut arguments, key, text, true)?;
            }
            _ => {
                cursor.jump(before);
                return Ok(arguments);
            }
        }
    }
}

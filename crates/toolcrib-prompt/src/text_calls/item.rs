//! A call, or a list of calls, in any notation, at a position where calls are expected.

use serde_json::Value;
use toolcrib_model::JsonObject;

use super::call::{MAX_TEXT_CALLS, TextCall};
use super::cursor::{Cursor, Stop};
use super::element;
use super::fence;
use super::json_call::{MAX_NAME_BYTES, arguments, calls};
use super::marker::{MarkerKind, marker};
use super::names::ToolNames;
use super::python;
use super::value::value;

/// An item that was read.
pub(super) enum Item {
    Calls(Vec<TextCall>),
    /// Words before a call, which were skipped.
    Skipped,
    /// Nothing that could be a call.
    None,
}

/// Reads the next item.
pub(super) fn item(cursor: &mut Cursor<'_>, names: &ToolNames) -> Result<Item, Stop> {
    match cursor.need()? {
        '{' => json(cursor, names).map(Item::Calls),
        '[' => list(cursor, names),
        '<' => fields(cursor, names),
        c if python::may_begin(c) => head(cursor, names),
        _ => Ok(Item::None),
    }
}

fn json(cursor: &mut Cursor<'_>, names: &ToolNames) -> Result<Vec<TextCall>, Stop> {
    let from = cursor.at();
    let value = value(cursor)?;
    Ok(calls(value, cursor.slice(from, cursor.at()), names))
}

/// Reads a list of JSON objects, or of calls in Python notation.
pub(super) fn list(cursor: &mut Cursor<'_>, names: &ToolNames) -> Result<Item, Stop> {
    let from = cursor.at();
    cursor.next();
    let mut found = Vec::new();
    loop {
        cursor.skip_blanks();
        match cursor.need()? {
            ']' => {
                cursor.next();
                if found.is_empty() {
                    found = calls(Value::Array(Vec::new()), cursor.slice(from, cursor.at()), names);
                }
                return Ok(Item::Calls(found));
            }
            c if python::may_begin(c) => found.push(python::call(cursor, names)?),
            _ => found.extend(json(cursor, names)?),
        }
        found.truncate(MAX_TEXT_CALLS + 1);
        cursor.skip_blanks();
        match cursor.need()? {
            ',' => drop(cursor.next()),
            ']' => {}
            _ => return Err(Stop::no("neither `,` nor `]` follows a call of a list")),
        }
    }
}

/// Reads a name, and the arguments after it.
fn head(cursor: &mut Cursor<'_>, names: &ToolNames) -> Result<Item, Stop> {
    let from = cursor.at();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '-' | '/');
    let word = match cursor.take_while(MAX_NAME_BYTES, is_part) {
        Err(Stop::No(_)) => return Ok(Item::None),
        word => word?,
    };
    if cursor.peek() == Some('(') {
        cursor.jump(from);
        return python::call(cursor, names).map(|call| Item::Calls(vec![call]));
    }
    let name = word.strip_prefix("call:").unwrap_or(word);
    let Some(arguments) = behind_name(cursor, names, name)? else { return Ok(Item::None) };
    // DeepSeek writes the type of the call first.
    if name == "function"
        && let Behind::Middle = arguments
    {
        return Ok(Item::Skipped);
    }
    let arguments = match arguments {
        Behind::Arguments(arguments) => arguments,
        Behind::Middle => object(cursor)?,
    };
    let raw = cursor.slice(from, cursor.at()).to_owned();
    let name = names.strip(without_number(name)).to_owned();
    Ok(Item::Calls(vec![TextCall { name, arguments, raw }]))
}

/// The text after the name of a tool.
enum Behind {
    Arguments(Result<JsonObject, String>),
    /// A marker that separates the name from the arguments.
    Middle,
}

fn behind_name(cursor: &mut Cursor<'_>, names: &ToolNames, name: &str) -> Result<Option<Behind>, Stop> {
    let at = cursor.at();
    cursor.skip_blanks();
    match cursor.need()? {
        '{' => value(cursor).map(|value| Some(Behind::Arguments(arguments("arguments", value)))),
        '`' if cursor.begins("```")? => object(cursor).map(|found| Some(Behind::Arguments(found))),
        '[' | '<' => {
            let before = cursor.at();
            if call_id(cursor)? {
                cursor.skip_blanks();
            }
            match marker(cursor) {
                Err(Stop::Out) => Err(Stop::Out),
                Ok(mark) if mark.kind == MarkerKind::Middle => Ok(Some(Behind::Middle)),
                Ok(mark) if mark.kind == MarkerKind::Key && !mark.is_close => {
                    cursor.jump(before);
                    element::pairs(cursor).map(|arguments| Some(Behind::Arguments(Ok(arguments))))
                }
                // GLM writes nothing after the name if there are no arguments.
                Ok(mark) if mark.kind == MarkerKind::Call && mark.is_close && names.knows(name) => {
                    cursor.jump(at);
                    Ok(Some(Behind::Arguments(Ok(JsonObject::new()))))
                }
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

/// Reads an id in the notation of Mistral, `[CALL_ID]x`, up to the next marker.
fn call_id(cursor: &mut Cursor<'_>) -> Result<bool, Stop> {
    if !cursor.begins("[CALL_ID]")? {
        return Ok(false);
    }
    cursor.eat("[CALL_ID]");
    cursor.take_while(MAX_NAME_BYTES, |c| c != '[' && c != '{')?;
    Ok(true)
}

/// Reads an object of arguments, in a code fence or not.
fn object(cursor: &mut Cursor<'_>) -> Result<Result<JsonObject, String>, Stop> {
    cursor.skip_blanks();
    let is_fenced = cursor.need()? == '`' && fence::line(cursor)?.is_some();
    cursor.skip_blanks();
    let found = match cursor.need()? {
        '{' | '"' => value(cursor).map(|value| arguments("arguments", value))?,
        _ => return Err(Stop::no("no JSON object of arguments follows the name")),
    };
    if is_fenced {
        let end = cursor.at();
        cursor.skip_blanks();
        if cursor.is_out() && !cursor.is_end() {
            return Err(Stop::Out);
        }
        if !cursor.begins("```")? || !cursor.eat("```") {
            cursor.jump(end);
        }
    }
    Ok(found)
}

/// Returns the name without the number that Kimi appends, as in `functions.read:0`.
fn without_number(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((name, number)) if !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()) => name,
        _ => name,
    }
}

/// Reads `<name>…</name>`, and the arguments as an element or as JSON.
fn fields(cursor: &mut Cursor<'_>, names: &ToolNames) -> Result<Item, Stop> {
    let from = cursor.at();
    let mark = match marker(cursor) {
        Err(Stop::Out) => return Err(Stop::Out),
        Ok(mark) if !mark.is_close && matches!(mark.kind, MarkerKind::Name | MarkerKind::Function) => mark,
        _ => return Ok(Item::None),
    };
    let name = element::name(cursor, &mark.word)?.to_owned();
    let at = cursor.at();
    cursor.skip_blanks();
    let found = match cursor.need()? {
        '{' => value(cursor).map(|value| arguments("arguments", value))?,
        '<' => match marker(cursor) {
            Err(Stop::Out) => return Err(Stop::Out),
            Ok(mark) if mark.kind == MarkerKind::Arguments && !mark.is_close => {
                element::object(cursor, &mark.word)?
            }
            Ok(mark) if mark.kind == MarkerKind::Call && mark.is_close => {
                cursor.jump(at);
                Ok(JsonObject::new())
            }
            _ => return Err(Stop::no("no arguments follow the name")),
        },
        _ => return Err(Stop::no("no arguments follow the name")),
    };
    let raw = cursor.slice(from, cursor.at()).to_owned();
    Ok(Item::Calls(vec![TextCall { name: names.strip(&name).to_owned(), arguments: found, raw }]))
}

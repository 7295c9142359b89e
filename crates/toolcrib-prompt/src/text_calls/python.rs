//! Calls in Python notation: `name(key=value)`.

use toolcrib_model::JsonObject;

use super::call::TextCall;
use super::cursor::{Cursor, Stop};
use super::json_call::MAX_NAME_BYTES;
use super::names::ToolNames;
use super::value::value;

/// The function that prints a value.
const PRINT: &str = "print";

/// Returns true if a dotted Python name may contain this character.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.')
}

/// Returns true if a Python name may begin with this character.
pub(super) fn may_begin(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Reads a call, and moves past it. A call within `print` counts as if it were bare. All arguments must be named, with
/// literal values; a single object is accepted in place of all of them.
pub(super) fn call(cursor: &mut Cursor<'_>, names: &ToolNames) -> Result<TextCall, Stop> {
    let from = cursor.at();
    if names.knows(PRINT) || name(cursor)? != PRINT {
        cursor.jump(from);
        return plain(cursor, names);
    }
    cursor.next();
    cursor.skip_blanks();
    let inner = plain(cursor, names)?;
    cursor.skip_blanks();
    if cursor.need()? != ')' {
        return Err(Stop::no("no `)` follows the call that is printed"));
    }
    cursor.next();
    Ok(inner)
}

fn plain(cursor: &mut Cursor<'_>, names: &ToolNames) -> Result<TextCall, Stop> {
    let from = cursor.at();
    let name = name(cursor)?;
    let arguments = arguments(cursor)?;
    let raw = cursor.slice(from, cursor.at()).to_owned();
    Ok(TextCall { name: names.strip(name).to_owned(), arguments: Ok(arguments), raw })
}

/// Reads a name, up to the `(` after it.
fn name<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, Stop> {
    if !may_begin(cursor.need()?) {
        return Err(Stop::no("no name of a tool"));
    }
    let name = cursor.take_while(MAX_NAME_BYTES, is_part)?;
    match cursor.need()? {
        '(' => Ok(name),
        _ => Err(Stop::no("no call")),
    }
}

/// Reads `(key=value, …)`.
pub(super) fn arguments(cursor: &mut Cursor<'_>) -> Result<JsonObject, Stop> {
    cursor.next();
    let mut arguments = JsonObject::new();
    loop {
        cursor.skip_blanks();
        match cursor.need()? {
            ')' => {
                cursor.next();
                return Ok(arguments);
            }
            '{' if arguments.is_empty() => {
                if let serde_json::Value::Object(object) = value(cursor)? {
                    arguments = object;
                }
            }
            '*' => {
                cursor.next();
                cursor.eat("*");
                continue;
            }
            _ => argument(cursor, &mut arguments)?,
        }
        cursor.skip_blanks();
        match cursor.need()? {
            ',' => drop(cursor.next()),
            ')' => {}
            _ => return Err(Stop::no("neither `,` nor `)` follows an argument")),
        }
    }
}

fn argument(cursor: &mut Cursor<'_>, arguments: &mut JsonObject) -> Result<(), Stop> {
    let unnamed = || Stop::no("the arguments must be named, as in `tool(path=\"a\")`");
    let key = match cursor.take_while(MAX_NAME_BYTES, is_part)? {
        key if key.starts_with(may_begin) => key,
        _ => return Err(unnamed()),
    };
    cursor.skip_blanks();
    if !matches!(cursor.need()?, '=' | ':') {
        return Err(unnamed());
    }
    cursor.next();
    let value = value(cursor)?;
    if arguments.insert(key.to_owned(), value).is_some() {
        return Err(Stop::no("an argument is given twice"));
    }
    Ok(())
}

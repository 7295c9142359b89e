//! Values as models write them: JSON, and texts that are intended as JSON or as Python literals.
//!
//! Valid JSON is read as JSON. In addition, single quotes, curly quotes, triple quotes, keys without quotes, line ends
//! in strings, trailing commas, and `True`, `False` and `None` are accepted, because each of them is unambiguous.

use serde_json::{Map, Number, Value};

use super::cursor::{Cursor, Stop};

/// The deepest nesting of a value.
pub(super) const MAX_VALUE_DEPTH: usize = 100;

/// The longest number, in bytes.
const MAX_NUMBER_BYTES: usize = 400;

/// The longest key without quotes, in bytes.
const MAX_BARE_KEY_BYTES: usize = 256;

/// The tokens that some models write around a string instead of quotes.
const TEXT_TOKENS: [&str; 2] = ["<|\"|>", "<escape>"];

/// Reads a value, and moves past it.
pub(super) fn value(cursor: &mut Cursor<'_>) -> Result<Value, Stop> {
    nested(cursor, 0)
}

fn nested(cursor: &mut Cursor<'_>, depth: usize) -> Result<Value, Stop> {
    if depth > MAX_VALUE_DEPTH {
        return Err(Stop::no("it is nested too deeply"));
    }
    cursor.skip_blanks();
    match cursor.need()? {
        '{' => object(cursor, depth).map(Value::Object),
        '[' => array(cursor, depth),
        c if is_quote(c) => text(cursor).map(Value::String),
        '<' => token_text(cursor).map(Value::String),
        _ => word(cursor),
    }
}

fn object(cursor: &mut Cursor<'_>, depth: usize) -> Result<Map<String, Value>, Stop> {
    cursor.next();
    let mut object = Map::new();
    loop {
        cursor.skip_blanks();
        if cursor.need()? == '}' {
            cursor.next();
            return Ok(object);
        }
        let key = key(cursor)?;
        cursor.skip_blanks();
        if cursor.need()? != ':' {
            return Err(Stop::No(format!("no `:` follows the key `{}`", shown(&key)).into()));
        }
        cursor.next();
        let value = nested(cursor, depth + 1)?;
        if object.contains_key(&key) {
            return Err(Stop::No(format!("the key `{}` occurs twice in one object", shown(&key)).into()));
        }
        object.insert(key, value);
        cursor.skip_blanks();
        match cursor.need()? {
            ',' => drop(cursor.next()),
            '}' => {}
            _ => return Err(Stop::no("neither `,` nor `}` follows a value of an object")),
        }
    }
}

fn array(cursor: &mut Cursor<'_>, depth: usize) -> Result<Value, Stop> {
    cursor.next();
    let mut items = Vec::new();
    loop {
        cursor.skip_blanks();
        if cursor.need()? == ']' {
            cursor.next();
            return Ok(Value::Array(items));
        }
        items.push(nested(cursor, depth + 1)?);
        cursor.skip_blanks();
        match cursor.need()? {
            ',' => drop(cursor.next()),
            ']' => {}
            _ => return Err(Stop::no("neither `,` nor `]` follows a value of an array")),
        }
    }
}

fn key(cursor: &mut Cursor<'_>) -> Result<String, Stop> {
    match cursor.need()? {
        c if is_quote(c) => text(cursor),
        '<' => token_text(cursor),
        c if c.is_alphabetic() || matches!(c, '_' | '$') => {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.');
            cursor.take_while(MAX_BARE_KEY_BYTES, is_part).map(str::to_owned)
        }
        _ => Err(Stop::no("a key of an object is missing")),
    }
}

/// Reads a number, or a word that denotes a value.
fn word(cursor: &mut Cursor<'_>) -> Result<Value, Stop> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-' | '.');
    match cursor.take_while(MAX_NUMBER_BYTES, is_part)? {
        "true" | "True" => Ok(Value::Bool(true)),
        "false" | "False" => Ok(Value::Bool(false)),
        "null" | "None" => Ok(Value::Null),
        _ if cursor.is_out() => Err(Stop::Out),
        word => match serde_json::from_str::<Number>(word) {
            Ok(number) if number.is_f64() && !word.contains(['.', 'e', 'E']) && word != "-0" => {
                Err(Stop::no("an integer needs more than 64 bits and would be rounded; write it in quotes"))
            }
            Ok(number) => Ok(Value::Number(number)),
            Err(_) => Err(Stop::no("a value is neither a text in quotes nor a number")),
        },
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'') || is_double_curly(c) || is_single_curly(c)
}

fn is_double_curly(c: char) -> bool {
    matches!(c, '“' | '”' | '„' | '‟')
}

fn is_single_curly(c: char) -> bool {
    matches!(c, '‘' | '’' | '‚' | '‛')
}

/// Reads a string between tokens, which has no escapes.
fn token_text(cursor: &mut Cursor<'_>) -> Result<String, Stop> {
    for token in TEXT_TOKENS {
        if cursor.begins(token)? {
            cursor.eat(token);
            let from = cursor.at();
            let Some(length) = cursor.rest().find(token) else {
                cursor.go_to_end();
                return Err(Stop::Out);
            };
            cursor.jump(from + length + token.len());
            return Ok(cursor.slice(from, from + length).to_owned());
        }
    }
    Err(Stop::no("a value is neither a text in quotes nor a number"))
}

/// Reads a string between quotes.
fn text(cursor: &mut Cursor<'_>) -> Result<String, Stop> {
    for triple in ["\"\"\"", "'''"] {
        if cursor.begins(triple)? {
            cursor.eat(triple);
            return until(cursor, |cursor| Ok(cursor.begins(triple)? && cursor.eat(triple)));
        }
    }
    match cursor.next() {
        Some('"') => until(cursor, |cursor| Ok(cursor.eat("\""))),
        Some('\'') => {
            let mut before = ' ';
            until(cursor, move |cursor| {
                let c = cursor.need()?;
                // The apostrophe of `it's` ends no string; no letter follows one that does.
                let ends = c == '\''
                    && !(before.is_alphanumeric() && follows(cursor)?.is_some_and(char::is_alphanumeric));
                before = c;
                if ends {
                    cursor.next();
                }
                Ok(ends)
            })
        }
        Some(open) => {
            let is_double = is_double_curly(open);
            until(cursor, move |cursor| {
                let c = cursor.need()?;
                let may_end =
                    if is_double { is_double_curly(c) || c == '"' } else { is_single_curly(c) || c == '\'' };
                let ends = may_end && ends_value(cursor, c)?;
                if ends {
                    cursor.next();
                }
                Ok(ends)
            })
        }
        None => Err(Stop::Out),
    }
}

/// Returns the character after the next one; `None` at the end of the text.
fn follows(cursor: &Cursor<'_>) -> Result<Option<char>, Stop> {
    match cursor.rest().chars().nth(1) {
        None if !cursor.is_end() => Err(Stop::Out),
        c => Ok(c),
    }
}

/// Returns true if the quote at the cursor ends a value or a key. Curly quotes also occur within strings.
fn ends_value(cursor: &Cursor<'_>, quote: char) -> Result<bool, Stop> {
    let behind = cursor.rest().get(quote.len_utf8()..).unwrap_or_default().trim_start();
    match behind.chars().next() {
        None if !cursor.is_end() => Err(Stop::Out),
        c => Ok(c.is_none_or(|c| matches!(c, ',' | ':' | '}' | ']' | ')'))),
    }
}

/// Reads characters and escapes until something ends them.
fn until(
    cursor: &mut Cursor<'_>,
    mut ends: impl FnMut(&mut Cursor<'_>) -> Result<bool, Stop>,
) -> Result<String, Stop> {
    let mut text = String::new();
    loop {
        cursor.need()?;
        if ends(cursor)? {
            return Ok(text);
        }
        match cursor.next() {
            None => return Err(Stop::Out),
            Some('\\') => escape(cursor, &mut text)?,
            Some(c) => text.push(c),
        }
    }
}

/// Reads an escape without its backslash. An escape that JSON does not define is taken literally, as in Python.
fn escape(cursor: &mut Cursor<'_>, text: &mut String) -> Result<(), Stop> {
    let c = cursor.need()?;
    cursor.next();
    match c {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        'b' => text.push('\u{8}'),
        'f' => text.push('\u{c}'),
        '"' | '\'' | '\\' | '/' => text.push(c),
        'u' => text.push(unicode(cursor)?),
        _ => text.extend(['\\', c]),
    }
    Ok(())
}

/// Reads the character of four hexadecimal digits, or of eight with another `\u` between.
fn unicode(cursor: &mut Cursor<'_>) -> Result<char, Stop> {
    let first = hex(cursor)?;
    let code = if (0xD800..0xDC00).contains(&first) {
        if !cursor.begins("\\u")? {
            return Err(Stop::no("a `\\u` escape is half a character"));
        }
        cursor.eat("\\u");
        let second = hex(cursor)?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(Stop::no("a `\\u` escape is half a character"));
        }
        0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
    } else {
        first
    };
    char::from_u32(code).ok_or(Stop::no("a `\\u` escape is half a character"))
}

fn hex(cursor: &mut Cursor<'_>) -> Result<u32, Stop> {
    let mut code = 0;
    for _ in 0..4 {
        let digit = cursor.need()?.to_digit(16).ok_or(Stop::no("a `\\u` escape has not four digits"))?;
        cursor.next();
        code = code * 16 + digit;
    }
    Ok(code)
}

/// Returns a key as errors show it.
fn shown(key: &str) -> String {
    crate::sanitize::cut(key, 60).into_owned()
}

//! Arrays in PostgreSQL's text format: `{1,NULL,"a \"text\""}`.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;
use toolcrib_model::ToolError;

use crate::output::cell::MAX_DEPTH;
use crate::parameters::not_bound;

/// Parses an array, with a function that converts an element; returns `None` for other texts, such as an array whose indexes do not begin with 1.
pub(super) fn parse(text: &str, element: &dyn Fn(&str) -> Value) -> Option<Value> {
    let mut rest = text.chars().peekable();
    let array = items(&mut rest, element, 1)?;
    rest.next().is_none().then_some(array)
}

fn items(rest: &mut Peekable<Chars<'_>>, element: &dyn Fn(&str) -> Value, depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH || rest.next()? != '{' {
        return None;
    }
    let mut items = Vec::new();
    if rest.peek() == Some(&'}') {
        rest.next();
        return Some(Value::Array(items));
    }
    loop {
        items.push(match rest.peek()? {
            '{' => self::items(rest, element, depth + 1)?,
            '"' => element(&quoted(rest)?),
            _ => match unquoted(rest).as_str() {
                "NULL" => Value::Null,
                text => element(text),
            },
        });
        match rest.next()? {
            ',' => {}
            '}' => return Some(Value::Array(items)),
            _ => return None,
        }
    }
}

fn quoted(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    rest.next();
    let mut text = String::new();
    loop {
        match rest.next()? {
            '"' => return Some(text),
            '\\' => text.push(rest.next()?),
            character => text.push(character),
        }
    }
}

fn unquoted(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(character) = rest.next_if(|character| !matches!(character, ',' | '}')) {
        text.push(character);
    }
    text
}

/// Converts an element to a text; `None` for NULL.
type ElementWriter<'a> = dyn Fn(&Value) -> Result<Option<String>, ToolError> + 'a;

/// Writes an array in the text format.
pub(super) fn write(items: &[Value], at: usize, element: &ElementWriter<'_>) -> Result<String, ToolError> {
    let mut text = String::new();
    write_to(&mut text, items, at, element, 1)?;
    Ok(text)
}

fn write_to(
    text: &mut String,
    items: &[Value],
    at: usize,
    element: &ElementWriter<'_>,
    depth: usize,
) -> Result<(), ToolError> {
    if depth > MAX_DEPTH {
        return Err(not_bound(at, "its arrays are nested too deeply"));
    }
    text.push('{');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        match item {
            Value::Array(items) => write_to(text, items, at, element, depth + 1)?,
            item => match element(item)? {
                None => text.push_str("NULL"),
                Some(item) => {
                    text.push('"');
                    for character in item.chars() {
                        if matches!(character, '"' | '\\') {
                            text.push('\\');
                        }
                        text.push(character);
                    }
                    text.push('"');
                }
            },
        }
    }
    text.push('}');
    Ok(())
}

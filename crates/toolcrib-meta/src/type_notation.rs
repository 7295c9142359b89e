//! JSON Schemas as compact types: `str`, `int(1..20)`, `'open'|'closed'`, `{city: str, days?: int}[]`.

use std::fmt::Write as _;

use serde_json::Value;
use toolcrib_schema::typescript::quoted;

use crate::schema::{Field, Node};
use crate::summary::cut;

/// The most levels of nested types.
const MAX_DEPTH: usize = 4;

/// The most values of an enum that are shown.
const MAX_CHOICES: usize = 12;
const MAX_CHOICES_CHARS: usize = 90;

/// The most characters of one value.
const MAX_LITERAL_CHARS: usize = 40;

/// The most alternatives of a type that are shown.
const MAX_ALTERNATIVES: usize = 4;

/// The longest pattern that is shown.
const MAX_PATTERN_CHARS: usize = 40;

/// The longest default that is shown.
const MAX_DEFAULT_CHARS: usize = 20;

/// The most characters of the properties of an object inside of a signature.
const MAX_OBJECT_CHARS: usize = 260;

/// The most characters of the name of an argument.
const MAX_NAME_CHARS: usize = 60;

/// Formats that add nothing to the type.
const PLAIN_FORMATS: [&str; 7] = ["int32", "int64", "float", "double", "string", "number", "integer"];

/// Writes the fields of an object, the required ones first, in about `max_chars` characters; the others are counted.
/// Nested objects are expanded if `is_open` is true.
pub(crate) fn fields(fields: &[Field<'_>], is_open: bool, max_chars: usize) -> String {
    written(fields, is_open, max_chars, 0)
}

/// Writes a type in place of the fields if an object names none: nothing, or its alternatives.
pub(crate) fn whole(node: Node<'_>, max_chars: usize) -> String {
    if node.alternatives().is_empty() {
        return match node.child("additionalProperties").map(|values| of(values, false, 0, true)) {
            Some(kind) if kind != "any" => format!("[name]: {kind}"),
            _ => String::new(),
        };
    }
    cut(&of(node, true, 0, true), max_chars)
}

/// Writes the names of the required fields, without types.
pub(crate) fn names(fields: &[Field<'_>], max_chars: usize) -> String {
    listed(fields, max_chars, |field| field.is_required, |field| name(field.name))
}

/// Writes only the required fields; the others are counted.
pub(crate) fn required(fields: &[Field<'_>], max_chars: usize) -> String {
    listed(fields, max_chars, |field| field.is_required, |field| one(field, false, 0))
}

fn written(fields: &[Field<'_>], is_open: bool, max_chars: usize, depth: usize) -> String {
    listed(fields, max_chars, |_| true, |field| one(field, is_open, depth))
}

fn listed<'a>(
    fields: &[Field<'a>],
    max_chars: usize,
    is_wanted: impl Fn(&Field<'a>) -> bool,
    write: impl Fn(&Field<'a>) -> String,
) -> String {
    let mut text = String::new();
    let mut left = (0, 0);
    for field in fields {
        let item = if left == (0, 0) && is_wanted(field) { write(field) } else { String::new() };
        if item.is_empty() || (!text.is_empty() && text.chars().count() + item.chars().count() > max_chars) {
            let (required, optional) = &mut left;
            *(if field.is_required { required } else { optional }) += 1;
            continue;
        }
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&item);
    }
    let separator = if text.is_empty() { "" } else { ", " };
    // Writing to a string cannot fail.
    let _ = match left {
        (0, 0) => Ok(()),
        (0, optional) => write!(text, "{separator}…+{optional} optional"),
        (required, 0) => write!(text, "{separator}…+{required} required"),
        (required, optional) => write!(text, "{separator}…+{required} required, +{optional} optional"),
    };
    text
}

fn one(field: &Field<'_>, is_open: bool, depth: usize) -> String {
    let mark = if field.is_required { "" } else { "?" };
    let kind = of(field.node, is_open, depth, field.is_required);
    let default = default(field).map(|value| format!(" = {value}")).unwrap_or_default();
    format!("{}{mark}: {kind}{default}", name(field.name))
}

fn name(name: &str) -> String {
    let is_plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.$@".contains(c));
    let name = cut(name, MAX_NAME_CHARS);
    if is_plain { name } else { quoted(&name) }
}

/// Returns the default of an optional argument, if it is informative and short.
fn default(field: &Field<'_>) -> Option<String> {
    let value = field.node.keyword("default").filter(|_| !field.is_required)?;
    let is_telling = match value {
        Value::Null | Value::Bool(false) | Value::Array(_) | Value::Object(_) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    };
    let text = is_telling.then(|| literal(value))?;
    (text.chars().count() <= MAX_DEFAULT_CHARS).then_some(text)
}

/// Writes the type of a value. `null` is omitted if omitting the value means the same.
fn of(node: Node<'_>, is_open: bool, depth: usize, has_null: bool) -> String {
    if depth > MAX_DEPTH {
        return "any".to_owned();
    }
    if let Some(value) = node.keyword("const") {
        return literal(value);
    }
    if let Some(values) = node.keyword("enum").and_then(Value::as_array) {
        return choices(values, has_null);
    }
    let fields = node.fields();
    if fields.is_empty() {
        let alternatives = node.alternatives();
        if !alternatives.is_empty() {
            let of = |node: &Node<'_>| of(*node, is_open, depth + 1, has_null);
            return union(alternatives.iter().map(of), has_null);
        }
    }
    let types = node.types();
    match types.as_slice() {
        [] if !fields.is_empty() => object(node, &fields, is_open, depth),
        [] if node.child("items").is_some() => list(node, is_open, depth),
        [] => "any".to_owned(),
        types => union(types.iter().map(|kind| named(node, kind, &fields, is_open, depth)), has_null),
    }
}

fn named(node: Node<'_>, kind: &str, fields: &[Field<'_>], is_open: bool, depth: usize) -> String {
    match kind {
        "string" => string(node),
        "integer" => number(node, "int"),
        "number" => number(node, "num"),
        "boolean" => "bool".to_owned(),
        "array" => list(node, is_open, depth),
        "object" => object(node, fields, is_open, depth),
        other => cut(other, MAX_LITERAL_CHARS),
    }
}

fn union(types: impl Iterator<Item = String>, has_null: bool) -> String {
    let mut shown: Vec<String> = Vec::new();
    for kind in types {
        if !shown.contains(&kind) && !kind.is_empty() {
            shown.push(kind);
        }
    }
    if !has_null && shown.len() > 1 {
        shown.retain(|kind| kind != "null");
    }
    if shown.len() > MAX_ALTERNATIVES {
        let more = shown.len() - MAX_ALTERNATIVES;
        shown.truncate(MAX_ALTERNATIVES);
        shown.push(format!("…+{more}"));
    }
    if shown.is_empty() { "any".to_owned() } else { shown.join("|") }
}

fn choices(values: &[Value], has_null: bool) -> String {
    let mut text = String::new();
    let wanted = values.iter().filter(|value| has_null || !value.is_null());
    for (shown, value) in wanted.enumerate() {
        let item = literal(value);
        if shown >= MAX_CHOICES || (shown > 0 && text.len() + item.len() > MAX_CHOICES_CHARS) {
            // Writing to a string cannot fail.
            let _ = write!(text, "|…+{}", values.len() - shown);
            break;
        }
        if shown > 0 {
            text.push('|');
        }
        text.push_str(&item);
    }
    if text.is_empty() { "null".to_owned() } else { text }
}

fn string(node: Node<'_>) -> String {
    if let Some(format) = node.text("format").filter(|format| !PLAIN_FORMATS.contains(format)) {
        return format!("str({})", cut(format, MAX_LITERAL_CHARS));
    }
    if let Some(encoding) = node.text("contentEncoding") {
        return format!("str({})", cut(encoding, MAX_LITERAL_CHARS));
    }
    match node.text("pattern") {
        Some(pattern) if is_short(pattern) => format!("str(/{pattern}/)"),
        Some(_) => "str(pattern)".to_owned(),
        None => "str".to_owned(),
    }
}

fn is_short(pattern: &str) -> bool {
    pattern.chars().count() <= MAX_PATTERN_CHARS && !pattern.contains(char::is_control)
}

fn number(node: Node<'_>, kind: &str) -> String {
    let bound = |key: &str| {
        node.keyword(key)
            .filter(|value| value.as_f64().is_some_and(|value| value.abs() < f64::from(i32::MAX)))
    };
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => format!("{kind}({least}..{most})"),
        (Some(least), None) => format!("{kind}({least}..)"),
        (None, Some(most)) => format!("{kind}(..{most})"),
        (None, None) => match bound("exclusiveMinimum") {
            Some(bound) => format!("{kind}(>{bound})"),
            None => kind.to_owned(),
        },
    }
}

fn list(node: Node<'_>, is_open: bool, depth: usize) -> String {
    let Some(items) = node.child("items") else { return "list".to_owned() };
    let kind = of(items, is_open, depth + 1, true);
    match kind.as_str() {
        "any" => "list".to_owned(),
        _ if kind.contains('|') && !kind.starts_with('{') => format!("({kind})[]"),
        _ => format!("{kind}[]"),
    }
}

fn object(node: Node<'_>, fields: &[Field<'_>], is_open: bool, depth: usize) -> String {
    if fields.is_empty() {
        return match node.child("additionalProperties").map(|values| of(values, false, depth + 1, true)) {
            Some(kind) if kind != "any" => format!("map<{kind}>"),
            _ => "object".to_owned(),
        };
    }
    if !is_open {
        return "object".to_owned();
    }
    format!("{{{}}}", written(fields, false, MAX_OBJECT_CHARS, depth + 1))
}

/// Writes a value, with strings in single quotes: signatures are part of JSON, which escapes double quotes.
fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(&cut(text, MAX_LITERAL_CHARS)),
        other => cut(&other.to_string(), MAX_LITERAL_CHARS),
    }
}

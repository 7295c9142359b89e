//! The serialization of lists and objects as text: the styles of OpenAPI, which are those of RFC 6570, and of Swagger
//! 2.0.

use serde_json::Value;

use super::url_encoding::{encode, encode_reserved};
use crate::operation::{Serialization, Style};

/// A function that encodes a text.
type EncodeFn = dyn Fn(&str) -> String;

/// A serialized value, or the reason why it cannot be sent unambiguously.
type SerializeResult<T> = Result<T, String>;

/// Returns a value as text. Lists and objects are written as JSON.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Serializes a value for a path segment, encoded. Reserved characters are always encoded: a slash would end the
/// segment.
pub(crate) fn in_path(name: &str, value: &Value, serialization: Serialization) -> SerializeResult<String> {
    let Serialization::Styled { style, explode, .. } = serialization else {
        return Ok(encode(&content(value, serialization)));
    };
    let name = encode(name);
    match style {
        Style::Label if explode => stays_whole(value, ".")?,
        Style::Label | Style::Matrix => {}
        _ => stays_whole(value, lost_delimiter(style))?,
    }
    Ok(match style {
        Style::Label => {
            let delimiter = if explode { "." } else { "," };
            format!(".{}", joined(value, explode, delimiter, &encode))
        }
        Style::Matrix if explode => match pairs(&name, value, &encode) {
            pairs if pairs.is_empty() => String::new(),
            pairs => format!(";{}", pairs.join(";")),
        },
        Style::Matrix => match joined(value, false, ",", &encode) {
            text if text.is_empty() => format!(";{name}"),
            text => format!(";{name}={text}"),
        },
        _ => joined(value, explode, encoded_delimiter(style), &encode),
    })
}

/// Serializes a value for a header. Headers are not encoded.
pub(crate) fn in_header(value: &Value, serialization: Serialization) -> SerializeResult<String> {
    let text = as_text(value, serialization);
    if let Serialization::Styled { style, explode, .. } = serialization {
        stays_whole(value, delimiter(style))?;
        if explode && value.is_object() {
            stays_whole(value, "=")?;
        }
    }
    if text.trim() != text {
        return Err("must not begin or end with white space: a header would lose it".into());
    }
    Ok(text)
}

/// Serializes a value as one text, not encoded.
pub(crate) fn as_text(value: &Value, serialization: Serialization) -> String {
    match serialization {
        Serialization::Styled { style, explode, .. } => {
            joined(value, explode, delimiter(style), &str::to_owned)
        }
        _ => content(value, serialization),
    }
}

/// Serializes a value that is the whole query as encoded pairs. A value without fields becomes one text.
pub(crate) fn as_query(value: &Value, serialization: Serialization) -> Vec<String> {
    match (serialization, value) {
        (Serialization::Form | Serialization::Styled { .. }, Value::Object(map)) => {
            map.iter().flat_map(|(name, value)| as_form_field(name, value)).collect()
        }
        _ => vec![encode(&content(value, serialization))],
    }
}

/// Serializes a value as the content of a media type.
fn content(value: &Value, serialization: Serialization) -> String {
    match (serialization, value) {
        (Serialization::Json, _) => value.to_string(),
        (Serialization::Form, Value::Object(_)) => as_query(value, serialization).join("&"),
        _ => text_of(value),
    }
}

/// Serializes a value for a query, a form or a cookie: encoded pairs of name and value.
pub(crate) fn as_pairs(
    name: &str,
    value: &Value,
    serialization: Serialization,
) -> SerializeResult<Vec<String>> {
    let Serialization::Styled { style, explode, allow_reserved } = serialization else {
        return Ok(vec![format!("{}={}", encode(name), encode(&content(value, serialization)))]);
    };
    if !explode {
        stays_whole(value, lost_delimiter(style))?;
    }
    let encode_value = if allow_reserved { encode_reserved } else { encode };
    if style == Style::Cookie {
        return raw_cookies(name, value, explode);
    }
    if style == Style::DeepObject {
        let mut pairs = Vec::new();
        deep(name, value, &mut pairs);
        let encoded = |(name, text): &(String, String)| format!("{}={}", encode(name), encode_value(text));
        return Ok(pairs.iter().map(encoded).collect());
    }
    if explode {
        return Ok(pairs(&encode(name), value, &encode_value));
    }
    Ok(match value {
        // An empty list has no pair, as if the argument were absent.
        Value::Array(items) if items.is_empty() => Vec::new(),
        Value::Object(map) if map.is_empty() => Vec::new(),
        _ => vec![format!(
            "{}={}",
            encode(name),
            joined(value, false, encoded_delimiter(style), &encode_value)
        )],
    })
}

/// Serializes a value for cookies that are not encoded. Returns an error for characters that a cookie cannot contain
/// (RFC 6265, section 4.1.1).
fn raw_cookies(name: &str, value: &Value, explode: bool) -> SerializeResult<Vec<String>> {
    let is_kept = |c: char| c.is_ascii_graphic() && !"\",;\\".contains(c);
    let raw = str::to_owned;
    let (pairs, texts) = if explode {
        let pairs = pairs(name, value, &raw);
        let texts = pairs.join("");
        (pairs, texts)
    } else {
        // The commas between the items are part of the declared style.
        stays_whole(value, ",")?;
        (vec![format!("{name}={}", joined(value, false, ",", &raw))], joined(value, false, "", &raw))
    };
    if texts.chars().all(is_kept) {
        return Ok(pairs);
    }
    Err("must have no white space, quotes, commas, semicolons or backslashes: cookies cannot contain them"
        .into())
}

/// Serializes a value for the parts of a multipart form: names and texts, not encoded.
pub(crate) fn as_parts(
    name: &str,
    value: &Value,
    serialization: Serialization,
) -> SerializeResult<Vec<(String, String)>> {
    let Serialization::Styled { style, explode, .. } = serialization else {
        return Ok(vec![(name.to_owned(), content(value, serialization))]);
    };
    let mut parts = Vec::new();
    match value {
        Value::Object(_) if style == Style::DeepObject => deep(name, value, &mut parts),
        // No OpenAPI version defines `deepObject` for a list.
        Value::Array(items) if explode || style == Style::DeepObject => {
            parts.extend(items.iter().map(|item| (name.to_owned(), text_of(item))));
        }
        Value::Object(map) if explode => {
            parts.extend(map.iter().map(|(key, item)| (key.clone(), text_of(item))));
        }
        _ => {
            stays_whole(value, delimiter(style))?;
            parts.push((name.to_owned(), as_text(value, serialization)));
        }
    }
    Ok(parts)
}

/// Serializes a form field without a declared encoding: lists are repeated, objects become JSON.
pub(crate) fn as_form_field(name: &str, value: &Value) -> Vec<String> {
    let pair = |value: &Value| format!("{}={}", encode(name), encode(&text_of(value)));
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().map(pair).collect(),
        other => vec![pair(other)],
    }
}

/// Returns the delimiter of the items of a list.
fn delimiter(style: Style) -> &'static str {
    match style {
        Style::SpaceDelimited => " ",
        Style::PipeDelimited => "|",
        Style::TabDelimited => "\t",
        _ => ",",
    }
}

/// Returns the delimiter that cannot be distinguished from the same character inside of an item, even if that is
/// encoded.
fn lost_delimiter(style: Style) -> &'static str {
    match style {
        Style::SpaceDelimited | Style::PipeDelimited | Style::TabDelimited => delimiter(style),
        _ => "",
    }
}

/// Returns an error if an item of a list or an object contains the delimiter, so that it would arrive as two items.
fn stays_whole(value: &Value, delimiter: &str) -> SerializeResult<()> {
    let is_apart = |item: &Value| text_of(item).contains(delimiter);
    let falls_apart = !delimiter.is_empty()
        && match value {
            Value::Array(items) => items.iter().any(is_apart),
            Value::Object(map) => map.iter().any(|(key, item)| key.contains(delimiter) || is_apart(item)),
            _ => false,
        };
    if falls_apart {
        return Err(format!("must not have `{delimiter}` inside of an item, because it separates the items"));
    }
    Ok(())
}

/// Returns the delimiter as it is written in a URL, where only the comma is not encoded.
fn encoded_delimiter(style: Style) -> &'static str {
    match style {
        Style::SpaceDelimited => "%20",
        Style::PipeDelimited => "%7C",
        Style::TabDelimited => "%09",
        _ => ",",
    }
}

/// Returns `a,b` for a list, and `k,v` for an object, or `k=v` if it is exploded.
fn joined(value: &Value, explode: bool, delimiter: &str, encode: &EncodeFn) -> String {
    let equals = if explode { "=" } else { delimiter };
    let parts: Vec<String> = match value {
        Value::Array(items) => items.iter().map(|item| encode(&text_of(item))).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, item)| format!("{}{equals}{}", encode(key), encode(&text_of(item))))
            .collect(),
        other => return encode(&text_of(other)),
    };
    parts.join(delimiter)
}

/// Returns `name=a`, `name=b` for a list, and `k=v` for an object. The name is already encoded.
fn pairs(name: &str, value: &Value, encode_value: &EncodeFn) -> Vec<String> {
    match value {
        Value::Array(items) => {
            items.iter().map(|item| format!("{name}={}", encode_value(&text_of(item)))).collect()
        }
        Value::Object(map) => map
            .iter()
            .map(|(key, item)| format!("{}={}", encode(key), encode_value(&text_of(item))))
            .collect(),
        other => vec![format!("{name}={}", encode_value(&text_of(other)))],
    }
}

/// Appends `name[key]` and `v`. OpenAPI does not define deeper levels; this is the form that servers accept if they
/// support them.
fn deep(name: &str, value: &Value, out: &mut Vec<(String, String)>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                deep(&format!("{name}[{index}]"), item, out);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                deep(&format!("{name}[{key}]"), item, out);
            }
        }
        other => out.push((name.to_owned(), text_of(other))),
    }
}

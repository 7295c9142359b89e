//! Lists and objects as text: the styles of OpenAPI, which are those of RFC 6570, and of Swagger 2.0.

use serde_json::Value;

use super::encode::{encode, encode_reserved};
use crate::operation::{Style, Writing};

/// How a text is encoded.
type Encode = dyn Fn(&str) -> String;

/// A text, or why the value cannot be sent so that it arrives as it is.
type Written<T> = Result<T, String>;

/// A value as text. A list or an object has no text of its own and is written as JSON.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A value in a path segment, encoded. Reserved characters are encoded in any case: a slash would end the segment.
pub(crate) fn in_path(name: &str, value: &Value, writing: Writing) -> Written<String> {
    let Writing::Styled { style, explode, .. } = writing else {
        return Ok(encode(&content(value, writing)));
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

/// A value in a header, not encoded, because headers are not.
pub(crate) fn in_header(value: &Value, writing: Writing) -> Written<String> {
    let text = as_text(value, writing);
    if let Writing::Styled { style, explode, .. } = writing {
        stays_whole(value, delimiter(style))?;
        if explode && value.is_object() {
            stays_whole(value, "=")?;
        }
    }
    if text.trim() != text {
        return Err("must not begin or end with white space: headers lose it".into());
    }
    Ok(text)
}

/// A value as one text, not encoded.
pub(crate) fn as_text(value: &Value, writing: Writing) -> String {
    match writing {
        Writing::Styled { style, explode, .. } => joined(value, explode, delimiter(style), &str::to_owned),
        _ => content(value, writing),
    }
}

/// A value that is the whole query, as encoded pairs; what has no fields is one text.
pub(crate) fn as_query(value: &Value, writing: Writing) -> Vec<String> {
    match (writing, value) {
        (Writing::Form | Writing::Styled { .. }, Value::Object(map)) => {
            map.iter().flat_map(|(name, value)| as_form_field(name, value)).collect()
        }
        _ => vec![encode(&content(value, writing))],
    }
}

/// A value as the text of a media type.
fn content(value: &Value, writing: Writing) -> String {
    match (writing, value) {
        (Writing::Json, _) => value.to_string(),
        (Writing::Form, Value::Object(_)) => as_query(value, writing).join("&"),
        _ => text_of(value),
    }
}

/// A value in a query, a form or a cookie: encoded pairs of name and value.
pub(crate) fn as_pairs(name: &str, value: &Value, writing: Writing) -> Written<Vec<String>> {
    let Writing::Styled { style, explode, allow_reserved } = writing else {
        return Ok(vec![format!("{}={}", encode(name), encode(&content(value, writing)))]);
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
        // An empty list has no pair, as if the argument were not there.
        Value::Array(items) if items.is_empty() => Vec::new(),
        Value::Object(map) if map.is_empty() => Vec::new(),
        _ => vec![format!(
            "{}={}",
            encode(name),
            joined(value, false, encoded_delimiter(style), &encode_value)
        )],
    })
}

/// A value in cookies that are not encoded, and so has nothing that a cookie cannot hold (RFC 6265, section 4.1.1).
fn raw_cookies(name: &str, value: &Value, explode: bool) -> Written<Vec<String>> {
    let is_kept = |c: char| c.is_ascii_graphic() && !"\",;\\".contains(c);
    let raw = str::to_owned;
    let (pairs, texts) = if explode {
        let pairs = pairs(name, value, &raw);
        let texts = pairs.join("");
        (pairs, texts)
    } else {
        // The commas between the items are what the document wants.
        stays_whole(value, ",")?;
        (vec![format!("{name}={}", joined(value, false, ",", &raw))], joined(value, false, "", &raw))
    };
    if texts.chars().all(is_kept) {
        return Ok(pairs);
    }
    Err("must have no white space, quotes, commas, semicolons or backslashes: cookies cannot hold them"
        .into())
}

/// A value as parts of a form with several parts: names and texts, not encoded.
pub(crate) fn as_parts(name: &str, value: &Value, writing: Writing) -> Written<Vec<(String, String)>> {
    let Writing::Styled { style, explode, .. } = writing else {
        return Ok(vec![(name.to_owned(), content(value, writing))]);
    };
    let mut parts = Vec::new();
    match value {
        Value::Object(_) if style == Style::DeepObject => deep(name, value, &mut parts),
        // For a list no edition defines `deepObject`.
        Value::Array(items) if explode || style == Style::DeepObject => {
            parts.extend(items.iter().map(|item| (name.to_owned(), text_of(item))));
        }
        Value::Object(map) if explode => {
            parts.extend(map.iter().map(|(key, item)| (key.clone(), text_of(item))));
        }
        _ => {
            stays_whole(value, delimiter(style))?;
            parts.push((name.to_owned(), as_text(value, writing)));
        }
    }
    Ok(parts)
}

/// A field of a form that the document says nothing special of: lists are repeated, objects are JSON.
pub(crate) fn as_form_field(name: &str, value: &Value) -> Vec<String> {
    let pair = |value: &Value| format!("{}={}", encode(name), encode(&text_of(value)));
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().map(pair).collect(),
        other => vec![pair(other)],
    }
}

/// What stands between the items of a list.
fn delimiter(style: Style) -> &'static str {
    match style {
        Style::SpaceDelimited => " ",
        Style::PipeDelimited => "|",
        Style::TabDelimited => "\t",
        _ => ",",
    }
}

/// What stands between the items and looks the same when it is encoded inside of one.
fn lost_delimiter(style: Style) -> &'static str {
    match style {
        Style::SpaceDelimited | Style::PipeDelimited | Style::TabDelimited => delimiter(style),
        _ => "",
    }
}

/// Refuses a list or an object of which an item would arrive as two.
fn stays_whole(value: &Value, delimiter: &str) -> Written<()> {
    let is_apart = |item: &Value| text_of(item).contains(delimiter);
    let falls_apart = !delimiter.is_empty()
        && match value {
            Value::Array(items) => items.iter().any(is_apart),
            Value::Object(map) => map.iter().any(|(key, item)| key.contains(delimiter) || is_apart(item)),
            _ => false,
        };
    if falls_apart {
        return Err(format!(
            "must not have `{delimiter}` inside of an item, because it stands between the items"
        ));
    }
    Ok(())
}

/// The same in a URL, where only the comma may stand as it is.
fn encoded_delimiter(style: Style) -> &'static str {
    match style {
        Style::SpaceDelimited => "%20",
        Style::PipeDelimited => "%7C",
        Style::TabDelimited => "%09",
        _ => ",",
    }
}

/// `a,b` of a list; `k,v` of an object, or `k=v` when it is exploded.
fn joined(value: &Value, explode: bool, delimiter: &str, encode: &Encode) -> String {
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

/// `name=a`, `name=b` of a list; `k=v` of an object. The name is encoded already.
fn pairs(name: &str, value: &Value, encode_value: &Encode) -> Vec<String> {
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

/// `name[key]` and `v`; OpenAPI says nothing of deeper levels, for which this is what servers read that have them at all.
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

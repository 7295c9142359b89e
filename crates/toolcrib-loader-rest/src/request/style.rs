//! Lists and objects as text: the styles of OpenAPI, which are those of RFC 6570.

use serde_json::Value;

use super::encode::{encode, encode_reserved};
use crate::operation::{Style, Writing};

/// A value as text. A list or an object has no text of its own and is written as JSON.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A value in a path segment, encoded.
pub(crate) fn in_path(name: &str, value: &Value, writing: Writing) -> String {
    let Writing::Styled { style, explode, .. } = writing else {
        return encode(&value.to_string());
    };
    let name = encode(name);
    match style {
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
        _ => joined(value, explode, ",", &encode),
    }
}

/// A value in a header, not encoded, because headers are not.
pub(crate) fn in_header(value: &Value, writing: Writing) -> String {
    match writing {
        Writing::Json => value.to_string(),
        Writing::Styled { explode, .. } => joined(value, explode, ",", &str::to_owned),
    }
}

/// A value in a query, a form or a cookie: encoded pairs of name and value.
pub(crate) fn as_pairs(name: &str, value: &Value, writing: Writing) -> Vec<String> {
    let Writing::Styled { style, explode, allow_reserved } = writing else {
        return vec![format!("{}={}", encode(name), encode(&value.to_string()))];
    };
    let encode_value = if allow_reserved { encode_reserved } else { encode };
    let delimiter = match style {
        Style::SpaceDelimited => "%20",
        Style::PipeDelimited => "%7C",
        Style::DeepObject => {
            let mut pairs = Vec::new();
            deep(name, value, &encode_value, &mut pairs);
            return pairs;
        }
        _ => ",",
    };
    if explode {
        return pairs(&encode(name), value, &encode_value);
    }
    match value {
        // An empty list has no pair, as if the argument were not there.
        Value::Array(items) if items.is_empty() => Vec::new(),
        Value::Object(map) if map.is_empty() => Vec::new(),
        _ => vec![format!("{}={}", encode(name), joined(value, false, delimiter, &encode_value))],
    }
}

/// A field of a form that the document says nothing special of: lists are repeated, objects are JSON.
pub(crate) fn as_form_field(name: &str, value: &Value) -> Vec<String> {
    let pair = |value: &Value| format!("{}={}", encode(name), encode(&text_of(value)));
    match value {
        Value::Array(items) => items.iter().map(pair).collect(),
        other => vec![pair(other)],
    }
}

/// `a,b` of a list; `k,v` of an object, or `k=v` when it is exploded.
fn joined(value: &Value, explode: bool, delimiter: &str, encode: &dyn Fn(&str) -> String) -> String {
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
fn pairs(name: &str, value: &Value, encode: &dyn Fn(&str) -> String) -> Vec<String> {
    match value {
        Value::Array(items) => {
            items.iter().map(|item| format!("{name}={}", encode(&text_of(item)))).collect()
        }
        Value::Object(map) => {
            map.iter().map(|(key, item)| format!("{}={}", encode(key), encode(&text_of(item)))).collect()
        }
        other => vec![format!("{name}={}", encode(&text_of(other)))],
    }
}

/// `name[key]=v`; OpenAPI says nothing of deeper levels, for which this is what servers read that have them at all.
fn deep(name: &str, value: &Value, encode_value: &dyn Fn(&str) -> String, out: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                deep(&format!("{name}[{index}]"), item, encode_value, out);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                deep(&format!("{name}[{key}]"), item, encode_value, out);
            }
        }
        other => out.push(format!("{}={}", encode(name), encode_value(&text_of(other)))),
    }
}

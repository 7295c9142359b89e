//! JSON as Python's `json.dumps(value, sort_keys=True, separators=(",", ":"))` writes it.
//!
//! Existing catalogues key their tools by digests of that form, so it is matched byte for byte: ASCII only, keys in
//! the order of their code points, floats as `repr` prints them.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// Writes a value in the canonical form.
///
/// ```
/// # use serde_json::json;
/// assert_eq!(toolcrib_model::canonical_json(&json!({"b": 1.0, "a": "é"})), r#"{"a":"\u00e9","b":1.0}"#);
/// ```
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            // UTF-8 orders as code points do, and so does `str`.
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (position, (key, item)) in entries.into_iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_text(out, key);
                out.push(':');
                write_value(out, item);
            }
            out.push('}');
        }
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' | '\u{7f}' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

fn write_number(out: &mut String, number: &Number) {
    match number.as_f64() {
        Some(float) if number.is_f64() => write_float(out, float),
        _ => {
            let _ = write!(out, "{number}");
        }
    }
}

/// `repr` of a Python float: the shortest digits that read back as the same number, as a plain decimal while the
/// exponent is in −4..16, else in scientific notation with at least two exponent digits.
fn write_float(out: &mut String, float: f64) {
    let scientific = format!("{float:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let _ = match exponent {
        -4..16 if float.fract() == 0.0 => write!(out, "{float:.1}"),
        -4..16 => write!(out, "{float}"),
        _ => write!(out, "{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()),
    };
}

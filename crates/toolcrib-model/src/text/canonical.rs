//! JSON as Python's `json.dumps(value, sort_keys=True, separators=(",", ":"))` writes it.
//!
//! Existing catalogues key their tools by digests of that form, so it is matched byte for byte: ASCII only, keys in
//! the order of their code points, floats as `repr` prints them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Number, Value};

use super::json::pointer_part;

/// Integers as they were written, by JSON pointer, where a [`Value`] holds only the nearest float: those beyond 64 bits.
pub type ExactIntegers = BTreeMap<String, String>;

/// Writes a value in the canonical form.
///
/// ```
/// # use serde_json::json;
/// assert_eq!(toolcrib_model::text::canonical_json(&json!({"b": 1.0, "a": "é"})), r#"{"a":"\u00e9","b":1.0}"#);
/// ```
pub fn canonical_json(value: &Value) -> String {
    canonical_json_with(value, &ExactIntegers::new())
}

/// Writes a value in the canonical form, with integers that a [`Value`] cannot hold.
///
/// ```
/// # use serde_json::json;
/// # use toolcrib_model::text::{ExactIntegers, canonical_json_with};
/// let exact = ExactIntegers::from([("/maximum".into(), "18446744073709551616".into())]);
/// let schema = json!({"maximum": 18446744073709551616.0});
/// assert_eq!(canonical_json_with(&schema, &exact), r#"{"maximum":18446744073709551616}"#);
/// ```
pub fn canonical_json_with(value: &Value, exact: &ExactIntegers) -> String {
    let mut writer = Writer { out: String::with_capacity(USUAL_BYTES), exact, pointer: String::new() };
    writer.value(value);
    writer.out
}

/// The minimum length of most schemas, which avoids repeated growth of the buffer.
const USUAL_BYTES: usize = 512;

struct Writer<'a> {
    out: String,
    exact: &'a ExactIntegers,
    /// The pointer to the value; maintained only while there are exact integers.
    pointer: String,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Number(number) => match self.exact.get(&self.pointer) {
                Some(digits) => self.out.push_str(digits),
                None => write_number(&mut self.out, number),
            },
            Value::String(text) => write_text(&mut self.out, text),
            Value::Array(items) => {
                self.out.push('[');
                for (position, item) in items.iter().enumerate() {
                    if position > 0 {
                        self.out.push(',');
                    }
                    self.child(item, || position.to_string());
                }
                self.out.push(']');
            }
            Value::Object(map) => {
                // UTF-8 and `str` order by code points.
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_by_key(|(key, _)| *key);
                self.out.push('{');
                for (position, (key, item)) in entries.into_iter().enumerate() {
                    if position > 0 {
                        self.out.push(',');
                    }
                    write_text(&mut self.out, key);
                    self.out.push(':');
                    self.child(item, || pointer_part(key));
                }
                self.out.push('}');
            }
        }
    }

    fn child(&mut self, value: &Value, segment: impl FnOnce() -> String) {
        if self.exact.is_empty() {
            return self.value(value);
        }
        let above = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&segment());
        self.value(value);
        self.pointer.truncate(above);
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    // Most characters need no escape.
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !is_plain(byte)) {
        let (plain, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut chars = from.chars();
        let Some(c) = chars.next() else { break };
        rest = chars.as_str();
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push_str(rest);
    out.push('"');
}

/// Returns true for a byte that needs no escape.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'
}

fn write_number(out: &mut String, number: &Number) {
    match number.as_f64() {
        Some(float) if number.is_f64() => write_float(out, float),
        _ => {
            let _ = write!(out, "{number}");
        }
    }
}

/// Writes a float like `repr` of Python: the shortest digits that read back as the same number, as a plain decimal
/// while the exponent is in −4..16, else in scientific notation with at least two exponent digits.
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

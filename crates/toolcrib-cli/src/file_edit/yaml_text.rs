//! Values as YAML, in the layout that people write. Writing to a string cannot fail, so its results are ignored.

use std::fmt::Write as _;

use serde_json::Value;
use toolcrib_model::text::is_invisible;

/// The indentation of nested blocks.
const INDENT: &str = "  ";

/// Characters that may begin a plain scalar, in addition to letters.
const PLAIN_START: [char; 4] = ['/', '.', '_', '-'];

/// Characters within a plain scalar, in addition to letters and digits.
const PLAIN: [char; 5] = ['/', '.', '_', '-', '+'];

/// Words that YAML 1.1 or 1.2 reads as something else than text.
const RESERVED: [&str; 12] =
    ["", "~", "null", "true", "false", "yes", "no", "on", "off", ".nan", ".inf", "-.inf"];

/// Returns a value in blocks: a line for each key, with lists of scalars in one line.
pub(super) fn block(value: &Value) -> String {
    let mut text = String::new();
    write_block(value, "", &mut text);
    text
}

/// Returns a value in one line.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<_> =
                members.iter().map(|(key, value)| format!("{}: {}", scalar(key), flow(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

fn write_block(value: &Value, indent: &str, text: &mut String) {
    let Value::Object(members) = value else {
        let _ = writeln!(text, "{indent}{}", flow(value));
        return;
    };
    for (key, value) in members {
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                let _ = writeln!(text, "{indent}{}:", scalar(key));
                write_block(value, &format!("{indent}{INDENT}"), text);
            }
            value => {
                let _ = writeln!(text, "{indent}{}: {}", scalar(key), flow(value));
            }
        }
    }
}

/// Returns a text as a plain scalar where it cannot be taken for anything else, and in double quotes otherwise.
fn scalar(text: &str) -> String {
    let is_start = |c: char| c.is_ascii_alphabetic() || PLAIN_START.contains(&c);
    let is_inside = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(&c);
    let is_flag = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '-');
    let is_plain = text.starts_with(is_start)
        && text.strip_prefix('-').is_none_or(is_flag)
        && text.chars().all(is_inside)
        && !RESERVED.contains(&text.to_ascii_lowercase().as_str())
        && !text.starts_with("..")
        && text.contains(|c: char| c.is_ascii_alphabetic())
        && text.parse::<f64>().is_err();
    if is_plain { text.to_owned() } else { quoted(text) }
}

/// Returns a text in double quotes. Line ends and invisible characters are escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if is_invisible(c) || matches!(u32::from(c), 0x85 | 0xD800..=0xF8FF | 0xFFFE..) => {
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

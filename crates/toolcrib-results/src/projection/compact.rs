//! Tables in fewer tokens than JSON: comma-separated values, and TOON.

use std::fmt::Write as _;

use serde_json::Value;

use crate::json_size::json_size;
use crate::tokens::TokenCounter;

/// The maximum size of a value, as JSON, for which shorter forms are tried.
const MAX_BYTES: usize = 256 * 1024;

/// The minimum number of rows of a table.
const MIN_ROWS: usize = 2;

/// The maximum depth of objects around a table.
const MAX_DEPTH: usize = 4;

/// Returns the form of a table, or of an object with tables, with the fewest tokens; `None` if that is JSON, or if the
/// value has no table.
pub(super) fn shortest(value: &Value, counter: &TokenCounter) -> Option<String> {
    json_size(value, MAX_BYTES)?;
    let json = value.to_string();
    let csv = value.as_array().and_then(|rows| Table::of(rows)).map(|table| table.csv());
    let toon = toon(value);
    let forms = csv.into_iter().chain(toon).map(|text| (counter.count(&text), text));
    let (tokens, text) = forms.min_by_key(|(tokens, _)| *tokens)?;
    (tokens < counter.count(&json)).then_some(text)
}

/// Objects with the same keys and simple values.
struct Table<'a> {
    keys: Vec<&'a str>,
    rows: &'a [Value],
}

impl<'a> Table<'a> {
    /// Returns the table of a list; `None` for a list of anything else.
    fn of(rows: &'a [Value]) -> Option<Self> {
        let keys: Vec<&str> = rows.first()?.as_object()?.keys().map(String::as_str).collect();
        let is_row = |row: &Value| {
            row.as_object().is_some_and(|row| {
                let is_simple =
                    |key: &&str| row.get(*key).is_some_and(|value| !value.is_array() && !value.is_object());
                row.len() == keys.len() && keys.iter().all(is_simple)
            })
        };
        (rows.len() >= MIN_ROWS && !keys.is_empty() && rows.iter().all(is_row)).then_some(Self { keys, rows })
    }

    fn cells(&self) -> impl Iterator<Item = Vec<&Value>> {
        self.rows.iter().map(|row| self.keys.iter().filter_map(|key| row.get(*key)).collect())
    }

    /// Returns comma-separated values (RFC 4180). A missing value is an empty field, and an empty text is quoted.
    fn csv(&self) -> String {
        let header: Vec<_> = self.keys.iter().map(|key| csv_field(key)).collect();
        let rows = self.cells().map(|cells| {
            let fields: Vec<_> = cells
                .into_iter()
                .map(|value| match value {
                    Value::Null => String::new(),
                    Value::String(text) => csv_field(text),
                    value => value.to_string(),
                })
                .collect();
            fields.join(",")
        });
        [header.join(",")].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
    }
}

fn csv_field(text: &str) -> String {
    // A quoted field is a text, also if it reads like a number.
    let is_plain = !text.is_empty()
        && !text.contains([',', '"', '\n', '\r'])
        && text.trim() == text
        && !is_literal(text);
    if is_plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// Returns a value in TOON; `None` if it has no table.
fn toon(value: &Value) -> Option<String> {
    let (mut text, mut tables) = (String::new(), 0);
    match value {
        Value::Array(rows) => write_table(&mut text, "", rows, 0, &mut tables)?,
        Value::Object(_) => write_object(&mut text, value, 0, &mut tables)?,
        _ => return None,
    }
    (tables > 0).then(|| text.trim_end().to_owned())
}

/// Writes the members of an object; `None` if one has no short form.
fn write_object(text: &mut String, object: &Value, depth: usize, tables: &mut usize) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    let indent = "  ".repeat(depth);
    for (key, value) in object.as_object()? {
        let key = toon_text(key, true);
        match value {
            Value::Object(members) if !members.is_empty() => {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{indent}{key}:");
                write_object(text, value, depth + 1, tables)?;
            }
            Value::Array(rows) if rows.iter().all(|row| !row.is_array() && !row.is_object()) => {
                let values: Vec<_> = rows.iter().map(toon_value).collect();
                let _ = writeln!(text, "{indent}{key}[{}]: {}", rows.len(), values.join(","));
            }
            Value::Array(rows) => write_table(text, &format!("{indent}{key}"), rows, depth, tables)?,
            Value::Object(_) => {
                let _ = writeln!(text, "{indent}{key}:");
            }
            value => {
                let _ = writeln!(text, "{indent}{key}: {}", toon_value(value));
            }
        }
    }
    Some(())
}

fn write_table(
    text: &mut String,
    name: &str,
    rows: &[Value],
    depth: usize,
    tables: &mut usize,
) -> Option<()> {
    let table = Table::of(rows)?;
    let keys: Vec<_> = table.keys.iter().map(|key| toon_text(key, true)).collect();
    let _ = writeln!(text, "{name}[{}]{{{}}}:", rows.len(), keys.join(","));
    for cells in table.cells() {
        let cells: Vec<_> = cells.into_iter().map(toon_value).collect();
        let _ = writeln!(text, "{}{}", "  ".repeat(depth + 1), cells.join(","));
    }
    *tables += 1;
    Some(())
}

fn toon_value(value: &Value) -> String {
    match value {
        Value::String(text) => toon_text(text, false),
        value => value.to_string(),
    }
}

/// Returns a text, quoted if it would otherwise read as something else.
fn toon_text(text: &str, is_key: bool) -> String {
    let is_special = |c: char| c.is_control() || matches!(c, ',' | ':' | '"' | '\\' | '[' | ']' | '{' | '}');
    let has_special = text.contains(is_special) || text.starts_with('-') || is_key && text.contains(' ');
    let is_plain = !text.is_empty() && text.trim() == text && !has_special && !is_literal(text);
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

/// Returns true for a text that reads as a number, a boolean, or null.
fn is_literal(text: &str) -> bool {
    matches!(text, "true" | "false" | "null") || text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_table_is_written_with_its_keys_once() {
        let rows = json!([{"sku": "a-1", "n": 2, "note": null}, {"sku": "b,2", "n": 3, "note": "12"}]);
        let table = Table::of(rows.as_array().unwrap()).unwrap();
        insta::assert_snapshot!(table.csv(), @r#"
        sku,n,note
        a-1,2,
        "b,2",3,"12"
        "#);
        let nested = json!({"total": 2, "tags": ["x", "true"], "page": {"items": rows}});
        insta::assert_snapshot!(toon(&nested).unwrap(), @r#"
        total: 2
        tags[2]: x,"true"
        page:
          items[2]{sku,n,note}:
            a-1,2,null
            "b,2",3,"12"
        "#);
    }

    #[test]
    fn what_is_no_table_stays_json() {
        let counter = TokenCounter::default();
        for value in [
            json!("text"),
            json!([1, 2, 3]),
            json!([{"a": 1}]),
            json!([{"a": 1}, {"b": 1}]),
            json!([{"a": [1]}, {"a": [2]}]),
            json!({"a": 1}),
        ] {
            assert_eq!(shortest(&value, &counter), None, "{value}");
        }
        let rows: Vec<_> = (0..20).map(|n| json!({"identifier": n, "quantity": 2 * n})).collect();
        let text = shortest(&json!(rows), &counter).unwrap();
        assert!(text.starts_with("identifier,quantity\n0,0\n"), "{text}");
    }
}

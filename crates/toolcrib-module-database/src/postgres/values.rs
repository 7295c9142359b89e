//! The values of PostgreSQL, in the text format.

use serde_json::Value;
use sqlx::postgres::{PgRow, PgTypeInfo, PgTypeKind};
use sqlx::{Row, TypeInfo, ValueRef};
use toolcrib_model::ToolError;
use toolcrib_model::random::hex;

use super::array;
use crate::output::cell::{self, Cell, decode_bytes};
use crate::parameters::{not_base64, not_bound};

/// Converts a value of a row.
pub(super) fn cell<'a>(row: &'a PgRow, at: usize, kind: Option<&PgTypeInfo>) -> Cell<'a> {
    let Ok(value) = row.try_get_raw(at) else { return Cell::NULL };
    if value.is_null() {
        return Cell::NULL;
    }
    let Ok(text) = value.as_str() else {
        return value.as_bytes().map_or(Cell::NULL, Cell::bytes);
    };
    match kind {
        Some(kind) => cell_of_type(text, kind),
        None => Cell::text(text),
    }
}

fn cell_of_type<'a>(text: &'a str, kind: &PgTypeInfo) -> Cell<'a> {
    if let PgTypeKind::Array(element) = kind.kind() {
        return match array::parse(text, &|text| scalar(text, element)) {
            Some(value) => Cell::Document { value, text },
            None => Cell::text(text),
        };
    }
    match kind.name() {
        "JSON" | "JSONB" => Cell::json(text),
        "TEXT" | "VARCHAR" => Cell::text(text),
        "BYTEA" => match text.strip_prefix("\\x").and_then(decode_hex) {
            Some(bytes) => Cell::Bytes(bytes.into()),
            None => Cell::text(text),
        },
        _ => match scalar(text, kind) {
            Value::String(_) => Cell::text(text),
            value => Cell::Plain(value),
        },
    }
}

/// Converts a value that is not an array, or an element of one.
fn scalar(text: &str, kind: &PgTypeInfo) -> Value {
    let kind = match kind.kind() {
        PgTypeKind::Domain(base) => base,
        _ => kind,
    };
    let number = match kind.name() {
        "BOOL" => Some(Value::Bool(text == "t")),
        "INT2" | "INT4" | "INT8" | "OID" => {
            text.parse::<i64>().ok().map(|number| cell::integer(number.into()))
        }
        "FLOAT4" | "FLOAT8" => text.parse::<f64>().ok().map(cell::float),
        "BYTEA" => text.strip_prefix("\\x").and_then(decode_hex).map(|bytes| cell::bytes(&bytes)),
        _ => None,
    };
    number.unwrap_or_else(|| text.into())
}

fn decode_hex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    pairs.collect()
}

fn encode_hex(bytes: &[u8]) -> String {
    format!("\\x{}", hex(bytes))
}

/// Writes a parameter in PostgreSQL's text format; returns `None` for NULL.
pub(super) fn text(
    value: &Value,
    at: usize,
    is_array: bool,
    is_bytes: bool,
) -> Result<Option<String>, ToolError> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text.clone(),
        Value::Array(items) if is_array => {
            array::write(items, at, &|item| self::text(item, at, false, is_bytes))?
        }
        value if is_bytes => match decode_bytes(value) {
            Some(bytes) => encode_hex(&bytes.map_err(|error| not_base64(at, &error))?),
            None => value.to_string(),
        },
        value => value.to_string(),
    };
    if text.contains('\0') {
        return Err(not_bound(at, "PostgreSQL has no character NUL in texts"));
    }
    Ok(Some(text))
}

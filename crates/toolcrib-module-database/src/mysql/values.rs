//! The values of MySQL and MariaDB, in the binary format of prepared statements.

use serde_json::Value;
use sqlx::mysql::{MySqlArguments, MySqlRow, MySqlTypeInfo};
use sqlx::{Arguments, Column, Decode, MySql, Row, Type, TypeInfo};
use toolcrib_model::ToolError;

use crate::output::cell::{Cell, decode_bytes};
use crate::parameters::{not_base64, not_bound};

/// Returns the name of a type. The driver takes a text with a binary collation for bytes.
pub(super) fn type_name(info: &MySqlTypeInfo) -> String {
    let name = info.name().to_lowercase();
    if !<str as Type<MySql>>::compatible(info) {
        return name;
    }
    match name.as_str() {
        "binary" => "char".into(),
        "varbinary" => "varchar".into(),
        name => name.replace("blob", "text"),
    }
}

/// Converts a value of a row.
pub(super) fn cell(row: &MySqlRow, at: usize) -> Cell<'_> {
    let (Ok(value), Ok(column)) = (row.try_get_raw(at), row.try_column(at)) else { return Cell::NULL };
    // Only NULL has no bytes. The driver takes a date of zeros for NULL, which it is not.
    let Ok(bytes) = <&[u8] as Decode<MySql>>::decode(value) else { return Cell::NULL };
    let kind = column.type_info().name();
    let known = match kind {
        "BOOLEAN" => signed(bytes).map(|number| match number {
            0 => Cell::Plain(false.into()),
            1 => Cell::Plain(true.into()),
            number => Cell::integer(number),
        }),
        "FLOAT" => bytes.try_into().ok().map(|bytes| Cell::Plain(single(f32::from_le_bytes(bytes)))),
        "DOUBLE" => bytes.try_into().ok().map(|bytes| Cell::float(f64::from_le_bytes(bytes))),
        "BIT" => (bytes.len() <= 8)
            .then(|| Cell::unsigned(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))),
        "DATE" => date(bytes).map(text),
        "DATETIME" | "TIMESTAMP" => date_time(bytes).map(text),
        "TIME" => time(bytes).map(text),
        "JSON" => std::str::from_utf8(bytes).ok().map(Cell::json),
        "BLOB" | "TINYBLOB" | "MEDIUMBLOB" | "LONGBLOB" | "BINARY" | "VARBINARY" | "GEOMETRY" => {
            (!<str as Type<MySql>>::compatible(column.type_info())).then(|| Cell::bytes(bytes))
        }
        kind if kind == "YEAR" || kind.ends_with("INT UNSIGNED") => unsigned(bytes).map(Cell::unsigned),
        kind if kind.ends_with("INT") => signed(bytes).map(Cell::integer),
        _ => None,
    };
    known.unwrap_or_else(|| Cell::text_or_bytes(bytes))
}

fn text<'a>(text: String) -> Cell<'a> {
    Cell::Text(text.into())
}

/// Returns the shortest number that reads as this one, not its expansion in double precision.
fn single(number: f32) -> Value {
    crate::output::cell::float(number.to_string().parse().unwrap_or_else(|_| f64::from(number)))
}

fn unsigned(bytes: &[u8]) -> Option<u64> {
    matches!(bytes.len(), 1 | 2 | 4 | 8)
        .then(|| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn signed(bytes: &[u8]) -> Option<i64> {
    match bytes.len() {
        1 => bytes.try_into().ok().map(|bytes| i8::from_le_bytes(bytes).into()),
        2 => bytes.try_into().ok().map(|bytes| i16::from_le_bytes(bytes).into()),
        4 => bytes.try_into().ok().map(|bytes| i32::from_le_bytes(bytes).into()),
        8 => bytes.try_into().ok().map(i64::from_le_bytes),
        _ => None,
    }
}

/// Decodes a date. Its length precedes the parts, of which trailing zeros are omitted.
fn date(bytes: &[u8]) -> Option<String> {
    match bytes {
        [0] => Some("0000-00-00".into()),
        [_, low, high, month, day, ..] => {
            Some(format!("{:04}-{month:02}-{day:02}", u16::from_le_bytes([*low, *high])))
        }
        _ => None,
    }
}

fn date_time(bytes: &[u8]) -> Option<String> {
    let date = date(bytes)?;
    match bytes.get(5..) {
        Some([hour, minute, second, fraction @ ..]) => {
            Some(format!("{date} {hour:02}:{minute:02}:{second:02}{}", fraction_text(fraction)))
        }
        _ => Some(format!("{date} 00:00:00")),
    }
}

fn time(bytes: &[u8]) -> Option<String> {
    match bytes {
        [0] => Some("00:00:00".into()),
        [_, sign, days @ ..] => {
            let (days, rest) = days.split_first_chunk::<4>()?;
            let [hour, minute, second, fraction @ ..] = rest else { return None };
            let hours = u64::from(u32::from_le_bytes(*days)) * 24 + u64::from(*hour);
            let sign = if *sign == 0 { "" } else { "-" };
            Some(format!("{sign}{hours:02}:{minute:02}:{second:02}{}", fraction_text(fraction)))
        }
        _ => None,
    }
}

fn fraction_text(bytes: &[u8]) -> String {
    bytes.try_into().map_or(String::new(), |bytes| format!(".{:06}", u32::from_le_bytes(bytes)))
}

/// Converts the parameters, in their order. The server converts texts to the types of columns.
pub(super) fn arguments(parameters: &[Value]) -> Result<MySqlArguments, ToolError> {
    let mut arguments = MySqlArguments::default();
    for (at, parameter) in parameters.iter().enumerate() {
        let added = match (parameter, decode_bytes(parameter)) {
            (_, Some(bytes)) => arguments.add(bytes.map_err(|error| not_base64(at, &error))?),
            (Value::Null, _) => arguments.add(None::<String>),
            (Value::Bool(value), _) => arguments.add(*value),
            (Value::Number(number), _) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(number), ..) => arguments.add(number),
                (None, Some(number), _) => arguments.add(number),
                (None, None, Some(number)) => arguments.add(number),
                _ => arguments.add(number.to_string()),
            },
            (Value::String(text), _) => arguments.add(text.clone()),
            (document, _) => arguments.add(document.to_string()),
        };
        added.map_err(|error| not_bound(at, &error.to_string()))?;
    }
    Ok(arguments)
}

//! The values of SQLite.

use serde_json::Value;
use sqlx::sqlite::{SqliteArguments, SqliteColumn, SqliteRow};
use sqlx::{Arguments, Column, Decode, Row, Sqlite, TypeInfo, ValueRef};
use toolcrib_model::ToolError;

use crate::output::cell::{Cell, decode_bytes};
use crate::parameters::{not_base64, not_bound};

/// Returns the declared type of a column; `None` for an expression.
pub(super) fn type_name(column: &SqliteColumn) -> Option<String> {
    let info = column.type_info();
    (!info.is_null()).then(|| info.name().to_lowercase())
}

/// Converts a value by its stored type, regardless of the declared type of its column.
pub(super) fn cell(row: &SqliteRow, at: usize) -> Cell<'_> {
    let Ok(value) = row.try_get_raw(at) else { return Cell::NULL };
    if value.is_null() {
        return Cell::NULL;
    }
    let kind = value.type_info().name().to_owned();
    match kind.as_str() {
        "INTEGER" => <i64 as Decode<Sqlite>>::decode(value).map_or(Cell::NULL, Cell::integer),
        "REAL" => <f64 as Decode<Sqlite>>::decode(value).map_or(Cell::NULL, Cell::float),
        "TEXT" => {
            let bytes = <&[u8] as Decode<Sqlite>>::decode(value);
            bytes.map_or(Cell::NULL, Cell::text_or_bytes)
        }
        _ => <&[u8] as Decode<Sqlite>>::decode(value).map_or(Cell::NULL, Cell::bytes),
    }
}

/// Converts the parameters, in their order.
pub(super) fn arguments(parameters: &[Value]) -> Result<SqliteArguments, ToolError> {
    let mut arguments = SqliteArguments::default();
    for (at, parameter) in parameters.iter().enumerate() {
        let added = match (parameter, decode_bytes(parameter)) {
            (_, Some(bytes)) => arguments.add(bytes.map_err(|error| not_base64(at, &error))?),
            (Value::Null, _) => arguments.add(None::<i64>),
            (Value::Bool(value), _) => arguments.add(*value),
            (Value::Number(number), _) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => arguments.add(number),
                (None, Some(float)) if !number.is_u64() => arguments.add(float),
                _ => arguments.add(number.to_string()),
            },
            (Value::String(text), _) => arguments.add(text.clone()),
            (document, _) => arguments.add(document.to_string()),
        };
        added.map_err(|error| not_bound(at, &error.to_string()))?;
    }
    Ok(arguments)
}

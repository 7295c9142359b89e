//! The values of a row as JSON, within bounds.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value, json};

/// The largest integer that a double holds without loss.
const MAX_EXACT: u64 = 1 << 53;

/// The maximum depth of JSON and of arrays that are parsed. Deeper ones stay texts.
pub(crate) const MAX_DEPTH: usize = 32;

/// The size of a cell in addition to its text, in bytes: quotes and a comma.
const CELL_OVERHEAD: usize = 3;

/// A value as a driver returns it.
#[derive(Debug)]
pub(crate) enum Cell<'a> {
    /// A small value: NULL, a boolean, a number.
    Plain(Value),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    /// A JSON document, or an array.
    Document {
        value: Value,
        text: &'a str,
    },
}

impl<'a> Cell<'a> {
    pub(crate) const NULL: Self = Self::Plain(Value::Null);

    pub(crate) fn text(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    pub(crate) fn bytes(bytes: &'a [u8]) -> Self {
        Self::Bytes(Cow::Borrowed(bytes))
    }

    /// Returns text if the bytes are UTF-8, and bytes otherwise.
    pub(crate) fn text_or_bytes(bytes: &'a [u8]) -> Self {
        std::str::from_utf8(bytes).map_or_else(|_| Self::bytes(bytes), Self::text)
    }

    pub(crate) fn integer(number: i64) -> Self {
        Self::Plain(integer(number.into()))
    }

    pub(crate) fn unsigned(number: u64) -> Self {
        Self::Plain(integer(number.into()))
    }

    pub(crate) fn float(number: f64) -> Self {
        Self::Plain(float(number))
    }

    /// Parses a document; returns the text if it is not JSON, or too deep.
    pub(crate) fn json(text: &'a str) -> Self {
        match serde_json::from_str::<Value>(text) {
            // A value that does not survive the round trip has a number that a double does not hold, or a repeated key.
            Ok(value) if depth(&value) <= MAX_DEPTH && is_exact(&value) => Self::Document { value, text },
            _ => Self::text(text),
        }
    }
}

/// Returns an integer, as a text if readers would round it.
pub(crate) fn integer(number: i128) -> Value {
    match i64::try_from(number) {
        Ok(small) if small.unsigned_abs() <= MAX_EXACT => small.into(),
        _ => number.to_string().into(),
    }
}

/// Returns a number, as a text if JSON cannot express it.
pub(crate) fn float(number: f64) -> Value {
    match Number::from_f64(number) {
        Some(number) => Value::Number(number),
        None if number.is_nan() => "NaN".into(),
        None if number > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

/// Returns the JSON form of bytes, in results and in parameters.
pub(crate) fn bytes(bytes: &[u8]) -> Value {
    json!({"base64": STANDARD.encode(bytes)})
}

/// Decodes a parameter of the form `{"base64": "…"}`; returns `None` for any other value.
pub(crate) fn decode_bytes(value: &Value) -> Option<Result<Vec<u8>, base64::DecodeError>> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    map.get("base64")?.as_str().map(|text| STANDARD.decode(text))
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Returns true if no number in a document was rounded by the parser, or would be rounded by readers.
fn is_exact(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(map) => map.values().all(is_exact),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), ..) => number.unsigned_abs() <= MAX_EXACT,
            // Further digits are lost, so the text has to be the value.
            (None, None, Some(number)) => number.abs() < 1e15,
            _ => false,
        },
        _ => true,
    }
}

/// A row, cut to its bounds.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Value>,
    /// Its approximate size as JSON.
    pub(crate) bytes: usize,
    /// The columns that were cut, with the size of the whole value.
    pub(crate) cut: Vec<(usize, u64)>,
}

impl Row {
    /// Cuts cells that are longer than `max_cell`, and the last cells of a row that is longer than `max_row`.
    pub(crate) fn cut<'a>(
        cells: impl IntoIterator<Item = Cell<'a>>,
        max_cell: usize,
        max_row: usize,
    ) -> Self {
        let mut row = Self { cells: Vec::new(), bytes: 0, cut: Vec::new() };
        for (at, cell) in cells.into_iter().enumerate() {
            let room = max_cell.min(max_row.saturating_sub(row.bytes));
            let (value, bytes, whole) = truncate_cell(cell, room);
            row.bytes += bytes + CELL_OVERHEAD;
            row.cells.push(value);
            row.cut.extend(whole.map(|whole| (at, whole)));
        }
        row
    }
}

/// Returns the value within `room`, its size, and the size of the whole value if it was cut.
fn truncate_cell(cell: Cell<'_>, room: usize) -> (Value, usize, Option<u64>) {
    match cell {
        Cell::Plain(value) => {
            let bytes = value.as_str().map_or(8, str::len);
            (value, bytes, None)
        }
        Cell::Text(text) => truncate_text(&text, room),
        Cell::Document { value, text } if text.len() <= room => (value, text.len(), None),
        Cell::Document { text, .. } => truncate_text(text, room),
        Cell::Bytes(all) => {
            // Base64 has four characters for three bytes.
            let most = room / 4 * 3;
            let part = all.get(..most).unwrap_or(&all);
            let whole = (part.len() < all.len()).then_some(all.len() as u64);
            (bytes(part), part.len().div_ceil(3) * 4, whole)
        }
    }
}

fn truncate_text(text: &str, room: usize) -> (Value, usize, Option<u64>) {
    if text.len() <= room {
        return (text.into(), text.len(), None);
    }
    let end = text.floor_char_boundary(room);
    let part = text.get(..end).unwrap_or_default();
    (part.into(), part.len(), Some(text.len() as u64))
}

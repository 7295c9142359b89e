//! The size and the nesting of values as JSON.

use std::fmt::Write as _;

use serde_json::Value;
use toolcrib_model::JsonObject;

use crate::limits::MAX_RESULT_DEPTH;

/// Returns the size of a value as compact JSON in bytes; `None` if it exceeds the limit, without reading the rest. The
/// value must nest at most [`MAX_RESULT_DEPTH`] levels.
pub(crate) fn json_size(value: &Value, limit: usize) -> Option<usize> {
    let mut left = limit;
    spend(value, &mut left)?;
    Some(limit - left)
}

/// Returns the size of an object as compact JSON in bytes, like [`json_size`].
pub(crate) fn object_size(object: &JsonObject, limit: usize) -> Option<usize> {
    let mut left = limit;
    spend_object(object, &mut left)?;
    Some(limit - left)
}

fn spend(value: &Value, left: &mut usize) -> Option<()> {
    match value {
        Value::Null | Value::Bool(true) => take(left, 4),
        Value::Bool(false) => take(left, 5),
        Value::Number(number) => {
            let mut digits = DigitCounter(0);
            // Counting cannot fail.
            let _ = write!(digits, "{number}");
            take(left, digits.0)
        }
        Value::String(text) => take(left, text_size(text, *left)?),
        Value::Array(items) => {
            take(left, items.len().saturating_sub(1) + 2)?;
            items.iter().try_for_each(|item| spend(item, left))
        }
        Value::Object(map) => spend_object(map, left),
    }
}

fn spend_object(map: &JsonObject, left: &mut usize) -> Option<()> {
    take(left, map.len() + map.len().saturating_sub(1) + 2)?;
    map.iter().try_for_each(|(key, value)| {
        take(left, text_size(key, *left)?)?;
        spend(value, left)
    })
}

fn take(left: &mut usize, bytes: usize) -> Option<()> {
    *left = left.checked_sub(bytes)?;
    Some(())
}

/// Returns the size of a text as a JSON string, quotes included; `None` if it exceeds the limit.
pub(crate) fn text_size(text: &str, limit: usize) -> Option<usize> {
    if text.len() + 2 > limit {
        return None;
    }
    let size = 2 + text.bytes().map(escaped_size).sum::<usize>();
    (size <= limit).then_some(size)
}

/// Returns the size of one byte in a JSON string, as `serde_json` writes it.
pub(crate) fn escaped_size(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

struct DigitCounter(usize);

impl std::fmt::Write for DigitCounter {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

/// Replaces values that nest deeper than [`MAX_RESULT_DEPTH`] by a note, and returns the number of replaced values. It
/// does not recurse, regardless of the depth of the value.
pub(crate) fn cut_depth(value: &mut Value) -> usize {
    let mut cut = 0;
    let mut left = vec![(value, 1)];
    while let Some((value, level)) = left.pop() {
        if level > MAX_RESULT_DEPTH && has_children(value) {
            let note = format!("… nested deeper than {MAX_RESULT_DEPTH} levels");
            dismantle(std::mem::replace(value, Value::String(note)));
            cut += 1;
            continue;
        }
        match value {
            Value::Array(items) => {
                left.extend(items.iter_mut().filter(|item| has_children(item)).map(|item| (item, level + 1)));
            }
            Value::Object(map) => {
                left.extend(map.values_mut().filter(|item| has_children(item)).map(|item| (item, level + 1)));
            }
            _ => {}
        }
    }
    cut
}

fn has_children(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => false,
    }
}

/// Drops a value part by part, since dropping it as a whole recurses.
fn dismantle(value: Value) {
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::Array(items) => left.extend(items.into_iter().filter(has_children)),
            Value::Object(map) => left.extend(map.into_iter().map(|(_, item)| item).filter(has_children)),
            _ => {}
        }
    }
}

/// Returns an upper bound of the number of values of a JSON text.
pub(crate) fn value_count(json: &str) -> usize {
    1 + json.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count()
}

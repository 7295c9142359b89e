//! How large a value is as JSON, and how deep.

use std::fmt::Write as _;

use serde_json::Value;
use toolcrib_model::JsonObject;

use super::limits::MAX_RESULT_DEPTH;

/// The bytes of a value as compact JSON; `None` when they are more than the limit, without looking at the rest. The
/// value nests no deeper than [`MAX_RESULT_DEPTH`].
pub(super) fn json_size(value: &Value, limit: usize) -> Option<usize> {
    let mut left = limit;
    spend(value, &mut left)?;
    Some(limit - left)
}

/// The bytes of an object as compact JSON, in the same way.
pub(super) fn object_size(object: &JsonObject, limit: usize) -> Option<usize> {
    let mut left = limit;
    spend_object(object, &mut left)?;
    Some(limit - left)
}

fn spend(value: &Value, left: &mut usize) -> Option<()> {
    match value {
        Value::Null | Value::Bool(true) => take(left, 4),
        Value::Bool(false) => take(left, 5),
        Value::Number(number) => {
            let mut digits = Counter(0);
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

/// The bytes of a text as a JSON string, quotes included; `None` when they are more than the limit.
pub(super) fn text_size(text: &str, limit: usize) -> Option<usize> {
    if text.len() + 2 > limit {
        return None;
    }
    let size = 2 + text.bytes().map(escaped_size).sum::<usize>();
    (size <= limit).then_some(size)
}

/// The bytes of one byte inside of a JSON string, as `serde_json` writes it.
pub(super) fn escaped_size(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

struct Counter(usize);

impl std::fmt::Write for Counter {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

/// Puts a note in the place of whatever nests deeper than [`MAX_RESULT_DEPTH`], and says how many such places there were.
/// Needs no stack, however deep the value is.
pub(super) fn cut_depth(value: &mut Value) -> usize {
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

/// Drops a value part by part: dropping it as a whole recurses.
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

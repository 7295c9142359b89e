//! Previews of large values that keep their structure.
//!
//! Objects keep their keys and share the space among their values; a list shows its first three items and the number of
//! the others; a text shows its beginning and its end. Each omission is noted in its place, so that the preview is
//! valid JSON, and the same for the same value.

use serde_json::Value;
use toolcrib_model::JsonObject;

use crate::json_size::{escaped_size, json_size, text_size};
use crate::text::{counted, grouped};

/// The minimum size of a value: enough for any number, and for the note that replaces an omitted value.
pub(crate) const MIN_VALUE_BYTES: usize = 32;

/// The minimum size for items or entries; with less space, a list or an object is shown by its count alone.
const MIN_CONTAINER_BYTES: usize = 80;

/// The maximum number of items of a longer list that are shown.
const MAX_ITEMS: usize = 3;

/// The share of an object's space for one entry, as a fraction, if there is not enough space for all.
const PORTIONS: usize = 8;

/// The maximum number of bytes of a key, if there is not enough space for all.
const MAX_KEY_BYTES: usize = 100;

/// The minimum size for both ends of a text; with less space, only the beginning is shown.
const MIN_ENDS_BYTES: usize = 160;

/// Shortens a value to a number of bytes as JSON, which is at least [`MIN_VALUE_BYTES`].
pub(crate) fn preview(value: &Value, bytes: usize) -> Value {
    let bytes = bytes.max(MIN_VALUE_BYTES);
    let mut room = bytes;
    loop {
        let short = shorten(value, room);
        if room == MIN_VALUE_BYTES || json_size(&short, bytes).is_some() {
            return short;
        }
        // Keys that imitate the notes on other keys are renamed, which can take a few more bytes.
        room = (room / 2).max(MIN_VALUE_BYTES);
    }
}

/// Shortens a value to at most a number of bytes, which is at least [`MIN_VALUE_BYTES`].
fn shorten(value: &Value, bytes: usize) -> Value {
    if json_size(value, bytes).is_some() {
        return value.clone();
    }
    match value {
        Value::String(text) => shorten_text(text, bytes).into(),
        Value::Array(items) => shorten_list(items, bytes),
        Value::Object(map) => shorten_object(map, bytes),
        // Numbers and literals fit in the minimum size.
        other => other.clone(),
    }
}

fn shorten_list(items: &[Value], bytes: usize) -> Value {
    if bytes >= MIN_CONTAINER_BYTES {
        if items.len() <= MAX_ITEMS && 2 + items.iter().map(|item| least(item) + 1).sum::<usize>() <= bytes {
            let items: Vec<_> = items.iter().collect();
            return share(&items, bytes - 2 - items.len()).into();
        }
        let note = |more| format!("… {} more item{}", grouped(more), if more == 1 { "" } else { "s" });
        let mut left = bytes.saturating_sub(2 + note(items.len()).len() + 3);
        let mut shown = Vec::new();
        for item in items.iter().take(MAX_ITEMS) {
            let Some(room) = room(left, bytes / MAX_ITEMS, 1, item) else { break };
            let short = shorten(item, room);
            left = left.saturating_sub(json_size(&short, room).unwrap_or(room) + 1);
            shown.push(short);
        }
        if !shown.is_empty() {
            let more = items.len() - shown.len();
            if more > 0 {
                shown.push(note(more).into());
            }
            return shown.into();
        }
    }
    format!("[… {}]", counted(items.len(), "item")).into()
}

fn shorten_object(map: &JsonObject, bytes: usize) -> Value {
    let key_cost = |key: &str| text_size(key, MAX_KEY_BYTES).unwrap_or(MAX_KEY_BYTES) + 2;
    if bytes >= MIN_CONTAINER_BYTES {
        let mut left = Some(bytes - 2);
        for (key, value) in map {
            left = left.and_then(|left| left.checked_sub(key_cost(key) + least(value)));
            if left.is_none() {
                break;
            }
        }
        let mut shown = JsonObject::new();
        if left.is_some() {
            let values: Vec<_> = map.values().collect();
            let keys: usize = map.keys().map(|key| key_cost(key)).sum();
            for (key, value) in map.keys().zip(share(&values, bytes - 2 - keys)) {
                shown.insert(shown_key(key, &shown), value);
            }
            return shown.into();
        }
        let note = |more| format!("{} more key{}", grouped(more), if more == 1 { "" } else { "s" });
        let mut left = bytes.saturating_sub(2 + MORE.len() + 3 + note(map.len()).len() + 3);
        for (key, value) in map {
            let Some(room) = room(left, bytes / PORTIONS, key_cost(key), value) else { break };
            let short = shorten(value, room);
            left = left.saturating_sub(json_size(&short, room).unwrap_or(room) + key_cost(key));
            shown.insert(shown_key(key, &shown), short);
        }
        if !shown.is_empty() {
            // A key that equals the note's key would be mistaken for the note.
            shown.shift_remove(MORE);
            let more = map.len() - shown.len();
            shown.insert(MORE.into(), note(more).into());
            return shown.into();
        }
    }
    format!("{{… {}}}", counted(map.len(), "key")).into()
}

/// Divides space among values that all get the minimum: a value that needs less than an equal share keeps its size, and
/// the rest goes to the others.
fn share(values: &[&Value], bytes: usize) -> Vec<Value> {
    let mut sizes: Vec<Option<usize>> =
        values.iter().map(|value| json_size(value, MIN_VALUE_BYTES)).collect();
    let mut left = bytes.saturating_sub(sizes.iter().flatten().sum());
    let mut open = sizes.iter().filter(|size| size.is_none()).count();
    // A few rounds distribute nearly all of the space, and each reads at most that many bytes.
    for _ in 0..PORTIONS {
        let share = left / open.max(1);
        let before = open;
        for (value, size) in values.iter().zip(&mut sizes).filter(|(_, size)| size.is_none()) {
            *size = json_size(value, share);
            left -= size.unwrap_or(0);
            open -= usize::from(size.is_some());
        }
        if open == before {
            break;
        }
    }
    let mut shared = Vec::with_capacity(values.len());
    for (value, size) in values.iter().zip(sizes) {
        if size.is_some() {
            shared.push((*value).clone());
            continue;
        }
        let share = (left / open.max(1)).max(MIN_VALUE_BYTES);
        let short = shorten(value, share);
        left = left.saturating_sub(json_size(&short, share).unwrap_or(share));
        open -= 1;
        shared.push(short);
    }
    shared
}

/// The key of the note on the number of omitted keys.
const MORE: &str = "…";

/// Returns the space for an entry, at most a portion of the remaining space; `None` if the rest is omitted. A last
/// entry that would be only a stub is omitted too.
fn room(left: usize, portion: usize, overhead: usize, value: &Value) -> Option<usize> {
    let portion = portion.max(MIN_VALUE_BYTES);
    let room = left.checked_sub(overhead)?.min(portion);
    (room >= portion / 2 && room >= MIN_VALUE_BYTES || json_size(value, room).is_some()).then_some(room)
}

/// Returns the minimum space that a value needs.
fn least(value: &Value) -> usize {
    json_size(value, MIN_VALUE_BYTES).unwrap_or(MIN_VALUE_BYTES)
}

/// Returns a key, or the beginning of a long one, that differs from the keys that are present.
fn shown_key(key: &str, others: &JsonObject) -> String {
    if text_size(key, MAX_KEY_BYTES).is_some() && !others.contains_key(key) {
        return key.to_owned();
    }
    let note = format!("… key {}, {} bytes", grouped(others.len() + 1), grouped(key.len()));
    format!("{}{note}", escaped_head(key, MAX_KEY_BYTES.saturating_sub(note.len() + 2)))
}

/// Returns the beginning and the end of a text, with the size of the omitted part between them, in a number of bytes as
/// a JSON string.
fn shorten_text(text: &str, bytes: usize) -> String {
    let note = |left_out: usize| format!("… [{} bytes left out] …", grouped(left_out));
    let room = bytes.saturating_sub(2 + note(text.len()).len());
    if bytes >= MIN_ENDS_BYTES {
        let end = escaped_tail(text, room / 3);
        let beginning = escaped_head(text, room - room / 3);
        return format!("{beginning}{}{end}", note(text.len() - beginning.len() - end.len()));
    }
    let note = |left_out: usize| format!("… {} bytes", grouped(left_out));
    let beginning = escaped_head(text, bytes.saturating_sub(2 + note(text.len()).len() + " more".len()));
    if beginning.is_empty() {
        return note(text.len());
    }
    format!("{beginning}{} more", note(text.len() - beginning.len()))
}

/// Returns the longest beginning of a text that takes at most a number of bytes in a JSON string.
fn escaped_head(text: &str, bytes: usize) -> &str {
    toolcrib_model::text::truncate_bytes(text, fitting(text.bytes(), bytes))
}

/// Returns the longest end of a text that takes at most a number of bytes in a JSON string.
fn escaped_tail(text: &str, bytes: usize) -> &str {
    crate::text::tail(text, fitting(text.bytes().rev(), bytes))
}

/// Returns the number of bytes of a text that fit into a number of bytes of a JSON string.
fn fitting(text: impl Iterator<Item = u8>, bytes: usize) -> usize {
    let mut left = Some(bytes);
    let mut fits = |byte: u8| {
        left = left.and_then(|left| left.checked_sub(escaped_size(byte)));
        left.is_some()
    };
    text.take_while(|byte| fits(*byte)).count()
}

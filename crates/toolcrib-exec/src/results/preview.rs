//! A large value in little room, its structure kept.
//!
//! Objects keep their keys and share the room among their values; of a list the first items stand, and how many more
//! there are; of a text the beginning and the end. Whatever is left out is said at its place, so that the preview is
//! valid JSON, and the same for the same value.

use std::fmt::Write as _;

use serde_json::Value;
use toolcrib_model::JsonObject;

use super::measure::{escaped_size, json_size, text_size};
use super::words::{counted, grouped};

/// The least room of a value: enough for any number, and for the note that stands for what has no more room.
pub(super) const MIN_VALUE_BYTES: usize = 32;

/// With less room than this, a list or an object is told by its count alone.
const MIN_CONTAINER_BYTES: usize = 80;

/// A list of no more items than this shares its room as an object does; of a longer one each item gets one such part.
const PORTIONS: usize = 8;

/// The most bytes of a key that is shown, where there is no room for all.
const MAX_KEY_BYTES: usize = 100;

/// With less room than this, of a text the beginning stands alone.
const MIN_ENDS_BYTES: usize = 160;

/// The most bytes of the path that a hint names.
const MAX_PATH_BYTES: usize = 120;

/// How many bytes of a text weigh as much as an item, when the greatest omission is looked for.
const BYTES_PER_ITEM: usize = 1_000;

/// A value, shortened.
pub(super) struct Preview {
    /// What is shown.
    pub(super) value: Value,
    /// The `JSONPath` of the greatest of what is not, where it is short enough to be told.
    pub(super) rest: Option<String>,
}

/// Shortens a value to a number of bytes as JSON, of which there are at least [`MIN_VALUE_BYTES`].
pub(super) fn preview(value: &Value, bytes: usize) -> Preview {
    let bytes = bytes.max(MIN_VALUE_BYTES);
    let mut room = bytes;
    loop {
        let mut shortener = Shortener { path: Vec::new(), rest: None };
        let short = shortener.shorten(value, room);
        if room == MIN_VALUE_BYTES || json_size(&short, bytes).is_some() {
            return Preview { value: short, rest: shortener.rest.and_then(|(_, path)| path) };
        }
        // Keys made to look like the notes on other keys are renamed, which can take a little more.
        room = (room / 2).max(MIN_VALUE_BYTES);
    }
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    Item(usize),
}

struct Shortener<'a> {
    /// Where the value stands that is being shortened.
    path: Vec<Step<'a>>,
    /// The greatest omission: its weight and its path.
    rest: Option<(usize, Option<String>)>,
}

impl<'a> Shortener<'a> {
    /// The value in no more than so many bytes, of which there are at least [`MIN_VALUE_BYTES`].
    fn shorten(&mut self, value: &'a Value, bytes: usize) -> Value {
        if json_size(value, bytes).is_some() {
            return value.clone();
        }
        match value {
            Value::String(text) => {
                self.omit(text.len() / BYTES_PER_ITEM, "");
                shorten_text(text, bytes).into()
            }
            Value::Array(items) => self.list(items, bytes),
            Value::Object(map) => self.object(map, bytes),
            // Numbers and words fit in the least room.
            other => other.clone(),
        }
    }

    fn list(&mut self, items: &'a [Value], bytes: usize) -> Value {
        let entries = || items.iter().enumerate().map(|(position, item)| (Step::Item(position), item));
        if bytes >= MIN_CONTAINER_BYTES {
            if items.len() <= PORTIONS
                && 2 + entries().map(|(_, item)| least(item) + 1).sum::<usize>() <= bytes
            {
                let entries: Vec<_> = entries().collect();
                return self.share(&entries, bytes - 2 - items.len()).into();
            }
            let note = |more| format!("… {} more item{}", grouped(more), if more == 1 { "" } else { "s" });
            let mut left = bytes.saturating_sub(2 + note(items.len()).len() + 3);
            let mut kept = Vec::new();
            for (step, item) in entries() {
                let Some(room) = room(left, bytes, 1, item) else { break };
                let short = self.at(step, item, room);
                left = left.saturating_sub(json_size(&short, room).unwrap_or(room) + 1);
                kept.push(short);
            }
            if !kept.is_empty() {
                let more = items.len() - kept.len();
                if more > 0 {
                    self.omit(more, &format!("[{}:{}]", kept.len(), 2 * kept.len()));
                    kept.push(note(more).into());
                }
                return kept.into();
            }
        }
        self.omit(items.len(), "");
        format!("[… {}]", counted(items.len(), "item")).into()
    }

    fn object(&mut self, map: &'a JsonObject, bytes: usize) -> Value {
        let key_cost = |key: &str| text_size(key, MAX_KEY_BYTES).unwrap_or(MAX_KEY_BYTES) + 2;
        if bytes >= MIN_CONTAINER_BYTES {
            let mut left = Some(bytes - 2);
            for (key, value) in map {
                left = left.and_then(|left| left.checked_sub(key_cost(key) + least(value)));
                if left.is_none() {
                    break;
                }
            }
            let mut kept = JsonObject::new();
            if left.is_some() {
                let entries: Vec<_> = map.iter().map(|(key, value)| (Step::Key(key), value)).collect();
                let keys: usize = map.keys().map(|key| key_cost(key)).sum();
                for (key, value) in map.keys().zip(self.share(&entries, bytes - 2 - keys)) {
                    kept.insert(shown_key(key, &kept), value);
                }
                return kept.into();
            }
            let note = |more| format!("{} more key{}", grouped(more), if more == 1 { "" } else { "s" });
            let mut left = bytes.saturating_sub(2 + MORE.len() + 3 + note(map.len()).len() + 3);
            for (key, value) in map {
                let Some(room) = room(left, bytes, key_cost(key), value) else { break };
                let short = self.at(Step::Key(key), value, room);
                left = left.saturating_sub(json_size(&short, room).unwrap_or(room) + key_cost(key));
                kept.insert(shown_key(key, &kept), short);
            }
            if !kept.is_empty() {
                // A key that looks like the note would be taken for it.
                kept.shift_remove(MORE);
                let more = map.len() - kept.len();
                self.omit(more, "");
                kept.insert(MORE.into(), note(more).into());
                return kept.into();
            }
        }
        self.omit(map.len(), "");
        format!("{{… {}}}", counted(map.len(), "key")).into()
    }

    /// Shares room among values that all get the least: what needs less than an equal share keeps its own size, and what
    /// it leaves goes to the others.
    fn share(&mut self, entries: &[(Step<'a>, &'a Value)], bytes: usize) -> Vec<Value> {
        let mut sizes: Vec<Option<usize>> =
            entries.iter().map(|(_, value)| json_size(value, MIN_VALUE_BYTES)).collect();
        let mut left = bytes.saturating_sub(sizes.iter().flatten().sum());
        let mut open = sizes.iter().filter(|size| size.is_none()).count();
        // A few rounds find nearly all that there is to be found, and each looks at no more than the room.
        for _ in 0..PORTIONS {
            let share = left / open.max(1);
            let before = open;
            for ((_, value), size) in entries.iter().zip(&mut sizes).filter(|(_, size)| size.is_none()) {
                *size = json_size(value, share);
                left -= size.unwrap_or(0);
                open -= usize::from(size.is_some());
            }
            if open == before {
                break;
            }
        }
        let mut shared = Vec::with_capacity(entries.len());
        for ((step, value), size) in entries.iter().zip(sizes) {
            if size.is_some() {
                shared.push((*value).clone());
                continue;
            }
            let share = (left / open.max(1)).max(MIN_VALUE_BYTES);
            let short = self.at(*step, value, share);
            left = left.saturating_sub(json_size(&short, share).unwrap_or(share));
            open -= 1;
            shared.push(short);
        }
        shared
    }

    fn at(&mut self, step: Step<'a>, value: &'a Value, bytes: usize) -> Value {
        self.path.push(step);
        let short = self.shorten(value, bytes);
        self.path.pop();
        short
    }

    /// Remembers the place if nothing greater was left out before.
    fn omit(&mut self, weight: usize, part: &str) {
        if self.rest.as_ref().is_none_or(|(greatest, _)| weight > *greatest) {
            self.rest = Some((weight, path_text(&self.path, part)));
        }
    }
}

/// The key under which an object says how many more there are.
const MORE: &str = "…";

/// How much of what is left an entry may take; `None` when the rest is left out. A last entry that would only be a stub
/// is.
fn room(left: usize, all: usize, overhead: usize, value: &Value) -> Option<usize> {
    let portion = (all / PORTIONS).max(MIN_VALUE_BYTES);
    let room = left.checked_sub(overhead)?.min(portion);
    (room >= portion / 2 && room >= MIN_VALUE_BYTES || json_size(value, room).is_some()).then_some(room)
}

/// The least room that a value needs.
fn least(value: &Value) -> usize {
    json_size(value, MIN_VALUE_BYTES).unwrap_or(MIN_VALUE_BYTES)
}

/// A key, or the beginning of a long one, other than those that are there.
fn shown_key(key: &str, others: &JsonObject) -> String {
    if text_size(key, MAX_KEY_BYTES).is_some() && !others.contains_key(key) {
        return key.to_owned();
    }
    let note = format!("… key {}, {} bytes", grouped(others.len() + 1), grouped(key.len()));
    format!("{}{note}", escaped_head(key, MAX_KEY_BYTES.saturating_sub(note.len() + 2)))
}

/// The beginning and the end of a text, and how much is left out between them, in so many bytes as a JSON string.
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

/// As much of the beginning as takes so many bytes inside of a JSON string.
fn escaped_head(text: &str, bytes: usize) -> &str {
    super::words::head(text, fitting(text.bytes(), bytes))
}

/// As much of the end as takes so many bytes inside of a JSON string.
fn escaped_tail(text: &str, bytes: usize) -> &str {
    super::words::tail(text, fitting(text.bytes().rev(), bytes))
}

/// How many of these bytes of a text take so many inside of a JSON string.
fn fitting(text: impl Iterator<Item = u8>, bytes: usize) -> usize {
    let mut left = Some(bytes);
    let mut fits = |byte: u8| {
        left = left.and_then(|left| left.checked_sub(escaped_size(byte)));
        left.is_some()
    };
    text.take_while(|byte| fits(*byte)).count()
}

/// A place as `JSONPath`, when that is short.
fn path_text(path: &[Step<'_>], part: &str) -> Option<String> {
    let mut text = "$".to_owned();
    for step in path {
        match step {
            // Writing to a string cannot fail.
            Step::Item(position) => {
                let _ = write!(text, "[{position}]");
            }
            Step::Key(key) if key.len() > MAX_PATH_BYTES => return None,
            Step::Key(key) if is_plain(key) => text.extend([".", key]),
            Step::Key(key) => {
                let quoted = key.replace('\\', "\\\\").replace('\'', "\\'");
                text.extend(["['", &quoted, "']"]);
            }
        }
        if text.len() > MAX_PATH_BYTES {
            return None;
        }
    }
    // A control character could not stand in a query as it is.
    (!text.chars().any(char::is_control)).then(|| text + part)
}

fn is_plain(key: &str) -> bool {
    let mut bytes = key.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

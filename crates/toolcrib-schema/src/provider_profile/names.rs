//! Names of properties that an API refuses, and those that are sent for them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use toolcrib_model::JsonObject;

/// The most characters of a name that is sent.
const MAX_NAME_CHARS: usize = 64;

/// The characters of the mark that tells a changed name from all others: an underscore and eight digits.
const MARK_CHARS: usize = 9;

/// The number of suffixes tried. Two names collide once in four billion.
const MAX_ATTEMPTS: u32 = 100;

/// The deepest that names of arguments are put back.
const MAX_DEPTH: usize = 128;

/// The names that are sent, both ways. A name is changed to the same wherever it stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PropertyNames {
    sent: BTreeMap<String, String>,
    original: BTreeMap<String, String>,
}

impl PropertyNames {
    /// Those of all properties of a schema.
    pub(super) fn of(schema: &Value) -> Self {
        let mut all = BTreeSet::new();
        let mut left = vec![schema];
        while let Some(value) = left.pop() {
            match value {
                Value::Array(items) => left.extend(items),
                Value::Object(map) => {
                    let required = map.get("required").and_then(Value::as_array).into_iter().flatten();
                    all.extend(required.filter_map(Value::as_str));
                    let properties = map.get("properties").and_then(Value::as_object);
                    all.extend(properties.into_iter().flat_map(Map::keys).map(String::as_str));
                    left.extend(map.values());
                }
                _ => {}
            }
        }
        let mut names = Self::default();
        for name in all.iter().filter(|name| !is_accepted(name)) {
            let taken = |sent: &String| all.contains(sent.as_str()) || names.original.contains_key(sent);
            let free = (0..MAX_ATTEMPTS).map(|attempt| changed(name, attempt)).find(|sent| !taken(sent));
            if let Some(free) = free {
                names.sent.insert((*name).to_owned(), free.clone());
                names.original.insert(free, (*name).to_owned());
            }
        }
        names
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Returns the name that is sent for this one.
    pub(super) fn sent<'n>(&'n self, name: &'n str) -> &'n str {
        self.sent.get(name).map_or(name, String::as_str)
    }

    /// Returns a value with the names that are sent.
    pub(super) fn sent_value(&self, value: &Value) -> Value {
        if self.is_empty() { value.clone() } else { renamed(value.clone(), &self.sent, MAX_DEPTH) }
    }

    /// Arguments with the names of the schema.
    pub(super) fn restored(&self, arguments: JsonObject) -> JsonObject {
        match renamed(Value::Object(arguments), &self.original, MAX_DEPTH) {
            Value::Object(arguments) => arguments,
            _ => JsonObject::new(),
        }
    }
}

/// Returns the value with other names. Where two would become one, the second stays as it is.
fn renamed(value: Value, names: &BTreeMap<String, String>, depth: usize) -> Value {
    match value {
        _ if depth == 0 => value,
        Value::Array(items) => items.into_iter().map(|item| renamed(item, names, depth - 1)).collect(),
        Value::Object(map) => {
            let given: BTreeSet<String> =
                map.keys().filter(|name| !names.contains_key(*name)).cloned().collect();
            let rename = |(name, member)| {
                let meant = names.get(&name).filter(|meant| !given.contains(*meant)).cloned();
                (meant.unwrap_or(name), renamed(member, names, depth - 1))
            };
            Value::Object(map.into_iter().map(rename).collect())
        }
        other => other,
    }
}

fn is_accepted(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.len()) && name.chars().all(is_accepted_char)
}

/// The characters that all take.
fn is_accepted_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Returns the name in accepted characters, with a mark made of the whole.
fn changed(name: &str, attempt: u32) -> String {
    let readable = name.chars().map(|c| if is_accepted_char(c) { c } else { '_' });
    let readable: String = readable.take(MAX_NAME_CHARS - MARK_CHARS).collect();
    format!("{readable}_{:08x}", hash(name, attempt))
}

/// Returns the FNV-1a hash, which is stable across platforms and versions.
fn hash(name: &str, attempt: u32) -> u32 {
    const BASIS: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    let bytes = name.bytes().chain(attempt.to_le_bytes());
    bytes.fold(BASIS, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME))
}

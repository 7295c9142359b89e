//! Explanations of queries that find nothing.

use std::fmt::Write as _;

use serde_json::Value;
use toolcrib_document::nearest;
use toolcrib_model::text::kind_of;

use super::select::Selection;
use super::{MAX_STEPS, Query, Segment, Selector};
use crate::read_result::cancellable_search::CancelFlag;

/// The maximum number of listed keys.
const MAX_LISTED_KEYS: usize = 20;

/// The maximum number of keys that are compared for a suggestion.
const MAX_COMPARED_KEYS: usize = 1_000;

/// The maximum length of a key that is shown. A longer key is not a misspelling.
const MAX_KEY_BYTES: usize = 80;

/// Returns an explanation if a query finds nothing because of a name or a position that does not exist: the existing
/// keys, and a suggestion. `None` if the query may legitimately find nothing, as one with a filter.
pub(crate) fn explain(query: &Query, root: &Value, cancel: &CancelFlag) -> Option<String> {
    let mut found = vec![root];
    for segment in &query.segments {
        let next = Selection::new(root, MAX_STEPS, cancel);
        let next: Vec<&Value> = found
            .iter()
            .map(|value| next.select(std::slice::from_ref(segment), value))
            .try_fold(Vec::new(), |mut all, found| {
            all.extend(found.ok()?);
            Some(all)
        })?;
        if next.is_empty() {
            return missing(segment, &found);
        }
        found = next;
    }
    None
}

/// Explains a segment that finds nothing in these values, of which there is at least one.
fn missing(segment: &Segment, found: &[&Value]) -> Option<String> {
    let first = found.first()?;
    match (segment.selectors.as_slice(), segment.descends) {
        ([Selector::Name(name)], true) => Some(format!("there is no key {} at any depth", shown(name))),
        ([Selector::Name(name)], false) => Some(match first {
            Value::Object(_) => no_key(name, found),
            Value::Array(items) => format!(
                "{} is applied to a list of {} items: write a position such as [0], or [*] for all, before it",
                shown(name),
                items.len()
            ),
            other => format!("{} is applied to {}, which has no keys", shown(name), kind_of(other)),
        }),
        ([Selector::Index(index)], false) => Some(match first {
            Value::Array(items) => format!("there is no item [{index}]: the list has {} items", items.len()),
            other => format!("[{index}] is applied to {}, which is not a list", kind_of(other)),
        }),
        _ => None,
    }
}

fn no_key(name: &str, found: &[&Value]) -> String {
    let mut keys: Vec<&str> = Vec::new();
    for key in
        found.iter().filter_map(|value| value.as_object()).flat_map(|map| map.keys()).take(MAX_COMPARED_KEYS)
    {
        if key.len() <= MAX_KEY_BYTES && (keys.len() > MAX_LISTED_KEYS || !keys.contains(&key.as_str())) {
            keys.push(key);
        }
    }
    let mut message = format!("there is no key {}", shown(name));
    // Writing to a string cannot fail.
    if name.len() <= MAX_KEY_BYTES
        && let Some(meant) = nearest(name, keys.iter().copied())
    {
        let _ = write!(message, ", did you mean `{meant}`?");
    }
    let listed: Vec<_> = keys.iter().take(MAX_LISTED_KEYS).copied().collect();
    let _ = match listed.as_slice() {
        [] => write!(message, "; the object is empty"),
        listed => write!(message, "; the keys are: {}", listed.join(", ")),
    };
    if keys.len() > MAX_LISTED_KEYS {
        message.push_str(", …");
    }
    message
}

fn shown(name: &str) -> String {
    let end = name.floor_char_boundary(MAX_KEY_BYTES);
    let short = name.get(..end).unwrap_or_default();
    format!("`{short}{}`", if end < name.len() { "…" } else { "" })
}

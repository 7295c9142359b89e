//! Properties that are sent in one direction only: `readOnly` ones are not sent, `writeOnly` ones are not received.

use std::collections::HashSet;

use serde_json::Value;

use super::definitions::Direction;
use crate::spec::{Node, Spec};

/// The depth to which the schemas of an `allOf` are searched for the properties that a `required` names.
const MAX_SEARCH_DEPTH: usize = 8;

/// The most schemas and properties that are searched for one `required`.
const MAX_SEARCHED: usize = 2000;

/// Returns true if a property is sent in the other direction only. A dangling reference is reported when it is
/// converted.
pub(super) fn is_hidden(spec: Spec<'_>, direction: Direction, schema: Node<'_>) -> bool {
    let keyword = match direction {
        Direction::Input => "readOnly",
        Direction::Output => "writeOnly",
    };
    schema.is_set(keyword)
        || (schema.get("$ref").is_some() && spec.resolve(schema).is_ok_and(|target| target.is_set(keyword)))
}

/// Returns the names of the properties of a schema, and of those it is composed of, that are sent in the other
/// direction only, and the number of searched values.
pub(super) fn hidden_names<'a>(
    spec: Spec<'a>,
    direction: Direction,
    schema: Node<'a>,
) -> (HashSet<&'a str>, usize) {
    let mut names = HashSet::new();
    let mut pending = vec![(schema, 0)];
    let mut searched = 0;
    while let Some((schema, depth)) = pending.pop() {
        searched += 1;
        let Ok(schema) = spec.resolve(schema) else { continue };
        for (name, property) in schema.get("properties").into_iter().flat_map(Node::entries) {
            searched += 1;
            if is_hidden(spec, direction, property) {
                names.insert(name);
            }
        }
        if depth < MAX_SEARCH_DEPTH && searched < MAX_SEARCHED {
            let parts = schema.get("allOf").into_iter().flat_map(Node::items);
            pending.extend(parts.take(MAX_SEARCHED).map(|part| (part, depth + 1)));
        }
    }
    (names, searched)
}

/// Returns the names of a `required`, each once, without hidden properties.
pub(super) fn required(names: Node<'_>, hidden: &HashSet<&str>) -> Value {
    let mut seen = HashSet::new();
    let names = names.items().filter_map(|name| name.value.as_str());
    names.filter(|name| !hidden.contains(name) && seen.insert(*name)).collect()
}

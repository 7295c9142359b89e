//! Arguments that a schema does not list.

use serde_json::Value;

use crate::Violation;
use crate::violation::unknown_argument;

/// Keywords by which a schema takes more properties than it lists, or lists them elsewhere.
const OPEN_KEYWORDS: [&str; 14] = [
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "propertyNames",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "dependentSchemas",
    "dependencies",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
];

/// Top-level arguments that the schema does not know, where it lists what it knows.
pub(crate) fn unknown<'a>(schema: &'a Value, value: &'a Value) -> impl Iterator<Item = Violation> + 'a {
    let known = schema
        .as_object()
        .filter(|map| !OPEN_KEYWORDS.iter().any(|keyword| map.contains_key(*keyword)))
        .and_then(|map| map.get("properties")?.as_object());
    known
        .into_iter()
        .flat_map(|known| {
            let given = value.as_object().into_iter().flat_map(|map| map.keys());
            given.filter(|name| !known.contains_key(*name))
        })
        .map(|name| unknown_argument("", name, Some(schema)))
}

//! The parameters of tools: arguments, and properties of results.

use serde_json::Value;
use toolcrib_model::Tool;

/// The maximum number of properties of one schema that are compared.
const MAX_PROPERTIES: usize = 200;

/// Names that are too common to show the origin of a value by themselves. They count between tools of one namespace,
/// and with the noun of a tool before them, as in `user_id`.
const COMMON_NAMES: &[&str] = &[
    "body",
    "code",
    "comment",
    "content",
    "count",
    "cursor",
    "data",
    "date",
    "description",
    "enabled",
    "error",
    "filter",
    "format",
    "id",
    "index",
    "input",
    "items",
    "key",
    "kind",
    "label",
    "length",
    "limit",
    "message",
    "mode",
    "name",
    "note",
    "offset",
    "options",
    "order",
    "output",
    "page",
    "params",
    "path",
    "query",
    "reason",
    "result",
    "results",
    "size",
    "sort",
    "state",
    "status",
    "tags",
    "text",
    "time",
    "title",
    "total",
    "type",
    "url",
    "value",
    "values",
    "version",
];

/// Returns true if values flow through the tool. Discovery tools and operational tools work on other tools instead.
pub(super) fn takes_part(tool: &Tool) -> bool {
    !tool.traits().operational && !tool.traits().discovery
}

/// Returns the properties of an object; for a list of objects, those of its items.
pub(super) fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let object = match schema.get("items") {
        Some(items) if schema.get("properties").is_none() => items,
        _ => schema,
    };
    let properties = object.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.take(MAX_PROPERTIES).map(|(name, schema)| (name.as_str(), schema))
}

/// Returns a name in lower case without separators.
pub(super) fn normalized(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns true if a normalized name does not show the origin of a value.
pub(super) fn is_common(normalized: &str) -> bool {
    COMMON_NAMES.contains(&normalized)
}

/// Returns the first type that is not null.
pub(super) fn type_of(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(name) => Some(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        _ => None,
    }
}

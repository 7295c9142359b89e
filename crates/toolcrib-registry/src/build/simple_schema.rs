//! The detection of simple schemas, which are certain to compile.
//!
//! Compiling a schema costs about thirty times as much as this check, and of thousands of tools only a few dozen are
//! ever called. A simple schema is therefore compiled when a call needs it; any other schema at once, since only
//! compiling it shows if it is broken. A schema is simple if each of its keywords is in the list below, with a value
//! that its draft allows, and if it contains no references.

use std::collections::BTreeSet;

use serde_json::Value;

/// The maximum number of parts of a simple schema, including listed values and names, so that compiling it during a
/// call takes no noticeable time.
const MAX_PARTS: usize = 500;

/// The maximum nesting of a simple schema.
const MAX_DEPTH: usize = 32;

/// The drafts in which the keywords below have the same meaning. A schema without `$schema` follows the first.
const DRAFTS: [&str; 3] = [
    "https://json-schema.org/draft/2020-12/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-07/schema",
];

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// Returns true if a schema is certain to compile.
pub(crate) fn is_simple(schema: &Value) -> bool {
    SimpleSchemaCheck { parts: 0 }.is_subschema(schema, 0)
}

/// The check of one schema, with the number of parts so far.
struct SimpleSchemaCheck {
    parts: usize,
}

impl SimpleSchemaCheck {
    fn has_room_for(&mut self, parts: usize) -> bool {
        self.parts += parts;
        self.parts <= MAX_PARTS
    }

    fn is_subschema(&mut self, schema: &Value, depth: usize) -> bool {
        if !self.has_room_for(1) || depth > MAX_DEPTH {
            return false;
        }
        match schema {
            Value::Bool(_) => true,
            Value::Object(map) => map.iter().all(|(keyword, value)| self.is_keyword(keyword, value, depth)),
            _ => false,
        }
    }

    fn is_keyword(&mut self, keyword: &str, value: &Value, depth: usize) -> bool {
        if value.as_array().is_some_and(|values| !self.has_room_for(values.len())) {
            return false;
        }
        let mut is_subschema = |part| self.is_subschema(part, depth + 1);
        match keyword {
            "type" => is_type(value),
            "properties" => value.as_object().is_some_and(|properties| properties.values().all(is_subschema)),
            "items" | "additionalProperties" => is_subschema(value),
            "anyOf" => {
                value.as_array().is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_subschema))
            }
            "required" => value.as_array().is_some_and(|names| are_distinct_texts(names)),
            "title" | "description" | "format" => value.is_string(),
            "enum" => {
                value.as_array().is_some_and(|values| !values.is_empty() && values.iter().all(is_scalar))
            }
            "examples" => value.as_array().is_some_and(|values| values.iter().all(is_data)),
            "const" | "default" => is_data(value),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
            "uniqueItems" => value.is_boolean(),
            "$schema" => depth == 0 && value.as_str().is_some_and(|draft| DRAFTS.contains(&draft)),
            _ => false,
        }
    }
}

fn is_type(value: &Value) -> bool {
    let is_name = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    match value {
        Value::Array(names) => !names.is_empty() && names.iter().all(is_name) && are_distinct_texts(names),
        name => is_name(name),
    }
}

fn are_distinct_texts(values: &[Value]) -> bool {
    let mut seen = BTreeSet::new();
    values.iter().all(|value| value.as_str().is_some_and(|text| seen.insert(text)))
}

/// Returns true for values whose members cannot be mistaken for keywords.
fn is_data(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(is_scalar),
        Value::Object(map) => map.is_empty(),
        _ => true,
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}

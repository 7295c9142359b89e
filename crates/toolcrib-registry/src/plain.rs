//! Which schemas are so plain that they are known to compile.
//!
//! Compiling a schema costs some thirty times as much as this look at it, and of thousands of tools a few dozen are ever
//! called. So a plain schema is compiled when a call needs it; any other at once, since only that tells whether it is
//! broken. A schema is plain when each of its keywords is in the list below, with a value that its draft allows, and
//! nothing refers to anything.

use std::collections::BTreeSet;

use serde_json::Value;

/// The most parts of a plain schema, listed values and names included, so that compiling one on the way of a call takes
/// no time that anybody notices.
const MAX_PARTS: usize = 500;

/// The deepest nesting of a plain schema.
const MAX_DEPTH: usize = 32;

/// The drafts in which the keywords below mean the same. Without `$schema` a schema is of the first.
const DRAFTS: [&str; 3] = [
    "https://json-schema.org/draft/2020-12/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-07/schema",
];

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// Whether a schema is known to compile.
pub(crate) fn is_plain(schema: &Value) -> bool {
    Look { parts: 0 }.is_part(schema, 0)
}

/// How much of a schema has been looked at.
struct Look {
    parts: usize,
}

impl Look {
    fn has_room_for(&mut self, parts: usize) -> bool {
        self.parts += parts;
        self.parts <= MAX_PARTS
    }

    fn is_part(&mut self, schema: &Value, depth: usize) -> bool {
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
        let mut is_part = |part| self.is_part(part, depth + 1);
        match keyword {
            "type" => is_type(value),
            "properties" => value.as_object().is_some_and(|properties| properties.values().all(is_part)),
            "items" | "additionalProperties" => is_part(value),
            "anyOf" => value.as_array().is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_part)),
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

/// Values in which nobody could take a member for a keyword.
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

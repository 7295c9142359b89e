//! The detection of simple schemas, which are certain to compile.
//!
//! Compiling a schema costs about thirty times as much as this check, and of thousands of tools only a few dozen are
//! ever called. A simple schema is therefore compiled when a call needs it; any other schema at once, since only
//! compiling it shows if it is broken. A schema is simple if each of its keywords is in the list below, with a value
//! that its draft allows, if its references name its shared definitions, which are simple too, and if its patterns are
//! certain to be checked.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use toolcrib_model::Schema;
use toolcrib_model::tool::PerDefinition;
use toolcrib_schema::{BoundsCheck, is_small_pattern};

/// The maximum number of parts of a simple schema, including listed values and names, so that compiling it during a
/// call takes no noticeable time.
const MAX_PARTS: usize = 5_000;

/// The parts that take as long to compile as a small pattern.
const PARTS_OF_PATTERN: usize = 20;

/// The maximum nesting of a simple schema.
const MAX_DEPTH: usize = 32;

/// The drafts in which the keywords below have the same meaning. A schema without `$schema` follows the first.
const DRAFTS: [&str; 3] = [
    "https://json-schema.org/draft/2020-12/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-07/schema",
];

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// The prefix of references to shared definitions.
const DEFINITIONS: &str = "#/$defs/";

/// The results of earlier checks: of the definitions that several schemas share, and of patterns.
#[derive(Default)]
pub(crate) struct SimpleDefinitions {
    /// The contents of each; `None` for one that is not simple.
    checked: PerDefinition<Option<Arc<SimpleContents>>>,
    bounds: BoundsCheck,
    /// The patterns of all schemas, true for those that are certain to be checked.
    patterns: Mutex<HashMap<Box<str>, bool>>,
}

impl SimpleDefinitions {
    fn is_small_pattern(&self, pattern: &str) -> bool {
        let mut patterns = self.patterns.lock();
        match patterns.get(pattern) {
            Some(is_small) => *is_small,
            None => *patterns.entry(pattern.into()).or_insert(is_small_pattern(pattern)),
        }
    }
}

/// The contents of a simple schema.
#[derive(Default)]
struct SimpleContents {
    parts: usize,
    /// The names of the definitions that it refers to.
    references: Vec<Box<str>>,
}

/// Returns true if a schema is certain to compile.
pub(crate) fn is_simple(schema: &Schema, known: &SimpleDefinitions) -> bool {
    let Some(root) = SimpleSchemaCheck::contents(schema.root(), 0, known) else { return false };
    let definitions = schema.definitions();
    if definitions.is_empty() {
        return root.references.is_empty();
    }
    let mut parts = root.parts;
    let are_known =
        |contents: &SimpleContents| contents.references.iter().all(|name| schema.definition(name).is_some());
    let is_simple = |definition| {
        let found = known.checked.get(definition, |definition| {
            SimpleSchemaCheck::contents(&definition.schema, 1, known).map(Arc::new)
        });
        found.is_some_and(|found| {
            parts += found.parts;
            parts <= MAX_PARTS && are_known(&found)
        })
    };
    // What is small by itself may be too much work by its references.
    definitions.iter().all(is_simple) && are_known(&root) && known.bounds.check(schema).is_ok()
}

/// The check of one schema, with what it has found so far.
struct SimpleSchemaCheck<'a> {
    contents: SimpleContents,
    known: &'a SimpleDefinitions,
}

impl<'a> SimpleSchemaCheck<'a> {
    fn contents(schema: &Value, depth: usize, known: &'a SimpleDefinitions) -> Option<SimpleContents> {
        let mut check = Self { contents: SimpleContents::default(), known };
        check.is_subschema(schema, depth).then_some(check.contents)
    }

    fn has_room_for(&mut self, parts: usize) -> bool {
        self.contents.parts += parts;
        self.contents.parts <= MAX_PARTS
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
            "$ref" => self.is_reference(value),
            "type" => is_type(value),
            "properties" => value.as_object().is_some_and(|properties| properties.values().all(is_subschema)),
            "items" | "additionalProperties" => is_subschema(value),
            "allOf" | "anyOf" | "oneOf" => {
                value.as_array().is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_subschema))
            }
            "required" => value.as_array().is_some_and(|names| are_distinct_texts(names)),
            "title" | "description" | "format" | "contentEncoding" | "contentMediaType" => value.is_string(),
            "enum" => {
                value.as_array().is_some_and(|values| !values.is_empty() && values.iter().all(is_scalar))
            }
            "examples" => value.as_array().is_some_and(|values| values.iter().all(is_data)),
            "const" | "default" => is_data(value),
            // It takes as much room as its states, of which there are few.
            "pattern" => {
                self.has_room_for(PARTS_OF_PATTERN)
                    && value.as_str().is_some_and(|pattern| self.known.is_small_pattern(pattern))
            }
            "multipleOf" => value.as_f64().is_some_and(|step| step > 0.0),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                value.is_u64()
            }
            "uniqueItems" | "deprecated" => value.is_boolean(),
            "$schema" => depth == 0 && value.as_str().is_some_and(|draft| DRAFTS.contains(&draft)),
            _ => false,
        }
    }

    /// Takes only names that a reference spells as they are.
    fn is_reference(&mut self, value: &Value) -> bool {
        let name = value.as_str().and_then(|text| text.strip_prefix(DEFINITIONS));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let name = name.filter(|name| !name.is_empty() && name.chars().all(is_plain));
        self.contents.references.extend(name.map(Box::from));
        name.is_some()
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

//! The shape of arguments, without their values.

use serde_json::{Map, Value, json};
use toolcrib_model::{JsonObject, Schema};

use super::bounded_text::shown;

/// The maximum depth of a shape; deeper values are only counted.
const MAX_DEPTH: usize = 4;

/// The maximum number of values in a shape; further values are only counted.
const MAX_NODES: usize = 64;

/// The maximum number of items of a list in a shape.
const MAX_ITEMS: usize = 3;

/// The maximum number of subschemas that describe one value, such as the branches of an `anyOf`.
const MAX_SCHEMAS: usize = 32;

/// The name of a property that the schema does not list.
const UNLISTED: &str = "?";

/// Returns the types of arguments and the names that the schema lists: `{"path": "string(12)", "n": "integer"}`. A list
/// is shown by its first items; an object or list that is too deep is shown by its length.
pub(super) fn shape(arguments: &JsonObject, schema: Option<&Schema>) -> Value {
    let mut left = MAX_NODES;
    object(arguments, &Schemas::of(schema, schema.map(Schema::root)), 0, &mut left)
}

fn value(given: &Value, schemas: &Schemas<'_>, depth: usize, left: &mut usize) -> Value {
    match given {
        Value::Null => "null".into(),
        Value::Bool(_) => "boolean".into(),
        Value::Number(number) if number.is_f64() => "number".into(),
        Value::Number(_) => "integer".into(),
        Value::String(text) => format!("string({})", text.chars().count()).into(),
        Value::Array(items) if depth >= MAX_DEPTH => format!("array({})", items.len()).into(),
        Value::Object(map) if depth >= MAX_DEPTH => format!("object({})", map.len()).into(),
        Value::Array(items) => array(items, schemas, depth, left),
        Value::Object(map) => object(map, schemas, depth, left),
    }
}

fn array(items: &[Value], schemas: &Schemas<'_>, depth: usize, left: &mut usize) -> Value {
    let mut out = Vec::new();
    for (position, item) in items.iter().enumerate().take(MAX_ITEMS) {
        if *left == 0 {
            break;
        }
        *left -= 1;
        out.push(value(item, &schemas.item(position), depth + 1, left));
    }
    if out.len() < items.len() {
        out.push(more(items.len() - out.len()));
    }
    out.into()
}

fn object(map: &JsonObject, schemas: &Schemas<'_>, depth: usize, left: &mut usize) -> Value {
    let (mut out, mut count, mut unlisted) = (Map::new(), 0, 0);
    for (key, item) in map {
        if *left == 0 {
            break;
        }
        *left -= 1;
        count += 1;
        let (is_listed, inner) = schemas.property(key);
        let name = if is_listed {
            shown(key)
        } else {
            unlisted += 1;
            if unlisted == 1 { UNLISTED.to_owned() } else { format!("{UNLISTED}{unlisted}") }
        };
        out.insert(name, value(item, &inner, depth + 1, left));
    }
    if count < map.len() {
        out.insert("…".to_owned(), more(map.len() - count));
    }
    out.into()
}

fn more(count: usize) -> Value {
    json!(format!("{count} more"))
}

/// All subschemas that describe one value.
struct Schemas<'a> {
    root: Option<&'a Schema>,
    all: Vec<&'a Value>,
}

impl<'a> Schemas<'a> {
    /// Collects these subschemas and those that they refer to.
    fn of(root: Option<&'a Schema>, start: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut all: Vec<&Value> = start.into_iter().take(MAX_SCHEMAS).collect();
        let mut at = 0;
        while let Some(schema) = all.get(at).copied() {
            at += 1;
            let reference = schema.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
            let mut found: Vec<&Value> =
                reference.and_then(|pointer| root?.pointer(pointer)).into_iter().collect();
            for key in ["allOf", "anyOf", "oneOf"] {
                found.extend(schema.get(key).and_then(Value::as_array).into_iter().flatten());
            }
            found.extend(["if", "then", "else"].iter().filter_map(|key| schema.get(key)));
            for schema in found {
                if all.len() < MAX_SCHEMAS && !all.iter().any(|known| std::ptr::eq(*known, schema)) {
                    all.push(schema);
                }
            }
        }
        Self { root, all }
    }

    /// Returns true if a property is listed, with the subschemas that describe it.
    fn property(&self, name: &str) -> (bool, Self) {
        let listed: Vec<_> =
            self.all.iter().filter_map(|schema| schema.get("properties")?.get(name)).collect();
        if listed.is_empty() {
            let free = self.all.iter().filter_map(|schema| schema.get("additionalProperties"));
            return (false, Self::of(self.root, free));
        }
        (true, Self::of(self.root, listed))
    }

    /// Returns the subschemas that describe an item of a list.
    fn item(&self, position: usize) -> Self {
        let items = self.all.iter().filter_map(|schema| {
            let listed = schema.get("prefixItems").and_then(|items| items.get(position));
            listed.or_else(|| schema.get("items"))
        });
        Self::of(self.root, items)
    }
}

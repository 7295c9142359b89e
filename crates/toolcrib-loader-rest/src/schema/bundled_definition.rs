//! A definition in the schemas of several tools.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::JsonObject;
use toolcrib_model::tool::Definition;

/// The number of bytes of a text that cost as much as a value.
pub(super) const BYTES_OF_NODE: usize = 64;

/// Keywords that validate one value against several schemas.
const COMPOSING: [&str; 6] = ["allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas"];

/// A definition that the schemas of several tools share.
#[derive(Clone, Debug)]
pub(crate) struct BundledDefinition {
    pub(super) definition: Arc<Definition>,
    /// Its cost in a schema.
    pub(super) size: usize,
    /// True if a value is validated against several schemas in it.
    pub(super) is_composed: bool,
    /// The definition with its type and its annotations alone; `None` if that is this one.
    pub(super) loosened: Option<Rc<BundledDefinition>>,
}

impl BundledDefinition {
    pub(super) fn new(name: &str, schema: Value) -> Self {
        let loosened = Some(Rc::new(Self::last(name, loosened(&schema))));
        Self { loosened, ..Self::last(name, schema) }
    }

    /// Creates a definition that is not loosened any further.
    pub(super) fn last(name: &str, schema: Value) -> Self {
        Self {
            size: name.len() / BYTES_OF_NODE + size(&schema),
            is_composed: is_composed(&schema),
            loosened: None,
            definition: Arc::new(Definition { name: name.into(), schema }),
        }
    }

    /// Returns the definition with its type and its annotations alone.
    pub(super) fn loosened(self) -> Self {
        self.loosened.as_deref().cloned().unwrap_or(self)
    }
}

/// Returns the cost of a value: its values, and its texts by their length.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(map) => {
            1 + map.iter().map(|(key, value)| key.len() / BYTES_OF_NODE + size(value)).sum::<usize>()
        }
        Value::String(text) => 1 + text.len() / BYTES_OF_NODE,
        _ => 1,
    }
}

/// Returns a reduced definition that keeps only the annotations and the type.
fn loosened(definition: &Value) -> Value {
    let kept = ["type", "title", "description"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), definition.get(key)?.clone())));
    json!(kept.collect::<JsonObject>())
}

/// Returns true if the schema, or one inside it, validates a value against several others.
fn is_composed(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(is_composed),
        Value::Object(map) => {
            COMPOSING.iter().any(|key| map.contains_key(*key)) || map.values().any(is_composed)
        }
        _ => false,
    }
}

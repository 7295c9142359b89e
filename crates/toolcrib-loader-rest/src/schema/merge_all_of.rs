//! Merging of an `allOf` of plain objects into one equivalent object.

use std::collections::HashMap;

use serde_json::{Value, json};
use toolcrib_document::plain_text;
use toolcrib_model::JsonObject;

use super::Converter;
use super::keyword::{self, KeywordKind};
use super::read_write_only::required;
use crate::Error;
use crate::spec::Node;

/// The depth to which the schemas of an `allOf` may themselves be composed.
const MAX_DEPTH: usize = 8;

/// The most schemas that are merged.
const MAX_PARTS: usize = 100;

/// The keywords of a schema that declares nothing except properties.
const PLAIN: [&str; 9] = [
    "allOf",
    "default",
    "deprecated",
    "description",
    "example",
    "examples",
    "properties",
    "required",
    "title",
];

impl<'a> Converter<'_, 'a> {
    /// Converts the schema of a body. If it is composed of plain objects that define different properties, they are
    /// merged into one object. Otherwise it is converted like [`convert_top`](Self::convert_top).
    pub(crate) fn convert_body(&mut self, schema: Node<'a>) -> Result<Value, Error> {
        let mut parts = Vec::new();
        if !self.collect(schema, 0, &mut parts) || parts.len() < 2 {
            return self.convert_top(schema);
        }
        let mut owners: HashMap<&str, Node<'a>> = HashMap::new();
        for (name, property) in parts.iter().flat_map(|part| part.get_or_nothing("properties").entries()) {
            let owner = *owners.entry(name).or_insert(property);
            if (owner.file, owner.value) != (property.file, property.value) {
                return self.convert_top(schema);
            }
        }
        self.merge(&parts)
    }

    /// Collects the schema and the schemas it is composed of. Returns false if one of them is not a plain object.
    fn collect(&self, schema: Node<'a>, depth: usize, parts: &mut Vec<Node<'a>>) -> bool {
        if self.spec().dialect.has_siblings() && schema.get("$ref").is_some() && !is_plain(schema) {
            return false;
        }
        let Ok(part) = self.spec().resolve(schema) else { return false };
        if depth > MAX_DEPTH || parts.len() >= MAX_PARTS || !is_plain(part) {
            return false;
        }
        parts.push(part);
        part.get_or_nothing("allOf").items().all(|inner| self.collect(inner, depth + 1, parts))
    }

    fn merge(&mut self, parts: &[Node<'a>]) -> Result<Value, Error> {
        let mut properties = JsonObject::new();
        let mut names: Vec<Value> = Vec::new();
        let mut out = JsonObject::new();
        let Some(whole) = parts.first() else { return Ok(json!({})) };
        let hidden = self.hidden_of(*whole)?;
        for part in parts {
            if let Value::Object(own) = self.properties(part.get_or_nothing("properties"))? {
                for (name, schema) in own {
                    properties.entry(name).or_insert(schema);
                }
            }
            if let Value::Array(own) = required(part.get_or_nothing("required"), &hidden) {
                self.count(own.len())?;
                for name in own {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        }
        out.insert("type".into(), "object".into());
        if let Some(description) = whole.words("description") {
            out.insert("description".into(), plain_text(description).into());
        }
        out.insert("properties".into(), properties.into());
        if !names.is_empty() {
            out.insert("required".into(), names.into());
        }
        self.count(out.len())?;
        Ok(out.into())
    }
}

/// Returns true if a schema declares nothing except properties. Siblings of a `$ref` may only be annotations.
fn is_plain(schema: Node<'_>) -> bool {
    let is_reference = schema.get("$ref").is_some();
    schema.value.is_object()
        && schema.entries().all(|(key, node)| match key {
            "$ref" => true,
            "type" => node.value == "object",
            // It selects one of several schemas.
            "discriminator" => false,
            "nullable" | "x-nullable" => node.value != &Value::Bool(true),
            "allOf" | "properties" | "required" if is_reference => false,
            key => PLAIN.contains(&key) || matches!(keyword::kind(key), KeywordKind::Unknown),
        })
}

//! JSON Schemas resolved for display to a model: references are followed, and the parts of `allOf` are merged.

use std::collections::HashSet;

use serde_json::Value;
use toolcrib_model::Schema;

/// The most references that are followed from one schema to the next.
const MAX_REFERENCES: usize = 8;

/// The most schemas that are merged for `allOf`.
const MAX_PARTS: usize = 32;

/// The most properties of one object that are examined.
const MAX_FIELDS: usize = 1_000;

/// The most alternatives of one schema that are examined.
const MAX_ALTERNATIVES: usize = 32;

/// A schema, and the document that its references point into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'a> {
    root: &'a Schema,
    schema: &'a Value,
}

/// A property of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) name: &'a str,
    pub(crate) node: Node<'a>,
    pub(crate) is_required: bool,
}

impl<'a> Node<'a> {
    pub(crate) fn new(root: &'a Schema) -> Self {
        Self { root, schema: root.root() }
    }

    fn at(self, schema: &'a Value) -> Self {
        Self { schema, ..self }
    }

    fn resolved(self) -> Self {
        let mut node = self;
        for _ in 0..MAX_REFERENCES {
            let reference = node.schema.get("$ref").and_then(Value::as_str);
            let target =
                reference.and_then(|text| text.strip_prefix('#')).map(|text| node.root.pointer(text));
            match target {
                Some(Some(schema)) => node = node.at(schema),
                _ => break,
            }
        }
        node
    }

    /// Returns the schema itself, its reference target, and the schemas of its `allOf`; earlier parts take precedence.
    pub(crate) fn parts(self) -> Vec<Self> {
        let mut parts: Vec<Self> = Vec::new();
        let mut waiting = vec![self];
        while let Some(node) = waiting.pop() {
            if parts.len() >= MAX_PARTS || parts.iter().any(|known| std::ptr::eq(known.schema, node.schema)) {
                continue;
            }
            parts.push(node);
            let all = node.schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
            waiting.extend(all.map(|schema| node.at(schema)).rev());
            let target = node.resolved();
            if !std::ptr::eq(target.schema, node.schema) {
                waiting.push(target);
            }
        }
        parts
    }

    /// Returns the first value that one of the parts has under a keyword.
    pub(crate) fn keyword(self, key: &str) -> Option<&'a Value> {
        self.parts().into_iter().find_map(|part| part.schema.get(key))
    }

    pub(crate) fn text(self, key: &str) -> Option<&'a str> {
        self.keyword(key).and_then(Value::as_str)
    }

    /// Returns the schema under a keyword that holds one.
    pub(crate) fn child(self, key: &str) -> Option<Self> {
        let parts = self.parts().into_iter();
        parts.filter_map(|part| Some(part.at(part.schema.get(key)?))).find(|node| node.schema.is_object())
    }

    /// Returns the properties, those that are required first, else in the order of the schema.
    pub(crate) fn fields(self) -> Vec<Field<'a>> {
        let parts = self.parts();
        let required: HashSet<&str> = parts
            .iter()
            .filter_map(|part| part.schema.get("required")?.as_array())
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut names = HashSet::new();
        let all = parts.iter().flat_map(|part| {
            let properties = part.schema.get("properties").and_then(Value::as_object);
            properties.into_iter().flatten().map(|(name, schema)| (name.as_str(), part.at(schema)))
        });
        let mut fields: Vec<Field<'a>> = all
            .filter(|(name, _)| names.insert(*name))
            .map(|(name, node)| Field { name, node, is_required: required.contains(name) })
            .take(MAX_FIELDS)
            .collect();
        fields.sort_by_key(|field| !field.is_required);
        fields
    }

    /// Returns the schemas of `anyOf`, or those of `oneOf`, without those that only require combinations of properties.
    pub(crate) fn alternatives(self) -> Vec<Self> {
        let parts = self.parts().into_iter();
        let mut lists = parts.flat_map(|part| {
            let lists =
                ["anyOf", "oneOf"].into_iter().filter_map(move |key| part.schema.get(key)?.as_array());
            lists.map(move |list| (part, list))
        });
        let first = lists.find(|(_, list)| !list.iter().all(is_constraint_only));
        let (part, list) = match first {
            Some((part, list)) => (part, list.as_slice()),
            None => return Vec::new(),
        };
        list.iter().take(MAX_ALTERNATIVES).map(|schema| part.at(schema)).collect()
    }

    /// Returns the names of its types.
    pub(crate) fn types(self) -> Vec<&'a str> {
        match self.keyword("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the schema of the values of a list, or of a map.
    pub(crate) fn items(self) -> Option<Self> {
        self.child("items").or_else(|| self.child("additionalProperties"))
    }
}

/// Returns true for an alternative such as `{"required": ["a"]}`, which does not describe a type.
fn is_constraint_only(schema: &Value) -> bool {
    let keys = ["type", "properties", "$ref", "enum", "const", "items", "allOf", "anyOf", "oneOf"];
    keys.iter().all(|key| schema.get(key).is_none())
}

//! The searchable text of a tool, sorted into fields and bounded. Both retrievers work on it.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value;
use toolcrib_model::text::truncate_bytes;
use toolcrib_model::{Schema, Tool};

/// The most bytes of one piece of text (a description, an alias) that are indexed. Real descriptions stay below 2 KB;
/// the rest of a long one adds noise.
const MAX_PIECE_BYTES: usize = 4 * 1024;
/// The most bytes of one field of a tool, over all overloads.
const MAX_FIELD_BYTES: usize = 32 * 1024;
/// The most properties of one schema that are read, including nested ones and those of branches.
const MAX_PROPERTIES: usize = 256;
/// The most enum values of one property that are read.
const MAX_ENUM_VALUES: usize = 64;
/// The depth to which properties are followed: those of the schema, and those of its properties.
const MAX_DEPTH: usize = 2;

/// The part of a tool that a text comes from. Matches have a different weight in each field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// The name of the tool.
    Name,
    /// The namespace, and the category that the tool declares.
    Category,
    /// The description.
    Description,
    /// Title, tags and aliases.
    Keywords,
    /// Names, descriptions and enum values of the parameters.
    Parameters,
    /// The names and descriptions of the results, and the side effects.
    Results,
}

impl Field {
    /// All fields, in the order of their numbers.
    pub(crate) const ALL: [Self; 6] =
        [Self::Name, Self::Category, Self::Description, Self::Keywords, Self::Parameters, Self::Results];

    /// Returns the name of the field in the index, which is also its serialized form.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Category => "category",
            Self::Description => "description",
            Self::Keywords => "keywords",
            Self::Parameters => "parameters",
            Self::Results => "results",
        }
    }
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Calls `found` with each piece of text of a tool and its field. Pieces are trimmed and cut to [`MAX_PIECE_BYTES`].
pub(crate) fn each_piece<'a>(tool: &'a Tool, found: impl FnMut(Field, &'a str)) {
    let mut pieces = Pieces { found };
    pieces.push(Field::Name, tool.name.name());
    pieces.push(Field::Category, tool.name.namespace());
    if let Some(category) = tool.category() {
        pieces.push(Field::Category, category);
    }
    pieces.push(Field::Description, &tool.description);
    for text in tool.title().into_iter().chain(tool.tags()).chain(tool.aliases()) {
        pieces.push(Field::Keywords, text);
    }
    pieces.schema(Field::Parameters, &tool.parameters);
    pieces.schema(Field::Results, &tool.output_parameters);
    for text in &tool.traits().side_effects {
        pieces.push(Field::Results, text);
    }
}

/// The text of a tool, by field. Each piece is on a separate line, so that no phrase spans two pieces.
#[derive(Debug, Default)]
pub(crate) struct ToolText<'a> {
    fields: [FieldText<'a>; Field::ALL.len()],
}

#[derive(Debug, Default)]
struct FieldText<'a> {
    text: String,
    seen: HashSet<&'a str>,
}

impl<'a> ToolText<'a> {
    /// Creates the text of a document, as if it were a description.
    pub(crate) fn of_document(text: &str) -> Self {
        let mut document = Self::default();
        if let Some(field) = document.fields.get_mut(Field::Description as usize) {
            truncate_bytes(text, MAX_FIELD_BYTES).clone_into(&mut field.text);
        }
        document
    }

    /// Adds the text of a tool, or of another overload of it. Text that is already present is not repeated.
    pub(crate) fn add(&mut self, tool: &'a Tool) {
        each_piece(tool, |field, piece| {
            let Some(field) = self.fields.get_mut(field as usize) else { return };
            let piece = truncate_bytes(piece, MAX_FIELD_BYTES.saturating_sub(field.text.len()));
            if !piece.is_empty() && field.seen.insert(piece) {
                field.text.push_str(piece);
                field.text.push('\n');
            }
        });
    }

    /// Returns the text of a field, one piece per line.
    pub(crate) fn get(&self, field: Field) -> &str {
        self.fields.get(field as usize).map_or("", |field| &field.text)
    }
}

struct Pieces<F> {
    found: F,
}

impl<'a, F: FnMut(Field, &'a str)> Pieces<F> {
    fn push(&mut self, field: Field, piece: &'a str) {
        let piece = truncate_bytes(piece.trim(), MAX_PIECE_BYTES);
        if !piece.is_empty() {
            (self.found)(field, piece);
        }
    }

    fn schema(&mut self, field: Field, schema: &'a Schema) {
        let mut left = MAX_PROPERTIES;
        self.properties(field, schema, schema.root(), MAX_DEPTH, &mut left);
    }

    /// Visits the properties of `schema`, those of its items and those of its branches.
    fn properties(
        &mut self,
        field: Field,
        root: &'a Schema,
        schema: &'a Value,
        depth: usize,
        left: &mut usize,
    ) {
        let schema = resolved(root, schema);
        let own = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        for (name, property) in own {
            if *left == 0 {
                return;
            }
            *left -= 1;
            self.push(field, name);
            self.property(field, resolved(root, property));
            if depth > 1 {
                self.properties(field, root, property, depth - 1, left);
            }
        }
        let branches =
            ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
        for inner in branches.chain(schema.get("items")) {
            if *left == 0 {
                return;
            }
            // A branch may refer to itself. Each step consumes part of the budget, so the walk ends.
            *left -= 1;
            self.properties(field, root, inner, depth, left);
        }
    }

    fn property(&mut self, field: Field, property: &'a Value) {
        for key in ["title", "description"] {
            if let Some(text) = property.get(key).and_then(Value::as_str) {
                self.push(field, text);
            }
        }
        let items = property.get("items").unwrap_or(&Value::Null);
        for values in [property, items].into_iter().filter_map(|schema| schema.get("enum")?.as_array()) {
            for value in values.iter().filter_map(Value::as_str).take(MAX_ENUM_VALUES) {
                self.push(field, value);
            }
        }
    }
}

/// Follows one reference within the same document.
fn resolved<'a>(root: &'a Schema, schema: &'a Value) -> &'a Value {
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
    reference.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

//! The schema of a tool as it is shown to a model: without parts that calls do not need, and if it is too long, with
//! deeper parts to be requested by their paths.

use serde_json::{Value, json};
use toolcrib_model::{JsonObject, Schema};

use crate::schema::{Field, Node};
use crate::summary::{cut, first_sentence, folded};

/// The keywords that hold one schema.
const SCHEMA_KEYS: [&str; 9] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
];

/// The keywords that hold a list of schemas.
const LIST_KEYS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// The keywords that hold schemas by name.
const MAP_KEYS: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Keywords that calls do not need.
const NOISE: [&str; 7] = ["$schema", "$id", "$comment", "title", "xml", "externalDocs", "discriminator"];

/// Formats that add nothing to the type.
const PLAIN_FORMATS: [&str; 4] = ["int32", "int64", "float", "double"];

/// The keywords of a value that are shown for a schema whose parts are omitted.
const VALUE_KEYS: [&str; 17] = [
    "type",
    "const",
    "enum",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contentEncoding",
    "default",
];

/// The keywords of the length of a string.
const LENGTHS: [&str; 2] = ["minLength", "maxLength"];

/// The depths that are tried, the deepest first, until the schema fits.
const DEPTHS: [usize; 6] = [8, 6, 4, 3, 2, 1];

/// The most values of an enum if a schema does not fit unchanged.
const MAX_CHOICES: usize = 60;

/// The most characters of a value then.
const MAX_VALUE_CHARS: usize = 200;

/// The most characters of a description then.
const MAX_SENTENCE_CHARS: usize = 160;

/// The most nested lists that are searched for properties.
const MAX_LISTS: usize = 4;

/// The most bytes of quotes, colons and commas of a property.
const PUNCTUATION: usize = 10;

/// The segment of a path that selects the values of a list or a map.
const ITEMS: &str = "*";

/// A schema as it is shown to a model.
pub(crate) struct SchemaView {
    pub(crate) schema: Value,
    /// True if parts of it are omitted.
    pub(crate) is_cut: bool,
}

/// A path that does not exist.
pub(crate) struct NoSuchPart {
    /// The missing segment.
    pub(crate) segment: String,
    /// The path before it.
    pub(crate) parent: String,
    /// The parts that exist.
    pub(crate) known: Vec<String>,
}

/// Shows the part of a schema at a path in at most `room` bytes of JSON.
pub(crate) fn schema_view(schema: &Schema, path: &str, room: usize) -> Result<SchemaView, NoSuchPart> {
    let (node, path) = opened(schema, path)?;
    if path.is_empty() {
        let whole = without_noise(&schema.to_value());
        if size(&whole) <= room {
            return Ok(SchemaView { schema: whole, is_cut: false });
        }
    }
    for (depth, has_texts) in DEPTHS.into_iter().map(|depth| (depth, true)).chain([(1, false)]) {
        let mut writer = Writer { left: room, path: path.clone(), is_cut: false, has_texts };
        if let Some(schema) = writer.write(node, depth).filter(|schema| size(schema) <= room) {
            return Ok(SchemaView { schema, is_cut: writer.is_cut });
        }
    }
    Ok(SchemaView { schema: narrow(node, &path, room), is_cut: true })
}

fn size(value: &Value) -> usize {
    value.to_string().len()
}

/// Returns a schema without keywords that calls do not need.
fn without_noise(schema: &Value) -> Value {
    let Some(map) = schema.as_object() else { return schema.clone() };
    let mut tidied = JsonObject::new();
    let is_fixed = has_fixed_length(|key| map.get(key));
    for (key, value) in map {
        let key = key.as_str();
        let value = match value {
            _ if is_fixed && LENGTHS.contains(&key) => continue,
            _ if NOISE.contains(&key) || key.starts_with("x-") => continue,
            Value::Bool(_) if key == "additionalProperties" || key == "unevaluatedProperties" => continue,
            Value::String(format) if key == "format" && PLAIN_FORMATS.contains(&format.as_str()) => continue,
            Value::Array(names) if key == "required" && names.is_empty() => continue,
            Value::String(text) if key == "description" => folded(text).into(),
            Value::Object(_) if SCHEMA_KEYS.contains(&key) => without_noise(value),
            Value::Array(list) if LIST_KEYS.contains(&key) => list.iter().map(without_noise).collect(),
            Value::Object(map) if MAP_KEYS.contains(&key) => Value::Object(
                map.iter().map(|(name, schema)| (name.clone(), without_noise(schema))).collect(),
            ),
            other => other.clone(),
        };
        tidied.insert(key.to_owned(), value);
    }
    tidied.into()
}

/// Returns true for a string of fixed length with a pattern, which already specifies the length.
fn has_fixed_length<'a>(keyword: impl Fn(&str) -> Option<&'a Value>) -> bool {
    let [least, most] = LENGTHS.map(&keyword);
    keyword("pattern").is_some() && least.is_some() && least == most
}

/// Returns the schema at a path, and the canonical form of the path.
fn opened<'a>(schema: &'a Schema, path: &str) -> Result<(Node<'a>, String), NoSuchPart> {
    let mut node = Node::new(schema);
    let mut place = String::new();
    let separators: &[char] = if path.starts_with('/') { &['/'] } else { &['/', '.'] };
    for segment in path.split(separators).filter(|segment| !segment.is_empty()) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        let Some((name, next)) = step(node, &segment, MAX_LISTS) else {
            return Err(NoSuchPart { segment, parent: place, known: parts_of(node) });
        };
        place = format!("{place}/{name}");
        node = next;
    }
    Ok((node, place))
}

/// Returns the part of this name, and the segments that lead to it; lists in between may be omitted.
fn step<'a>(node: Node<'a>, segment: &str, lists: usize) -> Option<(String, Node<'a>)> {
    let fields = node.fields();
    let named = fields.iter().find(|field| field.name == segment);
    let named = named.or_else(|| fields.iter().find(|field| field.name.eq_ignore_ascii_case(segment)));
    if let Some(field) = named {
        return Some((toolcrib_model::text::pointer_part(field.name), field.node));
    }
    if [ITEMS, "[]", "items"].contains(&segment) {
        return node.items().map(|items| (ITEMS.to_owned(), items));
    }
    if let Some(alternative) = segment.parse().ok().and_then(|at: usize| node.alternatives().get(at).copied())
    {
        return Some((segment.to_owned(), alternative));
    }
    let items = node.items().filter(|_| lists > 0)?;
    let (name, found) = step(items, segment, lists - 1)?;
    Some((format!("{ITEMS}/{name}"), found))
}

fn parts_of(node: Node<'_>) -> Vec<String> {
    let fields = node.fields();
    if !fields.is_empty() {
        return fields.iter().map(|field| field.name.to_owned()).collect();
    }
    let alternatives = (0..node.alternatives().len()).map(|at| at.to_string());
    alternatives.chain(node.items().map(|_| ITEMS.to_owned())).collect()
}

/// Returns true if a schema has parts to be requested.
fn has_parts(node: Node<'_>, lists: usize) -> bool {
    !node.fields().is_empty()
        || !node.alternatives().is_empty()
        || node.items().is_some_and(|items| lists == 0 || has_parts(items, lists - 1))
}

/// A writer of schemas without references, to some depth, within a budget.
struct Writer {
    /// The approximate remaining budget in bytes.
    left: usize,
    path: String,
    is_cut: bool,
    has_texts: bool,
}

impl Writer {
    fn write(&mut self, node: Node<'_>, depth: usize) -> Option<Value> {
        let mut written = self.value(node)?;
        let fields = node.fields();
        if !fields.is_empty() {
            let mut properties = JsonObject::new();
            for Field { name, node, .. } in &fields {
                let schema = self.part(&toolcrib_model::text::pointer_part(name), *node, depth)?;
                self.left = self.left.checked_sub(name.len())?;
                properties.insert((*name).to_owned(), schema);
            }
            written.insert("properties".into(), properties.into());
            let required: Vec<_> =
                fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
            if !required.is_empty() {
                written.insert("required".into(), json!(required));
            }
        }
        let alternatives = node.alternatives();
        if !alternatives.is_empty() {
            let alternatives = alternatives.iter().enumerate();
            let any: Option<Vec<_>> =
                alternatives.map(|(at, node)| self.part(&at.to_string(), *node, depth)).collect();
            written.insert("anyOf".into(), any?.into());
        }
        for key in ["items", "additionalProperties"] {
            if let Some(child) = node.child(key) {
                written.insert(key.into(), self.part(ITEMS, child, depth)?);
            }
        }
        Some(written.into())
    }

    /// Writes a part, or its path if it is too deep.
    fn part(&mut self, segment: &str, node: Node<'_>, depth: usize) -> Option<Value> {
        let length = self.path.len();
        self.path = format!("{}/{segment}", self.path);
        let written = if depth <= 1 && has_parts(node, MAX_LISTS) {
            self.is_cut = true;
            self.left = self.left.checked_sub(self.path.len())?;
            self.value(node).map(|mut stub| {
                stub.insert("open".into(), self.path.as_str().into());
                Value::Object(stub)
            })
        } else {
            self.write(node, depth.saturating_sub(1))
        };
        self.path.truncate(length);
        written
    }

    /// Writes the keywords of a schema other than its parts.
    fn value(&mut self, node: Node<'_>) -> Option<JsonObject> {
        let mut written = JsonObject::new();
        let is_fixed = has_fixed_length(|key| node.keyword(key));
        for key in VALUE_KEYS.into_iter().filter(|key| !(is_fixed && LENGTHS.contains(key))) {
            if let Some(value) = node.keyword(key).and_then(|value| short(key, value)) {
                self.left = self.left.checked_sub(key.len() + size(&value))?;
                written.insert(key.into(), value);
            }
        }
        if let Some(text) = node.text("description").filter(|_| self.has_texts) {
            let text = cut(first_sentence(&folded(text)), MAX_SENTENCE_CHARS);
            self.left = self.left.checked_sub(text.len())?;
            written.insert("description".into(), text.into());
        }
        Some(written)
    }
}

/// Returns the value of a keyword, unless it is too long or adds nothing.
fn short(key: &str, value: &Value) -> Option<Value> {
    match value {
        Value::String(format) if key == "format" && PLAIN_FORMATS.contains(&format.as_str()) => None,
        Value::Array(values) if key == "enum" => Some(values.iter().take(MAX_CHOICES).cloned().collect()),
        other if key != "type" && size(other) > MAX_VALUE_CHARS => None,
        other => Some(other.clone()),
    }
}

/// Returns an object whose types do not fit as a whole: the required properties and as many others as fit, then the
/// names of the rest.
fn narrow(node: Node<'_>, path: &str, room: usize) -> Value {
    let (mut properties, mut required, mut others, mut more) =
        (JsonObject::new(), Vec::new(), Vec::new(), 0_usize);
    let mut writer = Writer { left: room, path: path.to_owned(), is_cut: false, has_texts: false };
    let mut used = 0;
    for Field { name, node, is_required } in node.fields() {
        let schema =
            writer.part(&toolcrib_model::text::pointer_part(name), node, 1).filter(|_| used < room / 2);
        let cost = 2 * name.len() + schema.as_ref().map_or(0, size) + PUNCTUATION;
        match schema {
            Some(schema) if used + cost <= room / 2 => {
                used += cost;
                properties.insert(name.to_owned(), schema);
                if is_required {
                    required.push(name);
                }
            }
            _ if used + name.len() + PUNCTUATION <= room * 3 / 4 => {
                used += name.len() + PUNCTUATION;
                others.push(name);
            }
            _ => more += 1,
        }
    }
    json!({"properties": properties, "required": required, "others": others, "more": more})
}

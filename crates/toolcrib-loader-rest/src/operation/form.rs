//! The fields of a form, and the detection of file fields.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::parameter::{ParameterLocation, Serialization, Style, annotate};
use crate::Error;
use crate::media_type::MediaKind;
use crate::spec::{Dialect, Node, Spec};

/// The depth to which the parts of an `allOf` are searched for fields.
const MAX_DEPTH: usize = 8;

/// The most schemas that are searched for fields.
const MAX_SEARCHED: usize = 200;

/// A field of a multipart body.
#[derive(Clone, Debug, Default)]
pub(crate) struct MultipartField {
    /// The media types and ranges that the document lists, separated by commas.
    pub(crate) content_type: Option<String>,
    /// True if the argument is a file.
    pub(crate) binary: bool,
    /// The serialization of a list or an object. By default a list becomes one part per item, and an object becomes
    /// JSON.
    pub(crate) serialization: Option<Serialization>,
}

impl MultipartField {
    /// Returns the media type of a field that is not a file: the first listed type, unless it is a range.
    pub(crate) fn media_type(&self) -> Option<&str> {
        first(self.content_type.as_deref()?).filter(|media_type| !media_type.contains('*'))
    }
}

/// Returns the serialization of the fields that an `encoding` declares.
pub(super) fn fields(encoding: Option<Node<'_>>) -> Result<HashMap<String, Serialization>, Error> {
    let mut out = HashMap::new();
    for (name, field) in encoding.into_iter().flat_map(Node::entries) {
        if let Some(serialization) = serialization(field)? {
            out.insert(name.to_owned(), serialization);
        }
    }
    Ok(out)
}

fn serialization(field: Node<'_>) -> Result<Option<Serialization>, Error> {
    let style = field.text("style");
    if style.is_none() && field.flag("explode").is_none() && field.flag("allowReserved").is_none() {
        return Ok(None);
    }
    let style = Style::parse(style, ParameterLocation::Query)?;
    let explode = field.flag("explode").unwrap_or(style == Style::Form);
    Ok(Some(Serialization::Styled { style, explode, allow_reserved: field.is_set("allowReserved") }))
}

/// Returns the serialization that a part declares. Before OpenAPI 3.1 it applies to urlencoded forms only.
fn part_serialization(field: Option<Node<'_>>, spec: Spec<'_>) -> Result<Option<Serialization>, Error> {
    match field.filter(|_| spec.dialect >= Dialect::OpenApi31) {
        Some(field) => serialization(field),
        None => Ok(None),
    }
}

/// Detects file fields and describes them in their schemas. `files` describes the format of a file argument.
pub(super) fn parts<'a>(
    raw: Node<'a>,
    encoding: Option<Node<'a>>,
    files: &str,
    spec: Spec<'a>,
    schema: &mut Value,
) -> Result<HashMap<String, MultipartField>, Error> {
    let mut out = HashMap::new();
    let own = properties(raw, spec);
    for (name, field) in encoding.into_iter().flat_map(Node::entries) {
        if !own.contains_key(name) {
            let part = MultipartField {
                content_type: content_type(field, "contentType"),
                binary: false,
                serialization: part_serialization(Some(field), spec)?,
            };
            out.insert(name.to_owned(), part);
        }
    }
    for (name, property) in own {
        let field = encoding.and_then(|encoding| encoding.get(name));
        let written = part_serialization(field, spec)?;
        // A dangling reference has already been reported with the schema.
        let own = resolved_or_nothing(spec, property)?;
        let listed = field.and_then(|field| content_type(field, "contentType"));
        let media_type = listed.as_deref().and_then(first);
        let items = resolved_or_nothing(spec, own.get_or_nothing("items"))?;
        let is_list = is_file(items, media_type);
        let binary = is_list || is_file(own, media_type);
        // Content that is encoded in a string is not a file of that media type.
        let told = || {
            let file = if is_list { items } else { own };
            content_type(file, "contentMediaType").filter(|_| binary)
        };
        let content_type = listed.or_else(told);
        if binary && let Some(argument) = schema.get_mut("properties").and_then(|all| all.get_mut(name)) {
            let described = property.words("description").or(own.words("description"));
            let description = match described {
                Some(text) => format!("{text} (A file, {files}.)"),
                None => format!("A file, {files}."),
            };
            *argument = if is_list {
                let mut list = json!({"type": "array", "items": file(&format!("A file, {files}."))});
                for bound in ["minItems", "maxItems"] {
                    if let Some(value) = own.get(bound).filter(|bound| bound.value.is_u64()) {
                        annotate(&mut list, bound, value.value.clone());
                    }
                }
                annotate(&mut list, "description", description.into());
                list
            } else {
                file(&description)
            };
        }
        let serialization = written.filter(|_| !binary);
        out.insert(name.to_owned(), MultipartField { content_type, binary, serialization });
    }
    Ok(out)
}

fn resolved_or_nothing<'a>(spec: Spec<'a>, node: Node<'a>) -> Result<Node<'a>, Error> {
    match spec.resolve(node) {
        Err(Error::DanglingReference { .. }) => Ok(node.nothing()),
        resolved => resolved,
    }
}

/// Returns the properties of a schema and of the schemas it is composed of.
fn properties<'a>(schema: Node<'a>, spec: Spec<'a>) -> HashMap<&'a str, Node<'a>> {
    let mut found = HashMap::new();
    let mut pending = vec![(schema, 0)];
    let mut searched = 0;
    while let Some((schema, depth)) = pending.pop() {
        let Ok(schema) = spec.resolve(schema) else { continue };
        for (name, property) in schema.get("properties").into_iter().flat_map(Node::entries) {
            found.entry(name).or_insert(property);
        }
        searched += 1;
        if depth < MAX_DEPTH && searched < MAX_SEARCHED {
            for key in ["allOf", "anyOf", "oneOf"] {
                let parts = schema.get(key).into_iter().flat_map(Node::items);
                pending.extend(parts.take(MAX_SEARCHED).map(|part| (part, depth + 1)));
            }
        }
    }
    found
}

/// Returns the media types that a keyword lists, if all of them can be sent.
fn content_type(field: Node<'_>, keyword: &str) -> Option<String> {
    let text = field.words(keyword)?;
    http::HeaderValue::from_str(text).is_ok().then(|| text.to_owned())
}

/// Returns the first entry of a list of media types.
fn first(listed: &str) -> Option<&str> {
    listed.split(',').next().map(str::trim).filter(|media_type| !media_type.is_empty())
}

/// Returns true if a field is a file. In OpenAPI 3.0 it has `format: binary`. In 3.1 it has a media type without an
/// encoding, or it has no keywords but a media type that is not text.
fn is_file(schema: Node<'_>, media_type: Option<&str>) -> bool {
    let is_encoded = schema.text("contentEncoding").is_some();
    let is_binary = media_type.is_some_and(|media_type| MediaKind::of(media_type) == MediaKind::Binary);
    let is_text = match schema.get("type") {
        None => !["$ref", "properties", "items", "allOf", "anyOf", "oneOf", "enum"]
            .iter()
            .any(|key| schema.get(key).is_some()),
        Some(kind) => kind.value == "string",
    };
    matches!(schema.text("format"), Some("binary"))
        || schema.text("type") == Some("file")
        || (schema.text("contentMediaType").is_some() && !is_encoded)
        || (schema.value.is_object() && is_binary && is_text && !is_encoded)
}

/// Returns the schema of a file argument.
pub(super) fn file(description: &str) -> Value {
    json!({"type": "string", "contentEncoding": "base64", "description": description})
}

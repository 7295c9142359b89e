//! The constructs of Swagger 2.0: bodies and forms as parameters, server URLs in parts, and lists of media types.

use std::collections::HashMap;

use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use super::body::{BodyContent, BodyDraft, Encoding};
use super::form::{self, MultipartField};
use super::parameter::{ParameterLocation, Serialization, collection_format};
use crate::Error;
use crate::media_type::{self, MediaKind};
use crate::schema::Converter;
use crate::spec::{Node, Spec};

/// The media type that is sent if a document declares none.
const URL_ENCODED: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";

/// Returns true if a parameter is a part of the body.
pub(super) fn is_of_body(parameter: Node<'_>) -> bool {
    matches!(parameter.text("in"), Some("body" | "formData"))
}

/// Returns the body that these parameters declare, or `None` without a body. Later parameters override earlier ones.
pub(super) fn body<'a>(
    parameters: &[Node<'a>],
    operation: Node<'a>,
    files: &str,
    converter: &mut Converter<'_, 'a>,
) -> Result<Option<BodyDraft>, Error> {
    let consumed = media_types(converter.spec(), operation, "consumes");
    if let Some(body) = parameters.iter().rev().find(|parameter| parameter.text("in") == Some("body")) {
        // A body is described by a schema, which is not read as a form if there is a better media type.
        let content = BodyContent {
            media_type: preferred(&consumed).unwrap_or(media_type::JSON),
            schema: body.get_or_nothing("schema"),
            items: None,
            fields: None,
            required: body.is_set("required"),
            description: body.words("description"),
        };
        return BodyDraft::of(content, files, converter).map(Some);
    }
    form(parameters, &consumed, files, converter)
}

fn preferred<'a>(media_types: &[&'a str]) -> Option<&'a str> {
    let content: JsonObject =
        media_types.iter().map(|media_type| ((*media_type).to_owned(), Value::Null)).collect();
    let (best, _) = media_type::preferred_request(&content)?;
    media_types.iter().copied().find(|media_type| *media_type == best)
}

fn form<'a>(
    parameters: &[Node<'a>],
    consumed: &[&'a str],
    files: &str,
    converter: &mut Converter<'_, 'a>,
) -> Result<Option<BodyDraft>, Error> {
    let mut properties = JsonObject::new();
    let mut required: Vec<&str> = Vec::new();
    let mut fields: HashMap<String, Serialization> = HashMap::new();
    let mut parts: HashMap<String, MultipartField> = HashMap::new();
    for field in parameters.iter().filter(|parameter| parameter.text("in") == Some("formData")) {
        let Some(name) = field.text("name") else {
            return Err(Error::malformed("a parameter has no `name`"));
        };
        let is_file = field.text("type") == Some("file");
        let schema = if is_file {
            let description = match field.words("description") {
                Some(text) => format!("{text} (A file, {files}.)"),
                None => format!("A file, {files}."),
            };
            form::file(&description)
        } else {
            converter.convert(*field)?
        };
        properties.insert(name.to_owned(), schema);
        if field.is_set("required") && !required.contains(&name) {
            required.push(name);
        }
        let serialization = collection_format(*field, ParameterLocation::Query)?;
        // With `multi`, and by default, each item is a separate part.
        let joined = match serialization {
            Serialization::Styled { explode: false, .. } if field.text("type") == Some("array") => {
                Some(serialization)
            }
            _ => None,
        };
        fields.insert(name.to_owned(), serialization);
        parts.insert(
            name.to_owned(),
            MultipartField { binary: is_file, serialization: joined, ..MultipartField::default() },
        );
    }
    if properties.is_empty() {
        return Ok(None);
    }
    let has_file = parts.values().any(|part| part.binary);
    let kinds: Vec<MediaKind> = consumed.iter().map(|media_type| MediaKind::of(media_type)).collect();
    let is_multipart =
        has_file || (kinds.contains(&MediaKind::Multipart) && !kinds.contains(&MediaKind::Form));
    let (media_type, encoding) = if is_multipart {
        (MULTIPART, Encoding::Multipart(parts))
    } else {
        (URL_ENCODED, Encoding::Form(fields))
    };
    Ok(Some(BodyDraft {
        media_type: media_type.to_owned(),
        encoding,
        required: !required.is_empty(),
        schema: json!({"type": "object", "properties": properties, "required": required}),
        is_open: false,
    }))
}

/// Returns the media types that an operation consumes or produces. They default to those of the document.
pub(super) fn media_types<'a>(spec: Spec<'a>, operation: Node<'a>, key: &str) -> Vec<&'a str> {
    let listed = operation.get(key).or_else(|| spec.root().get(key));
    listed.into_iter().flat_map(Node::items).filter_map(|media_type| media_type.value.as_str()).collect()
}

/// Returns `schemes`, `host` and `basePath` as the `servers` of OpenAPI 3.
pub(super) fn servers(spec: Spec<'_>, operation: Node<'_>) -> Value {
    let root = spec.root();
    let schemes: Vec<&str> = operation
        .get("schemes")
        .or_else(|| root.get("schemes"))
        .into_iter()
        .flat_map(Node::items)
        .filter_map(|scheme| scheme.value.as_str())
        .collect();
    let scheme = ["https", "http"].into_iter().find(|scheme| schemes.contains(scheme));
    let scheme = scheme.or_else(|| schemes.first().copied());
    let path = root.text("basePath").unwrap_or("/");
    let slash = if path.starts_with('/') { "" } else { "/" };
    let url = match (root.words("host"), scheme) {
        (Some(host), _) if host.contains("://") => format!("{}{slash}{path}", host.trim_end_matches('/')),
        (Some(host), scheme) => format!("{}://{host}{slash}{path}", scheme.unwrap_or("https")),
        // The host of the document is used.
        (None, _) => format!("{slash}{path}"),
    };
    // A brace does not introduce a variable here.
    json!([{"url": url.replace('{', "%7B").replace('}', "%7D")}])
}

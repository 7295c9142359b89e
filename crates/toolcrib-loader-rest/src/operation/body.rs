//! What a document says of the body of a request.

use std::collections::HashMap;

use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use super::parameter::{Place, Style, Writing, annotate};
use crate::Error;
use crate::media::{self, MediaKind};
use crate::schema::Converter;
use crate::spec::Spec;

/// What may stand in a schema whose properties become arguments of their own, with nothing lost.
const FLAT_KEYWORDS: [&str; 8] =
    ["type", "properties", "required", "title", "description", "default", "examples", "deprecated"];

/// The body of an operation, before its arguments have names.
#[derive(Debug)]
pub(crate) struct BodyDraft {
    pub(crate) media_type: String,
    pub(crate) encoding: Encoding,
    pub(crate) required: bool,
    /// JSON Schema of the whole.
    pub(crate) schema: Value,
}

/// How the body is written.
#[derive(Clone, Debug)]
pub(crate) enum Encoding {
    /// As JSON.
    Json,
    /// As `application/x-www-form-urlencoded`; fields that are not listed are written as text or JSON.
    Form(HashMap<String, Writing>),
    /// As `multipart/form-data`.
    Multipart(HashMap<String, Part>),
    /// The argument is the text.
    Text,
    /// The argument is the base64 of the bytes.
    Base64,
}

/// What is known of a field of a multipart body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// The media type, where the document says one.
    pub(crate) media_type: Option<String>,
    /// Whether the argument is the base64 of a file.
    pub(crate) binary: bool,
}

impl BodyDraft {
    /// Reads the `requestBody` of an operation; `None` when there is nothing to send.
    pub(crate) fn read<'a>(
        body: &'a Value,
        spec: Spec<'a>,
        converter: &mut Converter<'a, '_>,
    ) -> Result<Option<Self>, Error> {
        let body = spec.resolve(body)?;
        let Some((media_type, content)) =
            body.get("content").and_then(Value::as_object).and_then(media::preferred_request)
        else {
            return Ok(None);
        };
        let content = spec.resolve(content)?;
        let raw = content.get("schema").unwrap_or(&Value::Null);
        let kind = MediaKind::of(media_type);
        let fields = content.get("encoding").and_then(Value::as_object);
        let mut schema = match kind {
            MediaKind::Text => {
                json!({"type": "string", "description": format!("The body, as {media_type}.")})
            }
            MediaKind::Binary => binary_schema(&format!("The content, {media_type}, as base64.")),
            _ => converter.convert_top(raw)?,
        };
        let encoding = match kind {
            MediaKind::Json => Encoding::Json,
            MediaKind::Form => Encoding::Form(form_fields(fields)?),
            MediaKind::Multipart => Encoding::Multipart(parts(raw, fields, spec, &mut schema)?),
            MediaKind::Text => Encoding::Text,
            MediaKind::Binary => Encoding::Base64,
        };
        if let Some(description) =
            body.get("description").and_then(Value::as_str).filter(|text| !text.is_empty())
            && schema.get("description").is_none()
        {
            annotate(&mut schema, "description", description.into());
        }
        let media_type = media::concrete(media_type);
        if http::HeaderValue::from_str(media_type).is_err() {
            return Err(Error::malformed(format!("the media type {media_type:?} cannot be sent")));
        }
        Ok(Some(Self {
            media_type: media_type.to_owned(),
            encoding,
            required: body.get("required") == Some(&Value::Bool(true)),
            schema,
        }))
    }

    /// The properties, when they can be arguments of their own and the same bodies can be sent: a plain object, that
    /// takes no others by its schema, and that can be left out when the body can.
    pub(crate) fn flat_properties(&self) -> Option<&JsonObject> {
        let schema = self.schema.as_object()?;
        let properties = schema.get("properties")?.as_object().filter(|properties| !properties.is_empty())?;
        let is_object = schema.get("type").is_none_or(|kind| kind == "object");
        let is_flat = schema.iter().all(|(key, value)| {
            FLAT_KEYWORDS.contains(&key.as_str())
                || (key == "additionalProperties" && value == &Value::Bool(false))
        });
        let all_or_nothing = !self.required && self.required_properties().next().is_some();
        (is_object && is_flat && !all_or_nothing).then_some(properties)
    }

    /// The names of the properties that must be there.
    pub(crate) fn required_properties(&self) -> impl Iterator<Item = &str> {
        self.schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }
}

fn form_fields(fields: Option<&JsonObject>) -> Result<HashMap<String, Writing>, Error> {
    let mut out = HashMap::new();
    for (name, field) in fields.into_iter().flatten() {
        let flag = |key| field.get(key).and_then(Value::as_bool);
        let style = field.get("style").and_then(Value::as_str);
        if style.is_some() || flag("explode").is_some() || flag("allowReserved").is_some() {
            let style = Style::parse(style, Place::Query)?;
            let explode = flag("explode").unwrap_or(style == Style::Form);
            let allow_reserved = flag("allowReserved").unwrap_or(false);
            out.insert(name.clone(), Writing::Styled { style, explode, allow_reserved });
        }
    }
    Ok(out)
}

/// Finds out which fields are files, and lets their arguments be base64.
fn parts<'a>(
    raw: &'a Value,
    fields: Option<&JsonObject>,
    spec: Spec<'a>,
    schema: &mut Value,
) -> Result<HashMap<String, Part>, Error> {
    let unknown_shape =
        || Error::unsupported("a multipart body whose schema is not an object with `properties`");
    let raw = spec.resolve(raw)?.get("properties").and_then(Value::as_object).ok_or_else(unknown_shape)?;
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut).ok_or_else(unknown_shape)?;
    let mut out = HashMap::new();
    for (name, property) in properties {
        let own = match raw.get(name) {
            Some(property) => spec.resolve(property)?,
            None => &Value::Null,
        };
        let description = property
            .get("description")
            .or_else(|| own.get("description"))
            .and_then(Value::as_str)
            .map_or_else(|| "A file, as base64.".to_owned(), |text| format!("{text} (A file, as base64.)"));
        let items = match own.get("items") {
            Some(items) => spec.resolve(items)?,
            None => &Value::Null,
        };
        let is_file_list = is_file(items);
        if is_file(own) {
            *property = binary_schema(&description);
        } else if is_file_list {
            *property = json!({"type": "array", "items": binary_schema("A file, as base64.")});
            annotate(property, "description", description.into());
        }
        let media_type = fields
            .and_then(|fields| fields.get(name)?.get("contentType")?.as_str()?.split(',').next())
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.contains('*') && http::HeaderValue::from_str(text).is_ok());
        out.insert(name.clone(), Part { media_type, binary: is_file(own) || is_file_list });
    }
    Ok(out)
}

/// Whether a field is a file: `format: binary` in OpenAPI 3.0, a media type without an encoding in 3.1.
fn is_file(schema: &Value) -> bool {
    let text = |key| schema.get(key).and_then(Value::as_str);
    text("format") == Some("binary")
        || (text("contentMediaType").is_some() && text("contentEncoding").is_none())
}

fn binary_schema(description: &str) -> Value {
    json!({"type": "string", "contentEncoding": "base64", "description": description})
}

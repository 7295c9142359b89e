//! The declaration of a request body in a document.

use std::collections::HashMap;

use serde_json::{Value, json};
use toolcrib_document::plain_text;
use toolcrib_model::JsonObject;

use super::form::{self, MultipartField};
use super::parameter::{Serialization, annotate};
use crate::Error;
use crate::error::beginning;
use crate::media_type::{self, ItemDelimiters, MediaKind};
use crate::schema::Converter;
use crate::spec::{Dialect, Node};

/// The keywords of a schema whose properties can become separate arguments without loss.
const FLAT_KEYWORDS: [&str; 8] =
    ["type", "properties", "required", "title", "description", "default", "examples", "deprecated"];

/// The body of an operation, before its arguments have names.
#[derive(Debug)]
pub(crate) struct BodyDraft {
    pub(crate) media_type: String,
    pub(crate) encoding: Encoding,
    pub(crate) required: bool,
    /// The JSON Schema of the whole body.
    pub(crate) schema: Value,
    /// True if properties outside of the schema are possible, although the schema does not permit them explicitly.
    pub(crate) is_open: bool,
}

/// The encoding of a body.
#[derive(Clone, Debug)]
pub(crate) enum Encoding {
    /// As JSON.
    Json,
    /// As `application/x-www-form-urlencoded`. Unlisted fields are written as text or JSON.
    Form(HashMap<String, Serialization>),
    /// As `multipart/form-data`. Unlisted fields are parts with text or JSON.
    Multipart(HashMap<String, MultipartField>),
    /// As a sequence of JSON texts with these delimiters.
    Sequence(ItemDelimiters),
    /// The argument is the text.
    Text,
    /// The argument is the base64 of the bytes.
    Base64,
}

/// The declaration of a body for one media type.
#[derive(Clone, Copy)]
pub(super) struct BodyContent<'a> {
    pub(super) media_type: &'a str,
    pub(super) schema: Node<'a>,
    /// The schema of an item, if the media type is a sequence (since OpenAPI 3.2).
    pub(super) items: Option<Node<'a>>,
    /// The `encoding` of a form.
    pub(super) fields: Option<Node<'a>>,
    pub(super) required: bool,
    pub(super) description: Option<&'a str>,
}

impl BodyDraft {
    /// Parses the `requestBody` of an operation. Returns `None` if there is nothing to send.
    pub(super) fn read<'a>(
        body: Node<'a>,
        files: &str,
        converter: &mut Converter<'_, 'a>,
    ) -> Result<Option<Self>, Error> {
        let body = converter.spec().resolve(body)?;
        let content = body.get_or_nothing("content");
        let Some((media_type, media)) = content.object().and_then(media_type::preferred_request) else {
            return Ok(None);
        };
        let media = converter.spec().resolve(content.at(media))?;
        let content = BodyContent {
            media_type,
            schema: media.get_or_nothing("schema"),
            items: media.get("itemSchema").filter(|_| converter.spec().dialect >= Dialect::OpenApi32),
            fields: media.get("encoding"),
            required: body.is_set("required"),
            description: body.words("description"),
        };
        Self::of(content, files, converter).map(Some)
    }

    /// Creates the body for this content. `files` describes the format of a file argument.
    pub(super) fn of<'a>(
        content: BodyContent<'a>,
        files: &str,
        converter: &mut Converter<'_, 'a>,
    ) -> Result<Self, Error> {
        let BodyContent { media_type, schema: raw, items, fields, required, description } = content;
        let kind = MediaKind::of(media_type);
        let sequence = sequence(media_type, raw, items, converter)?;
        let mut schema = match kind {
            _ if let Some((_, schema)) = &sequence => schema.clone(),
            MediaKind::Text => {
                json!({"type": "string", "description": format!("The body, as {media_type}.")})
            }
            MediaKind::Binary => form::file(&format!("The content, {media_type}, {files}.")),
            _ => converter.convert_body(raw)?,
        };
        let encoding = match kind {
            _ if let Some((frame, _)) = sequence => Encoding::Sequence(frame),
            MediaKind::Json => Encoding::Json,
            MediaKind::Form => {
                only_objects(&mut schema);
                Encoding::Form(form::fields(fields)?)
            }
            MediaKind::Multipart => {
                only_objects(&mut schema);
                Encoding::Multipart(form::parts(raw, fields, files, converter.spec(), &mut schema)?)
            }
            MediaKind::Text => Encoding::Text,
            MediaKind::Binary => Encoding::Base64,
        };
        if let Some(description) = description
            && schema.get("description").is_none()
        {
            annotate(&mut schema, "description", plain_text(description).into());
        }
        // The type of a file is determined when it is sent.
        let media_type =
            if kind == MediaKind::Binary { media_type } else { media_type::concrete(media_type) };
        if http::HeaderValue::from_str(media_type).is_err() {
            return Err(Error::malformed(format!("the media type {media_type:?} cannot be sent")));
        }
        let resolved = converter.spec().resolve(raw).unwrap_or(raw);
        Ok(Self {
            media_type: media_type.to_owned(),
            encoding,
            required,
            schema,
            // The value of the discriminator selects a schema, which has further properties.
            is_open: resolved.get("discriminator").is_some(),
        })
    }

    /// Returns the properties if they can be separate arguments that express the same bodies: the body is a plain
    /// object whose schema permits no other properties, and that can be omitted if the body can.
    pub(crate) fn flat_properties(&self) -> Option<&JsonObject> {
        let schema = self.schema.as_object()?;
        let properties = schema.get("properties")?.as_object().filter(|properties| !properties.is_empty())?;
        let is_object = schema.get("type").is_none_or(|kind| kind == "object");
        let is_flat = schema.iter().all(|(key, value)| {
            FLAT_KEYWORDS.contains(&key.as_str())
                || (key == "additionalProperties" && value == &Value::Bool(false))
        });
        let all_or_nothing = !self.required && self.required_properties().next().is_some();
        (is_object && is_flat && !all_or_nothing && !self.is_open).then_some(properties)
    }

    /// Returns the names of the required properties.
    pub(crate) fn required_properties(&self) -> impl Iterator<Item = &str> {
        self.schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }
}

/// Returns the delimiters of a media type that is a sequence, and the schema of the list of its items, if the document
/// declares it.
fn sequence<'a>(
    media_type: &str,
    schema: Node<'a>,
    items: Option<Node<'a>>,
    converter: &mut Converter<'_, 'a>,
) -> Result<Option<(ItemDelimiters, Value)>, Error> {
    let Some(frame) = media_type::frame(media_type) else {
        if items.is_some() {
            converter.remark(format!("the `itemSchema` of a body is ignored for {}", beginning(media_type)));
        }
        return Ok(None);
    };
    if let Some(items) = items {
        let items = converter.convert(items)?;
        return Ok(Some((frame, json!({"type": "array", "items": items}))));
    }
    let is_list = converter.spec().resolve(schema).is_ok_and(|schema| schema.text("type") == Some("array"));
    Ok(if is_list { Some((frame, converter.convert_top(schema)?)) } else { None })
}

/// Restricts a schema to objects, since a form has fields in any case.
fn only_objects(schema: &mut Value) {
    if matches!(schema, Value::Bool(true)) {
        *schema = json!({});
    }
    if let Some(map) = schema.as_object_mut()
        && !["type", "$ref", "allOf", "anyOf", "oneOf"].iter().any(|key| map.contains_key(*key))
    {
        map.insert("type".into(), "object".into());
    }
}

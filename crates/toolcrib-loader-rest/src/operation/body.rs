//! What a document says of the body of a request.

use std::collections::HashMap;

use serde_json::{Value, json};
use toolcrib_document::plain_text;
use toolcrib_model::JsonObject;

use super::form::{self, Part};
use super::parameter::{Writing, annotate};
use crate::Error;
use crate::error::beginning;
use crate::media::{self, Frame, MediaKind};
use crate::schema::Converter;
use crate::spec::{Dialect, Node};

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
    /// Whether there may be other properties than those of the schema, although it does not say so.
    pub(crate) is_open: bool,
}

/// How the body is written.
#[derive(Clone, Debug)]
pub(crate) enum Encoding {
    /// As JSON.
    Json,
    /// As `application/x-www-form-urlencoded`; fields that are not listed are written as text or JSON.
    Form(HashMap<String, Writing>),
    /// As `multipart/form-data`; fields that are not listed are parts of text or JSON.
    Multipart(HashMap<String, Part>),
    /// As a list of JSON texts, each between these.
    Sequence(Frame),
    /// The argument is the text.
    Text,
    /// The argument is the base64 of the bytes.
    Base64,
}

/// A body as a media type has it.
#[derive(Clone, Copy)]
pub(super) struct Content<'a> {
    pub(super) media_type: &'a str,
    pub(super) schema: Node<'a>,
    /// What each item is of a media type that is a sequence of them, from OpenAPI 3.2 on.
    pub(super) items: Option<Node<'a>>,
    /// The `encoding` of a form.
    pub(super) fields: Option<Node<'a>>,
    pub(super) required: bool,
    pub(super) description: Option<&'a str>,
}

impl BodyDraft {
    /// Reads the `requestBody` of an operation; `None` when there is nothing to send.
    pub(super) fn read<'a>(
        body: Node<'a>,
        files: &str,
        converter: &mut Converter<'_, 'a>,
    ) -> Result<Option<Self>, Error> {
        let body = converter.spec().resolve(body)?;
        let content = body.get_or_nothing("content");
        let Some((media_type, media)) = content.object().and_then(media::preferred_request) else {
            return Ok(None);
        };
        let media = converter.spec().resolve(content.at(media))?;
        let content = Content {
            media_type,
            schema: media.get_or_nothing("schema"),
            items: media.get("itemSchema").filter(|_| converter.spec().dialect >= Dialect::OpenApi32),
            fields: media.get("encoding"),
            required: body.is_set("required"),
            description: body.words("description"),
        };
        Self::of(content, files, converter).map(Some)
    }

    /// The body of this content. `files` says how the argument for a file is written.
    pub(super) fn of<'a>(
        content: Content<'a>,
        files: &str,
        converter: &mut Converter<'_, 'a>,
    ) -> Result<Self, Error> {
        let Content { media_type, schema: raw, items, fields, required, description } = content;
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
        // What a file is, is known when it is sent.
        let media_type = if kind == MediaKind::Binary { media_type } else { media::concrete(media_type) };
        if http::HeaderValue::from_str(media_type).is_err() {
            return Err(Error::malformed(format!("the media type {media_type:?} cannot be sent")));
        }
        let resolved = converter.spec().resolve(raw).unwrap_or(raw);
        Ok(Self {
            media_type: media_type.to_owned(),
            encoding,
            required,
            schema,
            // The value of the discriminator says which schema holds, and that has properties of its own.
            is_open: resolved.get("discriminator").is_some(),
        })
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
        (is_object && is_flat && !all_or_nothing && !self.is_open).then_some(properties)
    }

    /// The names of the properties that must be there.
    pub(crate) fn required_properties(&self) -> impl Iterator<Item = &str> {
        self.schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }
}

/// How the items stand in a media type that is a sequence of them, and the schema of the list, where the document says
/// what they are.
fn sequence<'a>(
    media_type: &str,
    schema: Node<'a>,
    items: Option<Node<'a>>,
    converter: &mut Converter<'_, 'a>,
) -> Result<Option<(Frame, Value)>, Error> {
    let Some(frame) = media::frame(media_type) else {
        if items.is_some() {
            converter.remark(format!("the `itemSchema` of a body is not read as {}", beginning(media_type)));
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

/// A form has fields, whatever its schema leaves open.
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

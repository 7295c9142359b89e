//! The body of a request.

use http::HeaderValue;
use serde_json::Value;
use toolcrib_model::JsonObject;

use super::collision::FieldNames;
use super::{multipart, style};
use crate::Error;
use crate::media_detection::of_content;
use crate::operation::{BodyShape, BoundBody, Encoding};
use crate::upload::Files;

/// Returns the content type and the bytes. Returns `None` if the call has no body and the body is optional.
pub(super) fn write(
    body: &BoundBody,
    arguments: &JsonObject,
    files: &mut Files<'_>,
) -> Result<Option<(HeaderValue, Vec<u8>)>, Error> {
    write_fields(body, arguments, files).map_err(|error| match (error, &body.shape) {
        // The error concerns the property, whose argument may have another name.
        (Error::Argument { argument, problem }, BodyShape::Fields(fields)) => {
            let field = fields.iter().find(|field| field.property == argument);
            let argument = field.map_or(argument, |field| field.argument.clone());
            Error::Argument { argument, problem }
        }
        (error, _) => error,
    })
}

fn write_fields(
    body: &BoundBody,
    arguments: &JsonObject,
    files: &mut Files<'_>,
) -> Result<Option<(HeaderValue, Vec<u8>)>, Error> {
    let (argument, value) = match &body.shape {
        BodyShape::Whole(argument) => match arguments.get(argument) {
            Some(value) => (argument.as_str(), value.clone()),
            None if body.required => return Err(Error::argument(argument, "is required and has no value")),
            None => return Ok(None),
        },
        BodyShape::Fields(fields) => {
            let given: JsonObject = fields
                .iter()
                .filter_map(|field| Some((field.property.clone(), arguments.get(&field.argument)?.clone())))
                .collect();
            if given.is_empty() && !body.required {
                return Ok(None);
            }
            ("body", Value::Object(given))
        }
    };
    let fields =
        || value.as_object().ok_or_else(|| Error::argument(argument, "must be an object of form fields"));
    let media_type = body.media_type.as_str();
    let (media_type, bytes) = match &body.encoding {
        Encoding::Json => (media_type.to_owned(), value.to_string().into_bytes()),
        Encoding::Form(writings) => {
            let mut pairs = Vec::new();
            let mut names = field_names(body, fields()?, writings.keys());
            for (name, value) in fields()?.iter().filter(|(_, value)| !value.is_null()) {
                pairs.extend(match writings.get(name) {
                    Some(serialization) => names
                        .take(name, value, *serialization)
                        .and_then(|()| style::as_pairs(name, value, *serialization))
                        .map_err(|problem| Error::argument(name, problem))?,
                    None => style::as_form_field(name, value),
                });
            }
            (media_type.to_owned(), pairs.join("&").into_bytes())
        }
        Encoding::Multipart(parts) => {
            let names = field_names(body, fields()?, parts.keys());
            multipart::write(media_type, fields()?, parts, files, names)?
        }
        Encoding::Sequence(frame) => {
            let items = value.as_array().ok_or_else(|| Error::argument(argument, "must be a list"))?;
            let items: Vec<_> =
                items.iter().map(|item| format!("{}{item}{}", frame.before, frame.behind)).collect();
            (media_type.to_owned(), items.concat().into_bytes())
        }
        Encoding::Text => match &value {
            Value::Array(_) | Value::Object(_) => return Err(Error::argument(argument, "must be a string")),
            scalar => (media_type.to_owned(), style::text_of(scalar).into_bytes()),
        },
        Encoding::Base64 => {
            let text = value.as_str().ok_or_else(|| Error::argument(argument, multipart::NOT_CONTENT))?;
            let content = files.content(argument, text)?;
            (of_content(Some(media_type), content.media_type.as_deref(), &content.bytes), content.bytes)
        }
    };
    let content_type = HeaderValue::from_str(&media_type)
        .map_err(|_| Error::malformed(format!("the media type {media_type:?} cannot be sent")))?;
    Ok(Some((content_type, bytes)))
}

/// Returns the names of all fields that the document or the call contains.
fn field_names<'a>(
    body: &'a BoundBody,
    given: &'a JsonObject,
    described: impl Iterator<Item = &'a String>,
) -> FieldNames {
    let listed = match &body.shape {
        BodyShape::Fields(fields) => fields.as_slice(),
        BodyShape::Whole(_) => &[],
    };
    let listed = listed.iter().map(|field| &field.property);
    FieldNames::new(listed.chain(given.keys()).chain(described).map(String::as_str))
}

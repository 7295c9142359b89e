//! What a document says of one parameter.

use serde_json::{Value, json};

use crate::Error;
use crate::schema::Converter;
use crate::spec::Spec;

/// Headers that are not for arguments: the document's other parts say them, the client does, or they would change
/// where a request ends.
const RESERVED_HEADERS: [&str; 13] = [
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Where a parameter is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
    Cookie,
}

/// How a value that is a list or an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
}

/// How the value of a parameter or of a form field becomes text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writing {
    /// As a style says.
    Styled {
        style: Style,
        explode: bool,
        /// Whether characters that have a meaning in URLs stay as they are, as far as they cannot end the slot.
        allow_reserved: bool,
    },
    /// As a JSON text.
    Json,
}

/// One parameter of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) writing: Writing,
    pub(crate) required: bool,
    /// JSON Schema of the argument.
    pub(crate) schema: Value,
}

impl Place {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Path, Self::Query, Self::Header, Self::Cookie].into_iter().find(|place| place.as_str() == text)
    }
}

impl Style {
    /// The style of a place, by its name or by default.
    pub(crate) fn parse(text: Option<&str>, place: Place) -> Result<Self, Error> {
        match (text, place) {
            (Some("simple") | None, Place::Path | Place::Header) => Ok(Self::Simple),
            (Some("label"), Place::Path) => Ok(Self::Label),
            (Some("matrix"), Place::Path) => Ok(Self::Matrix),
            (Some("form") | None, Place::Query | Place::Cookie) => Ok(Self::Form),
            (Some("spaceDelimited"), Place::Query) => Ok(Self::SpaceDelimited),
            (Some("pipeDelimited"), Place::Query) => Ok(Self::PipeDelimited),
            (Some("deepObject"), Place::Query) => Ok(Self::DeepObject),
            (Some(other), place) => {
                Err(Error::unsupported(format!("the style `{other}` of a {} parameter", place.as_str())))
            }
        }
    }
}

/// The name and place of a parameter, which tell it from others. `None` when it is a header that is not for arguments.
pub(crate) fn identity<'a>(
    parameter: &'a Value,
    own_headers: &[String],
) -> Result<Option<(&'a str, Place)>, Error> {
    let text = |key| parameter.get(key).and_then(Value::as_str);
    let name = text("name").ok_or_else(|| Error::malformed("a parameter has no `name`"))?;
    let place = text("in").ok_or_else(|| Error::malformed(format!("the parameter `{name}` has no `in`")))?;
    let place = Place::parse(place)
        .ok_or_else(|| Error::unsupported(format!("`in: {place}` of the parameter `{name}`")))?;
    if place == Place::Header {
        let lower = name.to_ascii_lowercase();
        if RESERVED_HEADERS.contains(&lower.as_str()) || own_headers.contains(&lower) {
            return Ok(None);
        }
        if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(Error::malformed(format!(
                "the header parameter {name:?} cannot be the name of a header"
            )));
        }
    }
    Ok(Some((name, place)))
}

/// Reads the rest of a parameter.
pub(crate) fn read<'a>(
    parameter: &'a Value,
    (name, place): (&str, Place),
    spec: Spec<'a>,
    converter: &mut Converter<'a, '_>,
) -> Result<Parameter, Error> {
    let flag = |key| parameter.get(key).and_then(Value::as_bool);
    let content =
        parameter.get("content").and_then(Value::as_object).and_then(|content| content.values().next());
    let (mut schema, writing) = if let Some(media) = content {
        (converter.convert(spec.resolve(media)?.get("schema").unwrap_or(&Value::Null))?, Writing::Json)
    } else {
        let style = Style::parse(parameter.get("style").and_then(Value::as_str), place)?;
        let writing = Writing::Styled {
            style,
            explode: flag("explode").unwrap_or(style == Style::Form),
            allow_reserved: flag("allowReserved").unwrap_or(false),
        };
        (converter.convert(parameter.get("schema").unwrap_or(&Value::Null))?, writing)
    };
    if let Some(description) =
        parameter.get("description").and_then(Value::as_str).filter(|text| !text.is_empty())
    {
        annotate(&mut schema, "description", description.into());
    }
    if let Some(example) = parameter.get("example") {
        annotate(&mut schema, "examples", json!([example]));
    }
    if flag("deprecated") == Some(true) {
        annotate(&mut schema, "deprecated", true.into());
    }
    Ok(Parameter {
        name: name.to_owned(),
        place,
        writing,
        required: place == Place::Path || flag("required") == Some(true),
        schema,
    })
}

/// A parameter that stands in the path and nowhere else.
pub(crate) fn undeclared(name: &str) -> Parameter {
    Parameter {
        name: name.to_owned(),
        place: Place::Path,
        writing: Writing::Styled { style: Style::Simple, explode: false, allow_reserved: false },
        required: true,
        schema: json!({"type": "string"}),
    }
}

/// Sets a keyword that describes, on a schema that may be `true`.
pub(crate) fn annotate(schema: &mut Value, key: &str, value: Value) {
    if schema == &Value::Bool(true) {
        *schema = json!({});
    }
    if let Some(map) = schema.as_object_mut() {
        map.insert(key.to_owned(), value);
    }
}

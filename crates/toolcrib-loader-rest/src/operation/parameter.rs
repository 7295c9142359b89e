//! What a document says of one parameter.

use serde_json::{Value, json};
use toolcrib_document::plain_text;

use super::swagger;
use crate::Error;
use crate::auth::BoundAuth;
use crate::error::beginning;
use crate::media::MediaKind;
use crate::schema::{Converter, is_plain_example};
use crate::spec::{Dialect, Node};

/// The most examples of a parameter that are kept.
const MAX_EXAMPLES: usize = 5;

/// Headers that are not for arguments: the document's other parts say them, the client does, or they would change
/// where a request ends.
const RESERVED_HEADERS: [&str; 15] = [
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
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
    /// The whole of the query, of OpenAPI 3.2.
    QueryString,
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
    /// `tsv` of Swagger 2.0.
    TabDelimited,
    DeepObject,
    /// Of OpenAPI 3.2: as a form, and not encoded.
    Cookie,
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
    /// As it is, in some other media type.
    Text,
    /// The fields of an object as those of a form.
    Form,
}

impl Writing {
    /// Returns true if the members of an object are sent as fields under their own names.
    pub(crate) fn sends_members(self) -> bool {
        match self {
            Self::Styled { style, explode, .. } => explode && style != Style::DeepObject,
            Self::Form => true,
            Self::Json | Self::Text => false,
        }
    }
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
            Self::QueryString => "querystring",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let places = [Self::Path, Self::Query, Self::QueryString, Self::Header, Self::Cookie];
        places.into_iter().find(|place| place.as_str() == text)
    }
}

impl Style {
    /// The style of a place, by its name or by default.
    pub(crate) fn parse(text: Option<&str>, place: Place) -> Result<Self, Error> {
        match (text, place) {
            (Some("simple") | None, Place::Path | Place::Header) => Ok(Self::Simple),
            (Some("label"), Place::Path) => Ok(Self::Label),
            (Some("matrix"), Place::Path) => Ok(Self::Matrix),
            (Some("form") | None, Place::Query | Place::QueryString | Place::Cookie) => Ok(Self::Form),
            (Some("spaceDelimited"), Place::Query) => Ok(Self::SpaceDelimited),
            (Some("pipeDelimited"), Place::Query) => Ok(Self::PipeDelimited),
            (Some("deepObject"), Place::Query) => Ok(Self::DeepObject),
            (Some("cookie"), Place::Cookie) => Ok(Self::Cookie),
            (Some(other), place) => {
                let other = beginning(other);
                Err(Error::unsupported(format!("the style `{other}` of a {} parameter", place.as_str())))
            }
        }
    }
}

/// The name and place of a parameter, which tell it from others. `None` when it is not for arguments: a header that
/// others set, or the slot of a credential.
pub(crate) fn identity<'a>(parameter: Node<'a>, auth: &BoundAuth) -> Result<Option<(&'a str, Place)>, Error> {
    let name = parameter.text("name").ok_or_else(|| Error::malformed("a parameter has no `name`"))?;
    let shown = beginning(name);
    let place = parameter
        .text("in")
        .ok_or_else(|| Error::malformed(format!("the parameter `{shown}` has no `in`")))?;
    let place = Place::parse(place).ok_or_else(|| {
        Error::unsupported(format!("`in: {}` of the parameter `{shown}`", beginning(place)))
    })?;
    if auth.owns(place, name) {
        return Ok(None);
    }
    if place == Place::Header {
        let lower = name.to_ascii_lowercase();
        if RESERVED_HEADERS.contains(&lower.as_str()) {
            return Ok(None);
        }
        if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(Error::malformed(format!(
                "the header parameter {shown:?} cannot be the name of a header"
            )));
        }
    }
    Ok(Some((name, place)))
}

/// Reads the rest of a parameter.
pub(crate) fn read<'a>(
    parameter: Node<'a>,
    (name, place): (&str, Place),
    converter: &mut Converter<'_, 'a>,
) -> Result<Parameter, Error> {
    converter.charge(parameter.get_or_nothing("description").value)?;
    let content = parameter.get("content").and_then(|content| content.entries().next());
    let (mut schema, writing) = if converter.spec().dialect == Dialect::Swagger20 {
        // What is not a keyword of schemas is left out on the way.
        (converter.convert(parameter)?, swagger::writing(parameter, place)?)
    } else if let Some((media_type, media)) = content {
        let media = converter.spec().resolve(media)?;
        let schema = converter.convert(media.get_or_nothing("schema"))?;
        (schema, written_as(media_type))
    } else {
        let style = Style::parse(parameter.text("style"), place).or_else(|error| {
            converter.remark(format!("{error}, and it is written in the usual one"));
            Style::parse(None, place)
        })?;
        let writing = Writing::Styled {
            style,
            explode: parameter.flag("explode").unwrap_or(matches!(style, Style::Form | Style::Cookie)),
            allow_reserved: parameter.is_set("allowReserved"),
        };
        (converter.convert(parameter.get_or_nothing("schema"))?, writing)
    };
    if let Some(description) = parameter.words("description") {
        annotate(&mut schema, "description", plain_text(description).into());
    }
    let examples = examples(parameter, converter);
    if !examples.is_empty() {
        annotate(&mut schema, "examples", examples.into());
    }
    if parameter.is_set("deprecated") {
        annotate(&mut schema, "deprecated", true.into());
    }
    Ok(Parameter {
        name: name.to_owned(),
        place,
        writing,
        required: place == Place::Path || parameter.is_set("required"),
        schema,
    })
}

/// How the value of a parameter is written that has a media type.
fn written_as(media_type: &str) -> Writing {
    match MediaKind::of(media_type) {
        MediaKind::Json => Writing::Json,
        MediaKind::Form => Writing::Form,
        _ => Writing::Text,
    }
}

/// `example`, or the values of `examples`. Those of Swagger 2.0 are not of OpenAPI.
fn examples<'a>(parameter: Node<'a>, converter: &Converter<'_, 'a>) -> Vec<Value> {
    let spec = converter.spec();
    let named = parameter.get("examples").filter(|_| spec.dialect != Dialect::Swagger20);
    let named = named.into_iter().flat_map(Node::entries).filter_map(|(_, example)| {
        let example = spec.resolve(example).ok()?;
        example.get("dataValue").or_else(|| example.get("value"))
    });
    let all = parameter.get("example").into_iter().chain(named).map(|example| example.value);
    all.filter(|example| is_plain_example(example)).take(MAX_EXAMPLES).cloned().collect()
}

/// A parameter that stands in the path and nowhere else.
pub(crate) fn undeclared(name: &str, place: Place) -> Parameter {
    let style = if place == Place::Path { Style::Simple } else { Style::Form };
    Parameter {
        name: name.to_owned(),
        place,
        writing: Writing::Styled { style, explode: false, allow_reserved: false },
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

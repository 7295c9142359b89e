//! The declaration of a parameter in a document.

use serde_json::{Value, json};
use toolcrib_document::plain_text;

use crate::Error;
use crate::auth::BoundAuth;
use crate::error::beginning;
use crate::media_type::MediaKind;
use crate::schema::{Converter, is_plain_example};
use crate::spec::{Dialect, Node};

/// The most examples of a parameter that are included.
const MAX_EXAMPLES: usize = 5;

/// Headers that are not arguments: other parts of the document declare them, the client sets them, or they would change
/// the framing of the request.
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

/// The location of a parameter in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ParameterLocation {
    Path,
    Query,
    /// The complete query, since OpenAPI 3.2.
    QueryString,
    Header,
    Cookie,
}

/// The serialization style of a list or an object.
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
    /// The style of cookies since OpenAPI 3.2: like `form`, but not encoded.
    Cookie,
}

/// The serialization of a parameter or a form field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serialization {
    /// According to a style.
    Styled {
        style: Style,
        explode: bool,
        /// True if reserved characters are not encoded, unless they would end the slot.
        allow_reserved: bool,
    },
    /// As JSON.
    Json,
    /// As plain text, in another media type.
    Text,
    /// As form fields, one for each member of an object.
    Form,
}

impl Serialization {
    /// Returns true if the members of an object are sent as separate fields.
    pub(crate) fn sends_members(self) -> bool {
        match self {
            Self::Styled { style, explode, .. } => explode && style != Style::DeepObject,
            Self::Form => true,
            Self::Json | Self::Text => false,
        }
    }
}

/// A parameter of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) location: ParameterLocation,
    pub(crate) serialization: Serialization,
    pub(crate) required: bool,
    /// The JSON Schema of the argument.
    pub(crate) schema: Value,
}

impl ParameterLocation {
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
        let locations = [Self::Path, Self::Query, Self::QueryString, Self::Header, Self::Cookie];
        locations.into_iter().find(|location| location.as_str() == text)
    }
}

impl Style {
    /// Returns the style with this name, or the default style of the location.
    pub(crate) fn parse(text: Option<&str>, location: ParameterLocation) -> Result<Self, Error> {
        match (text, location) {
            (Some("simple") | None, ParameterLocation::Path | ParameterLocation::Header) => Ok(Self::Simple),
            (Some("label"), ParameterLocation::Path) => Ok(Self::Label),
            (Some("matrix"), ParameterLocation::Path) => Ok(Self::Matrix),
            (
                Some("form") | None,
                ParameterLocation::Query | ParameterLocation::QueryString | ParameterLocation::Cookie,
            ) => Ok(Self::Form),
            (Some("spaceDelimited"), ParameterLocation::Query) => Ok(Self::SpaceDelimited),
            (Some("pipeDelimited"), ParameterLocation::Query) => Ok(Self::PipeDelimited),
            (Some("deepObject"), ParameterLocation::Query) => Ok(Self::DeepObject),
            (Some("cookie"), ParameterLocation::Cookie) => Ok(Self::Cookie),
            (Some(other), location) => {
                let other = beginning(other);
                Err(Error::unsupported(format!("the style `{other}` of a {} parameter", location.as_str())))
            }
        }
    }
}

/// Returns the name and location that identify a parameter. Returns `None` if it cannot be an argument: a header that
/// is set elsewhere, or the slot of a credential.
pub(crate) fn identity<'a>(
    parameter: Node<'a>,
    auth: &BoundAuth,
) -> Result<Option<(&'a str, ParameterLocation)>, Error> {
    let name = parameter.text("name").ok_or_else(|| Error::malformed("a parameter has no `name`"))?;
    let shown = beginning(name);
    let location = parameter
        .text("in")
        .ok_or_else(|| Error::malformed(format!("the parameter `{shown}` has no `in`")))?;
    let location = ParameterLocation::parse(location).ok_or_else(|| {
        Error::unsupported(format!("`in: {}` of the parameter `{shown}`", beginning(location)))
    })?;
    if auth.owns(location, name) {
        return Ok(None);
    }
    if location == ParameterLocation::Header {
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
    Ok(Some((name, location)))
}

/// Parses the remaining properties of a parameter.
pub(crate) fn read<'a>(
    parameter: Node<'a>,
    (name, location): (&str, ParameterLocation),
    converter: &mut Converter<'_, 'a>,
) -> Result<Parameter, Error> {
    converter.charge(parameter.get_or_nothing("description").value)?;
    let content = parameter.get("content").and_then(|content| content.entries().next());
    let (mut schema, serialization) = if converter.spec().dialect == Dialect::Swagger20 {
        // Keys that are not schema keywords are dropped by the conversion.
        (converter.convert(parameter)?, collection_format(parameter, location)?)
    } else if let Some((media_type, media)) = content {
        let media = converter.spec().resolve(media)?;
        let schema = converter.convert(media.get_or_nothing("schema"))?;
        (schema, written_as(media_type))
    } else {
        let style = Style::parse(parameter.text("style"), location).or_else(|error| {
            converter.remark(format!("{error}; the default style is used"));
            Style::parse(None, location)
        })?;
        let serialization = Serialization::Styled {
            style,
            explode: parameter.flag("explode").unwrap_or(matches!(style, Style::Form | Style::Cookie)),
            allow_reserved: parameter.is_set("allowReserved"),
        };
        (converter.convert(parameter.get_or_nothing("schema"))?, serialization)
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
        location,
        serialization,
        required: location == ParameterLocation::Path || parameter.is_set("required"),
        schema,
    })
}

/// Returns the serialization of a parameter of Swagger 2.0.
pub(super) fn collection_format(
    parameter: Node<'_>,
    location: ParameterLocation,
) -> Result<Serialization, Error> {
    let plain = match location {
        ParameterLocation::Path | ParameterLocation::Header => Style::Simple,
        _ => Style::Form,
    };
    let (style, explode) = match parameter.text("collectionFormat") {
        None | Some("csv") => (plain, false),
        Some("ssv") => (Style::SpaceDelimited, false),
        Some("tsv") => (Style::TabDelimited, false),
        Some("pipes") => (Style::PipeDelimited, false),
        Some("multi") => (plain, plain == Style::Form),
        Some(other) => {
            return Err(Error::unsupported(format!("the collection format `{}`", beginning(other))));
        }
    };
    Ok(Serialization::Styled { style, explode, allow_reserved: false })
}

/// Returns the serialization of a parameter with a media type.
fn written_as(media_type: &str) -> Serialization {
    match MediaKind::of(media_type) {
        MediaKind::Json => Serialization::Json,
        MediaKind::Form => Serialization::Form,
        _ => Serialization::Text,
    }
}

/// Returns `example`, or the values of `examples`. In Swagger 2.0 both are extensions.
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

/// Creates a parameter that occurs in the path template but is not declared.
pub(crate) fn undeclared(name: &str, location: ParameterLocation) -> Parameter {
    let style = if location == ParameterLocation::Path { Style::Simple } else { Style::Form };
    Parameter {
        name: name.to_owned(),
        location,
        serialization: Serialization::Styled { style, explode: false, allow_reserved: false },
        required: true,
        schema: json!({"type": "string"}),
    }
}

/// Sets an annotation on a schema, which may be `true`.
pub(crate) fn annotate(schema: &mut Value, key: &str, value: Value) {
    if schema == &Value::Bool(true) {
        *schema = json!({});
    }
    if let Some(map) = schema.as_object_mut() {
        map.insert(key.to_owned(), value);
    }
}

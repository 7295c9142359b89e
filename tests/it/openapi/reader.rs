//! A reading of `OpenAPI` documents that is made for this check alone: references, parameters and bodies, as the
//! specifications of Swagger 2.0 and `OpenAPI` 3.0 to 3.2 say it.

use std::collections::BTreeMap;
use std::fmt;

use super::node::Node;
use serde_json::Value;

/// An operation, as the document says it.
pub(super) struct Operation<'a> {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) parameters: Vec<Parameter<'a>>,
    pub(super) body: Option<Body<'a>>,
    /// The URL that its path follows, where the document says one.
    pub(super) server: Option<String>,
}

/// One parameter of an operation.
#[derive(Clone)]
pub(super) struct Parameter<'a> {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) layout: Layout,
    pub(super) schema: Option<Node<'a>>,
    pub(super) required: bool,
}

/// Where a parameter is sent, in the order in which arguments get their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Path,
    Query,
    Header,
    Cookie,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// As `content` of a JSON type.
    Json,
    /// As `content` of a type that is text.
    Text,
    /// Of 3.2: the whole query is a form that is the value.
    Whole,
    Styled {
        style: Style,
        explode: bool,
        reserved: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    Space,
    Pipe,
    Tab,
    Deep,
    /// Of 3.2: pairs between `; `, with nothing encoded.
    Cookie,
}

/// The body of an operation.
pub(super) struct Body<'a> {
    pub(super) required: bool,
    pub(super) contents: Vec<Content<'a>>,
    /// The `formData` parameters of Swagger 2.0.
    pub(super) fields: BTreeMap<String, Field>,
    /// Whether the version lets styles rule the parts of a `multipart/form-data` body.
    styled_parts: bool,
}

/// One of the media types of a body.
pub(super) struct Content<'a> {
    pub(super) media_type: String,
    pub(super) schema: Option<Node<'a>>,
    encoding: Option<Node<'a>>,
}

/// How a field of a form is written.
#[derive(Clone, Debug, Default)]
pub(super) struct Field {
    /// Nothing: as text, and as JSON where it is an object.
    pub(super) layout: Option<Layout>,
    pub(super) content_type: Option<String>,
    pub(super) file: bool,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json => f.write_str("content JSON"),
            Self::Text => f.write_str("content text"),
            Self::Whole => f.write_str("whole query"),
            Self::Styled { style, explode, reserved } => {
                let explode = if *explode { " exploded" } else { "" };
                let reserved = if *reserved { " reserved" } else { "" };
                write!(f, "{style:?}{explode}{reserved}")
            }
        }
    }
}

impl Place {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }
}

/// All operations of a document.
pub(super) fn operations(root: Node<'_>) -> Vec<Operation<'_>> {
    const FIXED: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];
    let mut out = Vec::new();
    for (path, item) in root.entries("paths") {
        if path.starts_with("x-") {
            continue;
        }
        let mut found: Vec<(String, Node<'_>)> = Vec::new();
        // What stands beside a reference is read too.
        for node in [item, item.open()] {
            for method in FIXED {
                if let Some(value) = node.value.get(method)
                    && !found.iter().any(|(known, _)| known == &method.to_uppercase())
                {
                    found.push((method.to_uppercase(), node.to(value)));
                }
            }
        }
        found.extend(
            item.entries("additionalOperations").into_iter().map(|(name, node)| (name.to_owned(), node)),
        );
        for (method, operation) in found {
            out.push(Reader { root, item, operation }.read(method, path));
        }
    }
    out
}

struct Reader<'a> {
    root: Node<'a>,
    item: Node<'a>,
    operation: Node<'a>,
}

impl<'a> Reader<'a> {
    fn read(&self, method: String, path: &str) -> Operation<'a> {
        let mut declared: Vec<Node<'a>> = Vec::new();
        for node in [self.item, self.operation].into_iter().flat_map(|level| level.items("parameters")) {
            let node = node.open();
            let same =
                |other: &Node<'a>| ["name", "in"].into_iter().all(|key| other.text(key) == node.text(key));
            declared.retain(|other| !same(other));
            declared.push(node);
        }
        let is_two = self.is_two();
        let mut parameters: Vec<Parameter<'_>> =
            declared.iter().filter_map(|node| parameter(*node, is_two)).collect();
        let places = placeholders(path);
        parameters.retain(|parameter| parameter.place != Place::Path || places.contains(&parameter.name));
        for name in places {
            if !parameters.iter().any(|one| one.place == Place::Path && one.name == name) {
                parameters.push(Parameter {
                    name,
                    place: Place::Path,
                    layout: SIMPLE,
                    schema: None,
                    required: true,
                });
            }
        }
        let body = if is_two { self.old_body(&declared) } else { self.body() };
        Operation { method, path: path.to_owned(), parameters, body, server: self.server() }
    }

    /// The first server of the innermost list, with the defaults of its variables.
    fn server(&self) -> Option<String> {
        if self.is_two() {
            let scheme =
                self.root.items("schemes").first().and_then(|scheme| scheme.value.as_str()).unwrap_or("http");
            let path = self.root.text("basePath").unwrap_or_default();
            return Some(format!("{scheme}://{}{path}", self.root.text("host")?));
        }
        let levels = [self.operation, self.item, self.root];
        let server = levels.into_iter().find_map(|level| level.items("servers").into_iter().next())?;
        let mut url = server.text("url")?.to_owned();
        for (name, variable) in server.entries("variables") {
            url = url.replace(&format!("{{{name}}}"), variable.text("default")?);
        }
        Some(url)
    }

    fn is_two(&self) -> bool {
        self.root.get("swagger").is_some()
    }

    fn body(&self) -> Option<Body<'a>> {
        let body = self.operation.get("requestBody")?.open();
        let version = self.root.text("openapi").unwrap_or_default();
        let contents: Vec<_> = body
            .entries("content")
            .into_iter()
            .map(|(media_type, content)| Content {
                media_type: media_type.to_owned(),
                schema: content.get("schema").or_else(|| content.get("itemSchema")),
                encoding: content.get("encoding"),
            })
            .collect();
        (!contents.is_empty()).then(|| Body {
            required: body.is("required"),
            contents,
            fields: BTreeMap::new(),
            styled_parts: !version.starts_with("3.0"),
        })
    }

    /// Of Swagger 2.0: one parameter that is the body, or several that are the fields of a form.
    fn old_body(&self, declared: &[Node<'a>]) -> Option<Body<'a>> {
        let listed = self.operation.get("consumes").or_else(|| self.root.get("consumes"));
        let consumes: Vec<&str> = listed
            .and_then(|node| node.value.as_array())
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let content =
            |media_type: &str, schema| Content { media_type: media_type.to_owned(), schema, encoding: None };
        let place =
            |wanted: &'static str| declared.iter().filter(move |node| node.text("in") == Some(wanted));
        if let Some(body) = place("body").next() {
            let schema = body.get("schema");
            let contents = match consumes.as_slice() {
                [] => vec![content("application/json", schema)],
                some => some.iter().map(|media_type| content(media_type, schema)).collect(),
            };
            let required = body.is("required");
            return Some(Body { required, contents, fields: BTreeMap::new(), styled_parts: false });
        }
        let fields: BTreeMap<String, Field> = place("formData")
            .filter_map(|node| {
                let file = node.text("type") == Some("file");
                let layout = Some(old_layout(*node, Place::Query));
                let field = Field { layout, content_type: None, file };
                Some((node.text("name")?.to_owned(), field))
            })
            .collect();
        let forms = ["application/x-www-form-urlencoded", "multipart/form-data"];
        let has_file = fields.values().any(|field| field.file);
        // Only multipart can hold a file, and a form of any other type is a form all the same.
        let usable = |media_type: &str| forms.contains(&media_type) && (!has_file || media_type == forms[1]);
        let mut contents: Vec<_> =
            consumes.iter().filter(|one| usable(one)).map(|one| content(one, None)).collect();
        if contents.is_empty() {
            contents.push(content(forms[usize::from(has_file)], None));
        }
        let required = place("formData").any(|node| node.is("required"));
        (!fields.is_empty()).then_some(Body { required, contents, fields, styled_parts: false })
    }
}

const SIMPLE: Layout = Layout::Styled { style: Style::Simple, explode: false, reserved: false };

fn parameter(node: Node<'_>, is_two: bool) -> Option<Parameter<'_>> {
    let place = match node.text("in")? {
        "path" => Place::Path,
        "query" | "querystring" => Place::Query,
        "header" => Place::Header,
        "cookie" => Place::Cookie,
        _ => return None,
    };
    let name = node.text("name")?.to_owned();
    // These are ignored by the letter of the specification.
    let ignored = ["accept", "content-type", "authorization"];
    if place == Place::Header && ignored.contains(&name.to_lowercase().as_str()) {
        return None;
    }
    let (layout, schema) = match node.entries("content").first() {
        Some((media_type, content)) if is_json(media_type) => (Layout::Json, content.get("schema")),
        Some((_, content)) if node.text("in") == Some("querystring") => {
            (Layout::Whole, content.get("schema"))
        }
        Some(_) => (Layout::Text, None),
        // Type and bounds stand in the parameter itself.
        None if is_two => (old_layout(node, place), Some(node)),
        None => (new_layout(node, place), node.get("schema")),
    };
    let required = place == Place::Path || node.is("required");
    Some(Parameter { name, place, layout, schema, required })
}

fn new_layout(node: Node<'_>, place: Place) -> Layout {
    let style = match (node.text("style"), place) {
        (Some("label"), _) => Style::Label,
        (Some("matrix"), _) => Style::Matrix,
        (Some("spaceDelimited"), _) => Style::Space,
        (Some("pipeDelimited"), _) => Style::Pipe,
        (Some("deepObject"), _) => Style::Deep,
        (Some("cookie"), _) => Style::Cookie,
        (_, Place::Path | Place::Header) => Style::Simple,
        (_, Place::Query | Place::Cookie) => Style::Form,
    };
    let by_default = matches!(style, Style::Form | Style::Cookie);
    let explode = node.flag("explode").unwrap_or(by_default);
    Layout::Styled { style, explode, reserved: node.is("allowReserved") }
}

/// Of Swagger 2.0, by `collectionFormat`.
fn old_layout(node: Node<'_>, place: Place) -> Layout {
    let (style, explode) = match (node.text("collectionFormat"), place) {
        (Some("multi"), Place::Query) => (Style::Form, true),
        (Some("ssv"), _) => (Style::Space, false),
        (Some("tsv"), _) => (Style::Tab, false),
        (Some("pipes"), _) => (Style::Pipe, false),
        (_, Place::Query) => (Style::Form, false),
        _ => (Style::Simple, false),
    };
    Layout::Styled { style, explode, reserved: false }
}

impl Body<'_> {
    /// How a field of a form body is written.
    pub(super) fn field(&self, content: &Content<'_>, name: &str) -> Field {
        if let Some(field) = self.fields.get(name) {
            return field.clone();
        }
        let encoding = content.encoding.and_then(|encoding| encoding.get(name));
        let is_part = content.media_type.starts_with("multipart/");
        let styled = encoding
            .filter(|_| !is_part || self.styled_parts)
            .filter(|node| ["style", "explode", "allowReserved"].iter().any(|key| node.get(key).is_some()));
        let schema = content.schema.and_then(|schema| schema.properties().get(name).copied());
        Field {
            layout: styled.map(|node| new_layout(node, Place::Query)),
            content_type: encoding.and_then(|node| node.text("contentType")).map(str::to_owned),
            file: is_part
                && schema.is_some_and(|schema| is_file(schema) || schema.get("items").is_some_and(is_file)),
        }
    }
}

/// Whether a schema means bytes as they are.
fn is_file(schema: Node<'_>) -> bool {
    schema.text("format") == Some("binary")
        || (schema.text("contentMediaType").is_some() && schema.text("contentEncoding").is_none())
}

/// The type and subtype of JSON in any dress.
pub(super) fn is_json(media_type: &str) -> bool {
    let essence = essence(media_type);
    essence == "application/json" || essence.ends_with("+json") || essence.ends_with("/json")
}

pub(super) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_lowercase()
}

/// The names between the braces of a path.
fn placeholders(path: &str) -> Vec<String> {
    let path = path.split(['#', '?']).next().unwrap_or_default();
    let mut names: Vec<String> = Vec::new();
    for part in path.split('{').skip(1) {
        if let Some((name, _)) = part.split_once('}')
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    }
    names
}

//! The declaration of an operation's responses in a document.

use http::HeaderValue;
use serde_json::{Value, json};

use super::swagger;
use crate::Error;
use crate::media_type::{self, MediaKind};
use crate::schema::{BundledDefinition, Converter, Direction, Schemas};
use crate::spec::{Dialect, Node, Spec};

/// The schema of a result; `{}` by default.
pub(crate) struct ResultSchema {
    pub(crate) root: Value,
    /// The definitions that it refers to, the nearest first.
    pub(crate) definitions: Vec<BundledDefinition>,
    pub(crate) notes: Vec<String>,
}

impl Default for ResultSchema {
    fn default() -> Self {
        Self { root: json!({}), definitions: Vec::new(), notes: Vec::new() }
    }
}

/// Returns the schema of the first successful JSON response, or `{}` without such a response, and notes about it.
pub(crate) fn schema<'a>(operation: Node<'a>, schemas: &mut Schemas<'a>) -> Result<ResultSchema, Error> {
    for response in successes(operation, schemas.spec)? {
        let Some(schema) = schema_of(response, operation, schemas.spec)? else { continue };
        let mut converter = Converter::new(schemas, Direction::Output);
        let root = converter.convert_top(schema)?;
        let (definitions, notes) = converter.definitions()?;
        return Ok(ResultSchema { root, definitions, notes });
    }
    Ok(ResultSchema::default())
}

fn schema_of<'a>(response: Node<'a>, operation: Node<'a>, spec: Spec<'a>) -> Result<Option<Node<'a>>, Error> {
    if spec.dialect == Dialect::Swagger20 {
        let produced = swagger::media_types(spec, operation, "produces");
        let is_json =
            produced.is_empty() || produced.iter().any(|kind| MediaKind::of(kind) == MediaKind::Json);
        let schema = response.get("schema").filter(|_| is_json);
        return Ok(schema.filter(|schema| schema.text("type") != Some("file")));
    }
    let content = response.get_or_nothing("content");
    match content.object().and_then(media_type::preferred_response) {
        Some((_, media)) => Ok(spec.resolve(content.at(media))?.get("schema")),
        None => Ok(None),
    }
}

/// Returns the `Accept` header of a call: the media type of the response with the schema first, then any other.
pub(crate) fn accept<'a>(operation: Node<'a>, spec: Spec<'a>) -> HeaderValue {
    let wanted = if spec.dialect == Dialect::Swagger20 {
        let produced = swagger::media_types(spec, operation, "produces");
        let json = produced.iter().find(|media_type| MediaKind::of(media_type) == MediaKind::Json);
        json.or(produced.first()).copied()
    } else {
        let contents: Vec<_> = successes(operation, spec)
            .unwrap_or_default()
            .into_iter()
            .filter_map(|response| response.get("content")?.object())
            .collect();
        contents
            .iter()
            .find_map(|content| media_type::preferred_response(content))
            .map(|(media_type, _)| media_type)
            .or_else(|| contents.first().and_then(|content| content.keys().next()).map(String::as_str))
    };
    wanted
        .filter(|media_type| *media_type != media_type::ANY)
        .and_then(|media_type| HeaderValue::from_str(&format!("{media_type}, */*;q=0.5")).ok())
        .unwrap_or(HeaderValue::from_static(media_type::ANY))
}

/// Returns the successful responses: those of a specific status first, then `2XX`. Without such a response, returns the
/// default response.
fn successes<'a>(operation: Node<'a>, spec: Spec<'a>) -> Result<Vec<Node<'a>>, Error> {
    let responses = operation.get_or_nothing("responses");
    let mut found: Vec<_> = responses.entries().filter(|(code, _)| code.starts_with('2')).collect();
    found.sort_by_key(|(code, _)| *code);
    if found.is_empty() {
        found.extend(responses.get("default").map(|response| ("default", response)));
    }
    found.into_iter().map(|(_, response)| spec.resolve(response)).collect()
}

//! Call arguments that are also sent as HTTP headers: the properties of a tool's schema with an `x-mcp-header`
//! annotation, since revision 2026-07-28.
//!
//! rmcp sends these headers for tools that were listed in the same session. A call in a session that has listed none,
//! because the server was restarted, needs them too.

use std::collections::{HashMap, HashSet};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, GetExtensions as _, JsonObject, JsonRpcMessage};
use serde_json::Value;

/// The keyword of the annotation.
const ANNOTATION: &str = "x-mcp-header";

/// The prefix of the header names.
const PREFIX: &str = "mcp-param-";

/// A header of every request in the revisions that support argument headers.
const METHOD: HeaderName = HeaderName::from_static("mcp-method");

/// The prefix of a Base64-encoded value.
const BASE64_PREFIX: &str = "=?base64?";

/// The suffix of a Base64-encoded value.
const BASE64_SUFFIX: &str = "?=";

/// Keywords whose value is an instance rather than a schema.
const INSTANCES: &[&str] = &["const", "default", "enum", "examples"];

/// Keywords whose value is a map of schemas.
const MAPS: &[&str] = &["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// The argument headers of one call, attached to its request until the transport sends it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArgumentHeaders(Vec<(HeaderName, HeaderValue)>);

impl ArgumentHeaders {
    /// Returns the headers for these arguments. Arguments that are absent or `null` have none, and invalid annotations
    /// are ignored.
    pub(crate) fn of(schema: &Value, arguments: &JsonObject) -> Self {
        let mut annotations = Vec::new();
        collect(schema, &mut Vec::new(), &mut annotations);
        let headers = annotations.into_iter().filter_map(|annotation| {
            let (first, rest) = annotation.path.split_first()?;
            let value = rest.iter().try_fold(arguments.get(*first)?, |value, key| value.get(key))?;
            let name = format!("{PREFIX}{}", annotation.header.as_str()?);
            let value = HeaderValue::from_str(&encode(&header_text(value)?)).ok()?;
            Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
        });
        Self(headers.collect())
    }

    /// Adds the argument headers of a message to its HTTP headers, if the revision supports them and they are not set.
    pub(crate) fn complete(message: &ClientJsonRpcMessage, headers: &mut HashMap<HeaderName, HeaderValue>) {
        let JsonRpcMessage::Request(request) = message else { return };
        let Some(Self(mirrored)) = request.request.extensions().get() else { return };
        if headers.contains_key(&METHOD) {
            for (name, value) in mirrored {
                headers.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
    }
}

/// Checks the annotations of a schema. Tools with invalid annotations may not be used.
pub(crate) fn check(schema: &JsonObject) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("its schema is marked for headers that cannot be sent: {what}"));
    if schema.contains_key(ANNOTATION) || schema.iter().any(|(key, value)| is_misplaced(key, value, true)) {
        return wrong(&format!("`{ANNOTATION}` is used outside of a property"));
    }
    let mut annotations = Vec::new();
    collect_properties(schema.get("properties"), &mut Vec::new(), &mut annotations);
    let mut names = HashSet::new();
    for annotation in annotations {
        let property = annotation.path.join(".");
        let name = annotation.header.as_str().map(str::to_ascii_lowercase).unwrap_or_default();
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            return wrong(&format!("that of `{property}` has no name that a header may have"));
        }
        if !names.insert(name) {
            return wrong(&format!("that of `{property}` has the name of another"));
        }
        let kind = annotation.schema.get("type").and_then(Value::as_str);
        if !kind.is_some_and(|kind| ["string", "integer", "boolean"].contains(&kind)) {
            return wrong(&format!("`{property}` is neither a string nor an integer nor a boolean"));
        }
    }
    Ok(())
}

/// A property with an annotation.
struct HeaderAnnotation<'a> {
    /// The names of the properties on the path to it.
    path: Vec<&'a str>,
    schema: &'a Value,
    header: &'a Value,
}

fn collect<'a>(schema: &'a Value, path: &mut Vec<&'a str>, annotations: &mut Vec<HeaderAnnotation<'a>>) {
    collect_properties(schema.get("properties"), path, annotations);
}

fn collect_properties<'a>(
    properties: Option<&'a Value>,
    path: &mut Vec<&'a str>,
    annotations: &mut Vec<HeaderAnnotation<'a>>,
) {
    for (name, schema) in properties.and_then(Value::as_object).into_iter().flatten() {
        path.push(name);
        if let Some(header) = schema.get(ANNOTATION) {
            annotations.push(HeaderAnnotation { path: path.clone(), schema, header });
        }
        collect(schema, path, annotations);
        path.pop();
    }
}

/// Returns true if an annotation occurs below this keyword at a place that no chain of properties leads to.
/// `at_property` is true if the schema is the root, or a property on such a chain.
fn is_misplaced(key: &str, value: &Value, at_property: bool) -> bool {
    let within = |schema: &Value, at_property: bool| {
        schema.as_object().is_some_and(|schema| {
            schema.iter().any(|(key, value)| {
                if key == ANNOTATION { !at_property } else { is_misplaced(key, value, at_property) }
            })
        })
    };
    match value {
        _ if INSTANCES.contains(&key) => false,
        Value::Object(map) if MAPS.contains(&key) => {
            map.values().any(|schema| within(schema, at_property && key == "properties"))
        }
        Value::Object(_) => within(value, false),
        Value::Array(schemas) => schemas.iter().any(|schema| within(schema, false)),
        _ => false,
    }
}

/// Returns the header text of a value; `None` for `null`, arrays and objects.
fn header_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Encodes a text for a header: in Base64 if a proxy could alter it, or if it looks like Base64 already.
fn encode(text: &str) -> String {
    let is_visible = text.chars().all(|character| (' '..='~').contains(&character));
    let is_marked = text.starts_with(BASE64_PREFIX) && text.ends_with(BASE64_SUFFIX);
    if is_visible && text.trim() == text && !is_marked {
        text.to_owned()
    } else {
        format!("{BASE64_PREFIX}{}{BASE64_SUFFIX}", BASE64_STANDARD.encode(text))
    }
}

#[cfg(test)]
mod tests;

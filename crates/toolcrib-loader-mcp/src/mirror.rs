//! Arguments that a server wants to see in HTTP headers as well: the properties of a tool's schema that are marked with
//! `x-mcp-header`, from revision 2026-07-28 on.
//!
//! rmcp sends these headers for the tools that were listed in the same session. A call in a session that has not listed
//! any, because the server was started again, needs them too.

use std::collections::{HashMap, HashSet};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, GetExtensions as _, JsonObject, JsonRpcMessage};
use serde_json::Value;

/// The mark of a property.
const MARK: &str = "x-mcp-header";

/// What the name of each of these headers begins with.
const PREFIX: &str = "mcp-param-";

/// A header that is on every request of the revisions which know these.
const METHOD: HeaderName = HeaderName::from_static("mcp-method");

/// What stands around a value in Base64.
const BEFORE: &str = "=?base64?";

/// The same at its end.
const AFTER: &str = "?=";

/// Keywords whose value is an instance rather than a schema.
const INSTANCES: &[&str] = &["const", "default", "enum", "examples"];

/// Keywords whose value is a map of schemas.
const MAPS: &[&str] = &["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// The headers of one call, on the way to the transport.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mirrored(Vec<(HeaderName, HeaderValue)>);

impl Mirrored {
    /// The headers for these arguments. What is absent or `null` has none, and a mark that is none is passed over.
    pub(crate) fn of(schema: &Value, arguments: &JsonObject) -> Self {
        let mut marks = Vec::new();
        collect(schema, &mut Vec::new(), &mut marks);
        let headers = marks.into_iter().filter_map(|mark| {
            let (first, rest) = mark.path.split_first()?;
            let value = rest.iter().try_fold(arguments.get(*first)?, |value, key| value.get(key))?;
            let name = format!("{PREFIX}{}", mark.header.as_str()?);
            let value = HeaderValue::from_str(&encode(&plain(value)?)).ok()?;
            Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
        });
        Self(headers.collect())
    }

    /// Adds what a message has of them to its headers, where the revision knows them and they are not there.
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

/// Fails with what is wrong with the marks of a schema. Tools with such a schema may not be used.
pub(crate) fn check(schema: &JsonObject) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("its schema is marked for headers that cannot be sent: {what}"));
    if schema.contains_key(MARK) || schema.iter().any(|(key, value)| is_astray(key, value, true)) {
        return wrong(&format!("`{MARK}` stands elsewhere than at a property"));
    }
    let mut marks = Vec::new();
    collect_properties(schema.get("properties"), &mut Vec::new(), &mut marks);
    let mut names = HashSet::new();
    for mark in marks {
        let property = mark.path.join(".");
        let name = mark.header.as_str().map(str::to_ascii_lowercase).unwrap_or_default();
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            return wrong(&format!("that of `{property}` has no name that a header may have"));
        }
        if !names.insert(name) {
            return wrong(&format!("that of `{property}` has the name of another"));
        }
        let kind = mark.schema.get("type").and_then(Value::as_str);
        if !kind.is_some_and(|kind| ["string", "integer", "boolean"].contains(&kind)) {
            return wrong(&format!("`{property}` is neither a string nor an integer nor a boolean"));
        }
    }
    Ok(())
}

/// A marked property.
struct Mark<'a> {
    /// The names of the properties that lead to it.
    path: Vec<&'a str>,
    schema: &'a Value,
    header: &'a Value,
}

fn collect<'a>(schema: &'a Value, path: &mut Vec<&'a str>, marks: &mut Vec<Mark<'a>>) {
    collect_properties(schema.get("properties"), path, marks);
}

fn collect_properties<'a>(properties: Option<&'a Value>, path: &mut Vec<&'a str>, marks: &mut Vec<Mark<'a>>) {
    for (name, schema) in properties.and_then(Value::as_object).into_iter().flatten() {
        path.push(name);
        if let Some(header) = schema.get(MARK) {
            marks.push(Mark { path: path.clone(), schema, header });
        }
        collect(schema, path, marks);
        path.pop();
    }
}

/// Whether there is a mark below a keyword of a schema that no chain of properties leads to. `at_property`: the schema is
/// the root, or a property of such a one.
fn is_astray(key: &str, value: &Value, at_property: bool) -> bool {
    let within = |schema: &Value, at_property: bool| {
        schema.as_object().is_some_and(|schema| {
            schema.iter().any(
                |(key, value)| {
                    if key == MARK { !at_property } else { is_astray(key, value, at_property) }
                },
            )
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

/// A value as the text of a header.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The text as it may stand in a header: in Base64 where it would be changed on the way, or would look like Base64.
fn encode(text: &str) -> String {
    let is_visible = text.chars().all(|character| (' '..='~').contains(&character));
    let is_marked = text.starts_with(BEFORE) && text.ends_with(AFTER);
    if is_visible && text.trim() == text && !is_marked {
        text.to_owned()
    } else {
        format!("{BEFORE}{}{AFTER}", BASE64_STANDARD.encode(text))
    }
}

#[cfg(test)]
mod tests;

//! Which argument of a tool stands for which part of the operation, by the promise of names: a name of its own, and
//! where two places use the same one, `name__place` for the later, in the order path, query, header, cookie, body.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::node::Node;
use super::reader::{Body, Content, Operation, Parameter, Place};

/// Headers that a client has to write itself, or that are credentials: a tool may go without them.
const NOT_FOR_ARGUMENTS: [&str; 10] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "upgrade",
    "expect",
    "te",
    "trailer",
    "keep-alive",
    "proxy-authorization",
];

/// What the arguments of a tool are for.
pub(super) struct Binding<'a> {
    /// The arguments of parameters.
    pub(super) parameters: Vec<(String, &'a Parameter<'a>)>,
    /// The arguments of the body.
    pub(super) body: BodyArguments,
}

/// How a body is made of arguments.
pub(super) enum BodyArguments {
    None,
    Whole(String),
    /// Argument and property.
    Fields(Vec<(String, String)>),
}

/// Tells the arguments apart; an error is an argument too many or too few.
pub(super) fn bind<'a>(schema: &Value, operation: &'a Operation<'_>) -> Result<Binding<'a>, String> {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let mut rest: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
    let mut ordered: Vec<&Parameter<'_>> = operation.parameters.iter().collect();
    ordered.sort_by_key(|parameter| parameter.place);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |argument: &str| required.is_some_and(|names| names.contains(&argument.into()));
    let mut parameters = Vec::new();
    for parameter in ordered {
        match argument(&rest, &parameter.name, parameter.place.name()) {
            Some(argument) if is_required(argument) != parameter.required => {
                return Err(format!(
                    "an argument that has to be there where the parameter has not, or not: {argument}"
                ));
            }
            Some(argument) => {
                rest.remove(argument);
                parameters.push((argument.to_owned(), parameter));
            }
            None if may_be_missing(parameter) => {}
            None => {
                return Err(format!(
                    "the {} parameter has no argument: {}",
                    parameter.place.name(),
                    parameter.name
                ));
            }
        }
    }
    let body = match &operation.body {
        Some(body) => body_arguments(body, &rest)?,
        None => BodyArguments::None,
    };
    if let (BodyArguments::None, Some(left)) = (&body, rest.first()) {
        return Err(format!("an argument has no place: {left}"));
    }
    Ok(Binding { parameters, body })
}

fn argument<'a>(rest: &BTreeSet<&'a str>, name: &str, place: &str) -> Option<&'a str> {
    let candidates = [
        name.to_owned(),
        format!("{name}__{place}"),
        format!("{name}__{place}_2"),
        format!("{name}__{place}string"),
    ];
    candidates.iter().find_map(|candidate| rest.get(candidate.as_str()).copied())
}

fn may_be_missing(parameter: &Parameter<'_>) -> bool {
    parameter.place == Place::Header && NOT_FOR_ARGUMENTS.contains(&parameter.name.to_lowercase().as_str())
}

fn body_arguments(body: &Body<'_>, rest: &BTreeSet<&str>) -> Result<BodyArguments, String> {
    let mut properties: BTreeSet<&str> = body.fields.keys().map(String::as_str).collect();
    for schema in body.contents.iter().filter_map(|content| content.schema) {
        properties.extend(schema.properties().keys());
        properties.extend(schema.items("required").into_iter().filter_map(|name| name.value.as_str()));
    }
    let rest: Vec<&str> = rest.iter().copied().collect();
    match rest.as_slice() {
        [] => Err(format!("the body has no argument: {}", body.contents.len())),
        // A body of which other properties would be arguments too is not taken apart.
        [only] if only.starts_with("body") && properties.iter().any(|name| name != only) => {
            Ok(BodyArguments::Whole((*only).to_owned()))
        }
        [only] if only.starts_with("body") && properties.is_empty() => {
            Ok(BodyArguments::Whole((*only).to_owned()))
        }
        some => {
            let property = |argument: &&str| {
                let name = argument.strip_suffix("__body").filter(|name| properties.contains(name));
                let name = if properties.contains(argument) { Some(*argument) } else { name };
                let name = name.ok_or_else(|| format!("an argument has no place: {argument}"))?;
                Ok(((*argument).to_owned(), name.to_owned()))
            };
            let fields = some.iter().map(property).collect::<Result<Vec<_>, String>>()?;
            let is_there = |name: &str| fields.iter().any(|(_, field)| field == name);
            let is_whole = |content: &Content<'_>| {
                let mut properties = content.schema.map(Node::properties).unwrap_or_default().into_iter();
                properties.all(|(name, node)| node.is("readOnly") || is_there(name))
            };
            if !body.contents.iter().any(is_whole) || !body.fields.keys().all(|name| is_there(name)) {
                return Err(format!("a property of the body has no argument: {some:?}"));
            }
            Ok(BodyArguments::Fields(fields))
        }
    }
}

//! The flat list of arguments of an operation.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use super::body::{BodyDraft, Encoding};
use super::parameter::{Parameter, ParameterLocation, annotate};

/// The name of the argument that contains the whole body.
const BODY: &str = "body";

/// A parameter, and the argument that provides its value.
#[derive(Clone, Debug)]
pub(crate) struct BoundParameter {
    pub(crate) argument: String,
    pub(crate) parameter: Parameter,
}

/// A body, and the arguments that provide its value.
#[derive(Clone, Debug)]
pub(crate) struct BoundBody {
    pub(crate) media_type: String,
    pub(crate) encoding: Encoding,
    pub(crate) required: bool,
    pub(crate) shape: BodyShape,
}

/// The composition of a body from arguments.
#[derive(Clone, Debug)]
pub(crate) enum BodyShape {
    /// One argument for each property.
    Fields(Vec<BodyField>),
    /// One argument that is the body.
    Whole(String),
}

/// A property of a body, and the argument that provides its value.
#[derive(Clone, Debug)]
pub(crate) struct BodyField {
    pub(crate) property: String,
    pub(crate) argument: String,
}

/// The arguments of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    pub(crate) parameters: Vec<BoundParameter>,
    pub(crate) body: Option<BoundBody>,
    /// The JSON Schema of the arguments, without `$defs`.
    pub(crate) schema: JsonObject,
}

impl Arguments {
    /// Returns the arguments that may be objects whose members are sent as separate fields.
    pub(crate) fn exploded(&self) -> Vec<String> {
        let has_fields = |location| {
            matches!(
                location,
                ParameterLocation::Query | ParameterLocation::QueryString | ParameterLocation::Cookie
            )
        };
        let parameters = self.parameters.iter().filter(|bound| {
            has_fields(bound.parameter.location) && bound.parameter.serialization.sends_members()
        });
        let fields = self.body.iter().flat_map(|body| match (&body.shape, &body.encoding) {
            (BodyShape::Fields(fields), Encoding::Form(writings)) => {
                let is_exploded = |field: &&BodyField| {
                    writings.get(&field.property).is_some_and(|serialization| serialization.sends_members())
                };
                fields.iter().filter(is_exploded).map(|field| &field.argument).collect()
            }
            _ => Vec::new(),
        });
        let properties = self.schema.get("properties");
        let may_be_object =
            |argument: &&String| match properties.and_then(|all| all.get(*argument)?.get("type")) {
                Some(Value::String(name)) => name == "object",
                Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
                _ => true,
            };
        parameters.map(|bound| &bound.argument).chain(fields).filter(may_be_object).cloned().collect()
    }
}

/// Names the arguments.
///
/// An argument has the name of its parameter. If two locations use the same name, path precedes query, header and
/// cookie, and the others are called `id__query`. The properties of a body become separate arguments if that loses
/// nothing. Those with the name of a parameter are called `id__body`.
pub(crate) fn bind(mut parameters: Vec<Parameter>, body: Option<BodyDraft>) -> Arguments {
    parameters.sort_by_key(|parameter| parameter.location);
    let mut list = ArgumentList::default();
    let shared: HashSet<String> = {
        let mut seen = HashSet::new();
        let of_body = body.as_ref().and_then(BodyDraft::flat_properties);
        let of_body = of_body.into_iter().flat_map(JsonObject::keys);
        parameters
            .iter()
            .map(|parameter| &parameter.name)
            .chain(of_body)
            .filter(|name| !seen.insert(*name))
            .cloned()
            .collect()
    };
    let mut bound = Vec::new();
    for mut parameter in parameters {
        let location = parameter.location.as_str();
        let mut schema = parameter.schema.take();
        let argument = list.free_name(&parameter.name, location);
        if shared.contains(&parameter.name) || argument != parameter.name {
            explain(&mut schema, &format!("The {location} parameter `{}`.", parameter.name));
        }
        list.add(argument.clone(), schema, parameter.required);
        bound.push(BoundParameter { argument, parameter });
    }
    let body = body.map(|draft| list.add_body(draft));
    Arguments { parameters: bound, body, schema: list.schema() }
}

#[derive(Default)]
struct ArgumentList {
    properties: JsonObject,
    required: Vec<String>,
}

impl ArgumentList {
    fn free_name(&self, name: &str, location: &str) -> String {
        let mut candidate = name.to_owned();
        let mut count = 1;
        while self.properties.contains_key(&candidate) {
            candidate = if count == 1 {
                format!("{name}__{location}")
            } else {
                format!("{name}__{location}_{count}")
            };
            count += 1;
        }
        candidate
    }

    fn add(&mut self, argument: String, schema: Value, required: bool) {
        if required {
            self.required.push(argument.clone());
        }
        self.properties.insert(argument, schema);
    }

    fn add_body(&mut self, mut draft: BodyDraft) -> BoundBody {
        let shape = if let Some(properties) = draft.flat_properties().cloned() {
            let required: BTreeSet<String> = draft.required_properties().map(str::to_owned).collect();
            // A required property without a schema is not listed, but has to be sent nevertheless.
            let unlisted = required.iter().filter(|name| !properties.contains_key(*name));
            let unlisted: Vec<(String, Value)> = unlisted.map(|name| (name.clone(), json!({}))).collect();
            let mut fields = Vec::new();
            for (property, mut schema) in properties.into_iter().chain(unlisted) {
                let argument = self.free_name(&property, BODY);
                if argument != property {
                    explain(&mut schema, &format!("The property `{property}` of the body."));
                }
                self.add(argument.clone(), schema, required.contains(&property));
                fields.push(BodyField { property, argument });
            }
            BodyShape::Fields(fields)
        } else {
            let argument = self.free_name(BODY, BODY);
            if argument != BODY {
                explain(&mut draft.schema, "The body of the request.");
            }
            self.add(argument.clone(), draft.schema.take(), draft.required);
            BodyShape::Whole(argument)
        };
        BoundBody { media_type: draft.media_type, encoding: draft.encoding, required: draft.required, shape }
    }

    fn schema(self) -> JsonObject {
        let mut schema = JsonObject::new();
        schema.insert("type".into(), "object".into());
        schema.insert("properties".into(), self.properties.into());
        if !self.required.is_empty() {
            schema.insert("required".into(), self.required.into());
        }
        // Unlisted arguments have no slot in the request.
        schema.insert("additionalProperties".into(), false.into());
        schema
    }
}

/// Appends a sentence to the description.
fn explain(schema: &mut Value, sentence: &str) {
    let text = match schema.get("description").and_then(Value::as_str) {
        Some(description) if !description.is_empty() => format!("{description} ({sentence})"),
        _ => sentence.to_owned(),
    };
    annotate(schema, "description", text.into());
}

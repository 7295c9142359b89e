//! One pass over the paths of a document: each operation becomes a tool or a reject.

use std::collections::HashMap;
use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use toolcrib_model::{QualifiedName, Risk, Tool};
use toolcrib_port::{Loaded, Reject};

use super::arguments::{self, Arguments};
use super::body::BodyDraft;
use super::names::{self, Unnamed};
use super::parameter::{self, Parameter, Place};
use super::{Base, Operation, PathTemplate, output};
use crate::Error;
use crate::schema::{Budget, Converter, Direction};
use crate::spec::Spec;

/// The methods of OpenAPI 3.0 and 3.1.
const METHODS: [(&str, Method); 8] = [
    ("get", Method::GET),
    ("put", Method::PUT),
    ("post", Method::POST),
    ("delete", Method::DELETE),
    ("patch", Method::PATCH),
    ("head", Method::HEAD),
    ("options", Method::OPTIONS),
    ("trace", Method::TRACE),
];

/// What the source says of all its tools.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) source: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) base: Base<'a>,
    /// The headers, in lower case, that the source sets itself.
    pub(crate) own_headers: &'a [String],
}

/// What came of a document.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) loaded: Loaded,
    /// By the name of the tool.
    pub(crate) operations: HashMap<String, Arc<Operation>>,
}

/// An operation as it stands in the document.
#[derive(Clone, Copy)]
struct Found<'a> {
    method_name: &'static str,
    method: &'static Method,
    path: &'a str,
    item: &'a Value,
    operation: &'a Value,
}

/// Reads all operations. An error is one of the document as a whole.
pub(crate) fn read_document(root: &Value, setting: &Setting<'_>) -> Result<Reading, Error> {
    let spec = Spec::new(root)?;
    let mut reading = Reading::default();
    let mut found = Vec::new();
    for (path, item) in paths(root)? {
        match operations(spec, path, item) {
            Ok(operations) => found.extend(operations),
            Err(error) => reading.reject(setting, path, &error),
        }
    }
    let unnamed: Vec<_> = found.iter().map(Found::unnamed).collect();
    let mut budget = Budget::default();
    for (found, name) in found.iter().zip(names::allot(&unnamed)) {
        match found.read(&name, spec, setting, &mut budget) {
            Ok((tool, operation)) => {
                reading.loaded.tools.push(tool);
                reading.operations.insert(name, Arc::new(operation));
            }
            Err(error) => reading.reject(setting, &name, &error),
        }
    }
    Ok(reading)
}

impl Reading {
    fn reject(&mut self, setting: &Setting<'_>, name: &str, error: &Error) {
        let reject = Reject::tool(setting.source, name, error.reject_kind(), error.to_string());
        self.loaded.rejected.push(reject);
    }
}

fn paths(root: &Value) -> Result<impl Iterator<Item = (&str, &Value)>, Error> {
    let paths = match root.get("paths") {
        None | Some(Value::Null) => None,
        Some(Value::Object(paths)) => Some(paths),
        Some(_) => return Err(Error::malformed("`paths` must be an object")),
    };
    let is_path = |(path, _): &(&String, &Value)| !path.starts_with("x-");
    Ok(paths.into_iter().flatten().filter(is_path).map(|(path, item)| (path.as_str(), item)))
}

/// The operations of a path, in the order of the document; what stands beside a `$ref` goes before what it leads to.
fn operations<'a>(spec: Spec<'a>, path: &'a str, item: &'a Value) -> Result<Vec<Found<'a>>, Error> {
    let target = spec.resolve(item)?;
    let own = item.as_object().filter(|_| item.get("$ref").is_some());
    let mut found: Vec<Found<'a>> = Vec::new();
    for (key, operation) in own.into_iter().flatten().chain(target.as_object().into_iter().flatten()) {
        let Some((method_name, method)) = METHODS.iter().find(|(name, _)| name == key) else { continue };
        if !found.iter().any(|earlier| earlier.method_name == *method_name) {
            found.push(Found { method_name, method, path, item: target, operation });
        }
    }
    Ok(found)
}

impl<'a> Found<'a> {
    fn unnamed(&self) -> Unnamed<'a> {
        Unnamed { method: self.method_name, path: self.path, operation_id: self.text("operationId") }
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        self.operation.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    }

    fn read(
        &self,
        name: &str,
        spec: Spec<'a>,
        setting: &Setting<'_>,
        budget: &mut Budget,
    ) -> Result<(Tool, Operation), Error> {
        if !self.operation.is_object() {
            return Err(Error::malformed(format!("`{} {}` is not an object", self.method, self.path)));
        }
        let template = PathTemplate::parse(self.path)?;
        let mut notes = Vec::new();
        let mut converter = Converter::new(spec, Direction::Input, budget);
        let parameters = self.parameters(spec, &template, setting, &mut converter, &mut notes)?;
        let body = match self.operation.get("requestBody") {
            Some(body) => BodyDraft::read(body, spec, &mut converter)?,
            None => None,
        };
        let Arguments { parameters, body, mut schema } = arguments::bind(parameters, body);
        let definitions = converter.definitions()?;
        if !definitions.is_empty() {
            schema.insert("$defs".into(), definitions.into());
        }
        // The tool can be called all the same, so it is not rejected for what it returns.
        let result = output::schema(self.operation, spec, budget).unwrap_or_else(|error| {
            notes.push(format!("the schema of the result is left out: {error}"));
            json!({})
        });
        let qualified = QualifiedName::new(setting.namespace, name)
            .map_err(|error| Error::malformed(format!("`{name}` cannot be the name of a tool: {error}")))?;
        let tool = self.describe(Tool::new(qualified), spec, setting, notes);
        let tool = tool.with_parameters(schema.into()).with_output_parameters(result);
        let servers = [self.operation, self.item, spec.root].map(|level| level.get("servers"));
        let operation = Operation {
            method: self.method.clone(),
            path: template,
            parameters,
            body,
            server: setting.base.server(servers),
            accept: output::accept(self.operation, spec),
            fingerprint: tool.fingerprint(),
        };
        Ok((tool, operation))
    }

    /// The parameters of the path and of the operation, which go before those of the path, and exactly those path
    /// parameters that the path has a place for.
    fn parameters(
        &self,
        spec: Spec<'a>,
        template: &PathTemplate,
        setting: &Setting<'_>,
        converter: &mut Converter<'a, '_>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Parameter>, Error> {
        let mut gathered: Vec<((&str, Place), &Value)> = Vec::new();
        let mut positions: HashMap<(&str, Place), usize> = HashMap::new();
        for level in [self.item, self.operation] {
            for declared in level.get("parameters").and_then(Value::as_array).into_iter().flatten() {
                let declared = spec.resolve(declared)?;
                let Some(identity) = parameter::identity(declared, setting.own_headers)? else { continue };
                let position = *positions.entry(identity).or_insert(gathered.len());
                match gathered.get_mut(position) {
                    Some((_, earlier)) => *earlier = declared,
                    None => gathered.push((identity, declared)),
                }
            }
        }
        let mut places = template.parameters();
        let mut parameters = Vec::new();
        for (identity @ (name, place), declared) in gathered {
            if place == Place::Path && !places.remove(name) {
                notes.push(format!("the path parameter `{name}` is left out: the path has no place for it"));
                continue;
            }
            parameters.push(parameter::read(declared, identity, spec, converter)?);
        }
        for name in places {
            notes.push(format!("the path parameter `{name}` is not declared, and is taken as a text"));
            parameters.push(parameter::undeclared(name));
        }
        Ok(parameters)
    }

    /// Adds everything that is neither the name nor a schema.
    fn describe(&self, tool: Tool, spec: Spec<'a>, setting: &Setting<'_>, notes: Vec<String>) -> Tool {
        let description = match (self.text("summary"), self.text("description")) {
            (Some(summary), Some(description)) if !description.starts_with(summary) => {
                format!("{summary}\n\n{description}")
            }
            (_, Some(text)) | (Some(text), None) => text.to_owned(),
            (None, None) => format!("{} {}", self.method, self.path),
        };
        let risk = match *self.method {
            Method::GET | Method::HEAD => Risk::Low,
            Method::DELETE => Risk::High,
            _ => Risk::Medium,
        };
        let mut tool = tool
            .with_description(description)
            .with_risk(risk)
            .with_metadata("source", setting.source)
            .with_metadata("method", self.method.as_str())
            .with_metadata("path", self.path)
            .with_metadata("idempotent", self.method.is_idempotent());
        if let Some(tags) = self.operation.get("tags").and_then(Value::as_array) {
            tool = tool.with_metadata("tags", tags.clone());
        }
        if self.operation.get("deprecated") == Some(&Value::Bool(true)) {
            tool = tool.with_metadata("deprecated", true);
        }
        if let Some(documentation) = self.operation.get("externalDocs") {
            tool = tool.with_metadata("external_docs", documentation.clone());
        }
        if let Some(security) = self.operation.get("security").or_else(|| spec.root.get("security")) {
            tool = tool.with_metadata("security", security.clone());
        }
        let wanted =
            self.unnamed().operation_id.map_or_else(|| names::wanted(&self.unnamed()), str::to_owned);
        if wanted != tool.name.name() {
            tool = tool.with_metadata("renamed_from", wanted);
        }
        if !notes.is_empty() {
            tool = tool.with_metadata("notes", notes);
        }
        tool
    }
}

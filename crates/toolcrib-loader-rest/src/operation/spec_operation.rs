//! An operation of the document, and its conversion to a tool.

use std::collections::HashMap;

use http::Method;
use toolcrib_document::plain_text;
use toolcrib_model::text::words_of_name;
use toolcrib_model::{QualifiedName, Risk, Tool};

use super::arguments::{self, Arguments};
use super::body::BodyDraft;
use super::names::{self, OperationIdentity};
use super::parameter::{self, Parameter, ParameterLocation};
use super::response::ResultSchema;
use super::{ConversionSettings, Operation, PathTemplate, response, swagger};
use crate::Error;
use crate::schema::{Converter, Direction, Schemas, left_open};
use crate::selection::OperationOutline;
use crate::spec::{Dialect, Node, Spec};

/// The format of a file argument.
const AS_BASE64: &str = "as base64";
const AS_BASE64_OR_PATH: &str = "as base64, or `file:` and its path in the workspace";

/// An operation of the document.
#[derive(Clone)]
pub(super) struct SpecOperation<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    /// The path item and the siblings of its `$ref`. Both are the same if there is no reference.
    pub(super) levels: [Node<'a>; 2],
    pub(super) operation: Node<'a>,
}

/// The parameters of an operation: those of the URL and the headers, and those of the body (Swagger 2.0).
#[derive(Default)]
struct OperationParameters<'a> {
    parameters: Vec<Parameter>,
    of_body: Vec<Node<'a>>,
}

/// A declared parameter, with its name and location.
type DeclaredParameter<'a> = ((&'a str, ParameterLocation), Node<'a>);

impl<'a> SpecOperation<'a> {
    pub(super) fn identity(&self) -> OperationIdentity<'a> {
        OperationIdentity {
            method: self.method.as_str().to_ascii_lowercase(),
            path: self.path,
            operation_id: self.operation.words("operationId"),
        }
    }

    /// Returns the properties that a selector matches.
    pub(super) fn outline<'b>(&'b self, name: &'b str) -> OperationOutline<'b> {
        OperationOutline {
            names: [Some(name), self.operation.words("operationId")],
            tags: self
                .operation
                .get_or_nothing("tags")
                .items()
                .filter_map(|tag| tag.value.as_str())
                .collect(),
            method: self.method.as_str(),
            path: self.path,
        }
    }

    pub(super) fn read(
        &self,
        name: &str,
        settings: &ConversionSettings<'_>,
        schemas: &mut Schemas<'a>,
    ) -> Result<(Tool, Operation), Error> {
        if !self.operation.value.is_object() {
            return Err(Error::malformed(format!("`{} {}` is not an object", self.method, self.path)));
        }
        let spec = schemas.spec;
        let template = PathTemplate::parse(self.path)?;
        let files = if settings.has_workspace { AS_BASE64_OR_PATH } else { AS_BASE64 };
        let mut notes = Vec::new();
        let mut converter = Converter::new(schemas, Direction::Input);
        let OperationParameters { parameters, of_body } =
            self.parameters(&template, settings, &mut converter, &mut notes)?;
        let body = match self.operation.get("requestBody") {
            _ if spec.dialect == Dialect::Swagger20 => {
                swagger::body(&of_body, self.operation, files, &mut converter)?
            }
            Some(body) => BodyDraft::read(body, files, &mut converter)?,
            None => None,
        };
        let bound = arguments::bind(parameters, body);
        let exploded = bound.exploded();
        let Arguments { parameters, body, schema } = bound;
        let (definitions, of_schema) = converter.definitions()?;
        notes.extend(of_schema);
        let (schema, note) = schemas.fit(schema.into(), definitions);
        notes.extend(note);
        // The tool can be called anyway, so it is not rejected because of its result schema.
        let result = response::schema(self.operation, schemas).unwrap_or_else(|error| {
            let note = format!("the schema of the result is left out: {error}");
            ResultSchema { notes: vec![note], ..ResultSchema::default() }
        });
        notes.extend(result.notes);
        let (result, note) = schemas.fit(result.root, result.definitions);
        notes.extend(note.map(|note| format!("of the result, {note}")));
        let qualified = QualifiedName::new(settings.namespace, name)
            .map_err(|error| Error::malformed(format!("`{name}` cannot be the name of a tool: {error}")))?;
        let tool = self.describe(Tool::new(qualified), settings, schemas, notes)?;
        let mut tool = tool.with_parameters(schema).with_output_parameters(result);
        if !exploded.is_empty() {
            tool = tool.with_metadata(Tool::EXPLODED_ARGUMENTS, exploded);
        }
        let operation = Operation {
            method: self.method.clone(),
            path: template,
            parameters,
            body,
            server: self.server(spec, settings),
            idempotent: tool.traits().idempotent,
            accept: response::accept(self.operation, spec),
            credentials: settings.auth.credentials(self.security(spec).map(|node| node.value), &self.method),
            fingerprint: tool.fingerprint(),
        };
        Ok((tool, operation))
    }

    fn server(&self, spec: Spec<'a>, settings: &ConversionSettings<'_>) -> Result<url::Url, Error> {
        if spec.dialect == Dialect::Swagger20 {
            return settings.base.server([None, None, Some(&swagger::servers(spec, self.operation))]);
        }
        let [target, item] = self.levels.map(|level| level.get("servers"));
        let levels = [self.operation.get("servers"), item.or(target), spec.root().get("servers")];
        settings.base.server(levels.map(|servers| servers.map(|servers| servers.value)))
    }

    /// Returns the parameters of the operation, which take precedence, and of the path. Path parameters are exactly
    /// those that the path template contains.
    fn parameters(
        &self,
        template: &PathTemplate,
        settings: &ConversionSettings<'_>,
        converter: &mut Converter<'_, 'a>,
        notes: &mut Vec<String>,
    ) -> Result<OperationParameters<'a>, Error> {
        let (gathered, of_body) = self.declared_parameters(converter.spec(), settings, notes)?;
        let mut locations = template.parameters();
        let mut in_query = template.query_placeholders.clone();
        let mut parameters = Vec::new();
        for (identity @ (name, location), declared) in gathered {
            // A placeholder in the query of the path is a query parameter, regardless of its declaration.
            let is_there = |(_, wanted): &(String, String)| wanted == name;
            let key = in_query
                .iter()
                .position(is_there)
                .filter(|_| matches!(location, ParameterLocation::Path | ParameterLocation::Query));
            let identity = match key.map(|position| in_query.remove(position)) {
                Some((key, _)) if location == ParameterLocation::Path && !locations.contains(name) => {
                    let mut moved = parameter::read(declared, (name, ParameterLocation::Query), converter)?;
                    moved.name = key;
                    moved.required = true;
                    parameters.push(moved);
                    continue;
                }
                _ => identity,
            };
            if location == ParameterLocation::Path && !locations.remove(name) {
                notes.push(format!(
                    "the path parameter `{name}` is left out: the path has no placeholder for it"
                ));
                continue;
            }
            parameters.push(parameter::read(declared, identity, converter)?);
        }
        for name in locations {
            notes.push(format!("the path parameter `{name}` is not declared, and is treated as a string"));
            parameters.push(parameter::undeclared(name, ParameterLocation::Path));
        }
        for (key, _) in in_query {
            notes.push(format!("the query parameter `{key}` is not declared, and is treated as a string"));
            parameters.push(parameter::undeclared(&key, ParameterLocation::Query));
        }
        Ok(OperationParameters { parameters, of_body })
    }

    /// Returns the parameters that the path and the operation declare, each once, and those of the body in Swagger 2.0.
    fn declared_parameters(
        &self,
        spec: Spec<'a>,
        settings: &ConversionSettings<'_>,
        notes: &mut Vec<String>,
    ) -> Result<(Vec<DeclaredParameter<'a>>, Vec<Node<'a>>), Error> {
        let is_swagger = spec.dialect == Dialect::Swagger20;
        let mut of_body: Vec<Node<'a>> = Vec::new();
        let mut gathered: Vec<DeclaredParameter<'a>> = Vec::new();
        let mut positions: HashMap<(String, ParameterLocation), usize> = HashMap::new();
        let [target, item] = self.levels;
        // Without a `$ref` both levels are the same.
        let beside = Some(item).filter(|item| item.get("$ref").is_some());
        for level in [Some(target), beside, Some(self.operation)].into_iter().flatten() {
            for declared in level.get_or_nothing("parameters").items() {
                let declared = match spec.resolve(declared) {
                    Err(Error::DanglingReference { reference }) => {
                        notes.push(left_open(&reference));
                        continue;
                    }
                    declared => declared?,
                };
                if is_swagger && swagger::is_of_body(declared) {
                    let same = |other: &Node<'a>| {
                        other.text("in") == declared.text("in") && other.text("name") == declared.text("name")
                    };
                    match of_body.iter_mut().find(|other| same(other)) {
                        Some(earlier) => *earlier = declared,
                        None => of_body.push(declared),
                    }
                    continue;
                }
                let Some(identity) = parameter::identity(declared, settings.auth)? else { continue };
                let (name, location) = identity;
                // Header names are case-insensitive.
                let key = if location == ParameterLocation::Header {
                    name.to_ascii_lowercase()
                } else {
                    name.to_owned()
                };
                let position = *positions.entry((key, location)).or_insert(gathered.len());
                match gathered.get_mut(position) {
                    Some(earlier) => *earlier = (identity, declared),
                    None => gathered.push((identity, declared)),
                }
            }
        }
        Ok((gathered, of_body))
    }

    /// Returns the security requirements of the operation.
    fn security(&self, spec: Spec<'a>) -> Option<Node<'a>> {
        self.operation.get("security").or_else(|| spec.root().get("security"))
    }

    /// Adds the metadata of the tool.
    fn describe(
        &self,
        tool: Tool,
        settings: &ConversionSettings<'_>,
        schemas: &mut Schemas<'a>,
        notes: Vec<String>,
    ) -> Result<Tool, Error> {
        let description = match (self.operation.words("summary"), self.operation.words("description")) {
            (Some(summary), Some(description)) if !description.starts_with(summary) => {
                format!("{summary}\n\n{description}")
            }
            (_, Some(text)) | (Some(text), None) => text.to_owned(),
            (None, None) => format!("{} {}", self.method, self.path),
        };
        let description = plain_text(&description);
        let outline = self.outline(tool.name.name());
        let (risk, reason) = match settings.selection.risk(&outline) {
            Some(risk) => (risk, None),
            None => self.risk(tool.name.name()),
        };
        let is_idempotent = self.is_idempotent() || settings.selection.is_idempotent(&outline);
        let wanted = names::preferred_name(&self.identity());
        let renamed = (wanted != tool.name.name()).then_some(wanted);
        for node in ["summary", "description"].into_iter().filter_map(|key| self.operation.get(key)) {
            schemas.charge(node.value)?;
        }
        let mut tool = tool
            .with_description(description)
            .with_risk(risk)
            .with_metadata("source", settings.source)
            .with_metadata("method", self.method.as_str())
            .with_metadata("path", self.path)
            .with_metadata("idempotent", is_idempotent);
        if let Some(reason) = reason {
            tool = tool.with_metadata("risk_reason", reason);
        }
        if self.operation.is_set("deprecated") {
            tool = tool.with_metadata("deprecated", true);
        }
        let copied = [
            ("tags", self.operation.get("tags").filter(|tags| tags.value.is_array())),
            ("externalDocs", self.operation.get("externalDocs")),
            ("security", self.security(schemas.spec)),
        ];
        for (key, node) in copied {
            if let Some(node) = node {
                schemas.charge(node.value)?;
                tool = tool.with_metadata(key, node.value.clone());
            }
        }
        let mut notes = notes;
        if let Some(wanted) = renamed {
            notes.push(format!(
                "another operation is called `{wanted}` too, so this one has its method and path in its name"
            ));
            tool = tool.with_metadata("renamed_from", wanted);
        }
        if !notes.is_empty() {
            tool = tool.with_metadata("notes", notes);
        }
        Ok(tool)
    }

    /// Returns the risk according to the method and the words of the name and the path, and the reason if it is higher
    /// than that of the method.
    fn risk(&self, name: &str) -> (Risk, Option<String>) {
        let by_method = match self.method.as_str() {
            "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY" => Risk::Low,
            "DELETE" => return (Risk::High, None),
            _ => Risk::Medium,
        };
        let fixed = self.path.split('/').filter(|segment| !segment.contains(['{', '}']));
        let words: Vec<String> =
            words_of_name(name).into_iter().chain(fixed.flat_map(words_of_name)).collect();
        let Some(word) = Risk::of_words(&words).1 else { return (by_method, None) };
        // A method that reads should change nothing. If the words contradict it, the risk is raised to medium at most.
        let risk = if by_method == Risk::Low { Risk::Medium } else { Risk::High };
        (risk, Some(format!("the word `{word}` in its name or path")))
    }

    /// Returns true if the method is idempotent. `QUERY` has a body and changes nothing.
    fn is_idempotent(&self) -> bool {
        self.method.is_idempotent() || self.method.as_str() == "QUERY"
    }
}

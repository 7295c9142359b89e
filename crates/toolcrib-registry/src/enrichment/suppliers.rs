//! The dataflow between tools: results of tools that can be arguments of others.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use serde_json::Value;
use toolcrib_model::text::words_of_name;
use toolcrib_model::{QualifiedName, Tool};

use super::artifacts::Artifact;
use crate::{Artifacts, Enrichment, Snapshot};

/// The maximum number of suppliers of one argument, the best first.
const MAX_SUPPLIERS: usize = 5;

/// The maximum number of properties of one schema that are compared.
const MAX_PROPERTIES: usize = 200;

/// The type score of an integer and a number: one can hold most values of the other.
const NUMERIC_FACTOR: f64 = 0.8;

/// The name score of `id` in a result of `get_user` for an argument `user_id`.
const NOUN_FACTOR: f64 = 0.9;

/// Names that are too common to show the origin of a value by themselves. They count between tools of one namespace,
/// and with the noun of a tool before them, as in `user_id`.
const COMMON_NAMES: &[&str] = &[
    "body",
    "code",
    "comment",
    "content",
    "count",
    "cursor",
    "data",
    "date",
    "description",
    "enabled",
    "error",
    "filter",
    "format",
    "id",
    "index",
    "input",
    "items",
    "key",
    "kind",
    "label",
    "length",
    "limit",
    "message",
    "mode",
    "name",
    "note",
    "offset",
    "options",
    "order",
    "output",
    "page",
    "params",
    "path",
    "query",
    "reason",
    "result",
    "results",
    "size",
    "sort",
    "state",
    "status",
    "tags",
    "text",
    "time",
    "title",
    "total",
    "type",
    "url",
    "value",
    "values",
    "version",
];

/// A property of one tool's result that fits an argument of another tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Supplier {
    /// The tool whose result has the property.
    pub tool: QualifiedName,
    /// The property.
    pub output: String,
    /// The score, greater than 0 and at most 1: the match of the names times the match of the types.
    pub score: f64,
}

/// The suppliers of every argument.
#[derive(Clone, Debug, Default)]
pub struct Dataflow {
    suppliers: HashMap<QualifiedName, BTreeMap<String, Vec<Supplier>>>,
}

impl Dataflow {
    /// The key of the artifact.
    pub const KEY: &'static str = "dataflow";

    /// Returns the suppliers of a tool's arguments, by argument, the best first.
    pub fn suppliers(&self, tool: &QualifiedName) -> impl Iterator<Item = (&str, &[Supplier])> {
        let arguments = self.suppliers.get(tool).into_iter().flatten();
        arguments.map(|(argument, suppliers)| (argument.as_str(), suppliers.as_slice()))
    }

    /// Computes the edges between tools. The runtime's own tools, which forward the arguments of others or run the
    /// agent, have none. A property of a result fits an argument of another tool if their names are equal except for
    /// case and separators, or if the name of the argument is that of the property behind a noun of the supplying
    /// tool's name, and if their types match: equal types score 1.0, integer and number 0.8, two objects the share of
    /// properties that they have in common.
    pub fn between(tools: &Snapshot) -> Self {
        let outputs = outputs(tools);
        let mut dataflow = Self::default();
        for entry in tools.iter().filter(|entry| takes_part(&entry.tool)) {
            let name = &entry.tool.name;
            for (argument, schema) in properties(entry.tool.parameters.root()) {
                let is_common = COMMON_NAMES.contains(&normalized(argument).as_str());
                let mut best: Vec<(f64, &QualifiedName, &str)> = Vec::new();
                for output in outputs.get(&normalized(argument)).into_iter().flatten() {
                    let score = output.factor * type_factor(output.schema, schema);
                    let is_telling =
                        !is_common || output.factor < 1.0 || output.tool.namespace() == name.namespace();
                    if output.tool != name && is_telling && score > 0.0 {
                        best.push((score, output.tool, output.property));
                    }
                }
                if best.is_empty() {
                    continue;
                }
                best.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
                best.dedup_by(|a, b| (a.1, a.2) == (b.1, b.2));
                let suppliers = best.into_iter().take(MAX_SUPPLIERS).map(|(score, tool, output)| Supplier {
                    tool: tool.clone(),
                    output: output.to_owned(),
                    score,
                });
                let arguments = dataflow.suppliers.entry(name.clone()).or_default();
                arguments.entry(argument.to_owned()).or_insert_with(|| suppliers.collect());
            }
        }
        dataflow
    }
}

/// The [`Enrichment`] that computes a [`Dataflow`] under [`Dataflow::KEY`].
#[derive(Clone, Copy, Debug, Default)]
pub struct DataflowEnrichment;

#[async_trait]
impl Enrichment for DataflowEnrichment {
    fn key(&self) -> &str {
        Dataflow::KEY
    }

    async fn run(&self, tools: &Snapshot, _artifacts: &Artifacts) -> Result<Artifact, String> {
        Ok(Arc::new(Dataflow::between(tools)))
    }
}

/// Returns true if values flow through the tool. Discovery tools and operational tools work on other tools instead.
fn takes_part(tool: &Tool) -> bool {
    !tool.traits().operational && !tool.traits().discovery
}

struct Output<'a> {
    tool: &'a QualifiedName,
    property: &'a str,
    schema: &'a Value,
    factor: f64,
}

/// Returns the properties of all results by each normalized name of an argument that they fit.
fn outputs(tools: &Snapshot) -> HashMap<String, Vec<Output<'_>>> {
    let mut outputs: HashMap<String, Vec<Output<'_>>> = HashMap::new();
    for entry in tools.iter().filter(|entry| takes_part(&entry.tool)) {
        let tool = &entry.tool.name;
        for (property, schema) in properties(entry.tool.output_parameters.root()) {
            let name = normalized(property);
            for word in words_of_name(tool.name()) {
                let noun = format!("{word}{name}");
                outputs.entry(noun).or_default().push(Output { tool, property, schema, factor: NOUN_FACTOR });
            }
            outputs.entry(name).or_default().push(Output { tool, property, schema, factor: 1.0 });
        }
    }
    outputs
}

/// Returns the properties of an object; for a list of objects, those of its items.
fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let object = match schema.get("items") {
        Some(items) if schema.get("properties").is_none() => items,
        _ => schema,
    };
    let properties = object.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.take(MAX_PROPERTIES).map(|(name, schema)| (name.as_str(), schema))
}

/// Returns a name in lower case without separators.
fn normalized(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the score, from 0 to 1, of a value of one schema for an argument of another.
fn type_factor(given: &Value, wanted: &Value) -> f64 {
    let (Some(given_type), Some(wanted_type)) = (type_of(given), type_of(wanted)) else {
        // A schema without a type accepts anything, and produces values of an unknown type.
        return NUMERIC_FACTOR;
    };
    match (given_type, wanted_type) {
        ("object", "object") => shared(given, wanted),
        ("integer", "number") | ("number", "integer") => NUMERIC_FACTOR,
        (given, wanted) if given == wanted => 1.0,
        _ => 0.0,
    }
}

/// Returns the first type that is not null.
fn type_of(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(name) => Some(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        _ => None,
    }
}

/// Returns the share of all properties of two objects that both have; 1 if neither declares properties.
#[expect(clippy::cast_precision_loss, reason = "at most a few hundred properties")]
fn shared(given: &Value, wanted: &Value) -> f64 {
    let names = |schema| properties(schema).map(|(name, _)| normalized(name)).collect::<BTreeSet<_>>();
    let (given, wanted) = (names(given), names(wanted));
    match given.union(&wanted).count() {
        0 => 1.0,
        all => given.intersection(&wanted).count() as f64 / all as f64,
    }
}

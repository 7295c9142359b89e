//! The suppliers of arguments: results of tools that have a property of the same name.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use async_trait::async_trait;
use serde::Serialize;
use serde_json::Value;
use toolcrib_model::QualifiedName;
use toolcrib_model::text::words_of_name;

use super::enriched::Enriched;
use super::parameters::{is_common, normalized, properties, takes_part, type_of};
use crate::{Artifacts, Enrichment, Snapshot};

/// The maximum number of suppliers of one argument, the best first.
const MAX_SUPPLIERS: usize = 5;

/// The type score of an integer and a number: one can hold most values of the other.
const NUMERIC_FACTOR: f64 = 0.8;

/// The name score of `id` in a result of `get_user` for an argument `user_id`.
pub(super) const NOUN_FACTOR: f64 = 0.9;

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
pub struct Suppliers {
    by_tool: HashMap<QualifiedName, BTreeMap<String, Vec<Supplier>>>,
}

impl Suppliers {
    /// The key of the artifact.
    pub const KEY: &'static str = "suppliers";

    /// Returns the suppliers of a tool's arguments, by argument, the best first.
    pub fn of(&self, tool: &QualifiedName) -> impl Iterator<Item = (&str, &[Supplier])> {
        let arguments = self.by_tool.get(tool).into_iter().flatten();
        arguments.map(|(argument, suppliers)| (argument.as_str(), suppliers.as_slice()))
    }

    /// Computes the suppliers among these tools. The runtime's own tools, which forward the arguments of others or run the
    /// agent, have none. A property of a result fits an argument of another tool if their names are equal except for
    /// case and separators, or if the name of the argument is that of the property behind a noun of the supplying
    /// tool's name, and if their types match: equal types score 1.0, integer and number 0.8, two objects the share of
    /// properties that they have in common.
    pub fn of_tools(tools: &Snapshot) -> Self {
        let outputs = outputs(tools);
        let mut all = Self::default();
        for entry in tools.iter().filter(|entry| takes_part(&entry.tool)) {
            let name = &entry.tool.name;
            for (argument, schema) in properties(entry.tool.parameters.root()) {
                let is_common = is_common(&normalized(argument));
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
                let arguments = all.by_tool.entry(name.clone()).or_default();
                arguments.entry(argument.to_owned()).or_insert_with(|| suppliers.collect());
            }
        }
        all
    }
}

/// The [`Enrichment`] that computes the [`Suppliers`] under [`Suppliers::KEY`].
#[derive(Clone, Copy, Debug, Default)]
pub struct SuppliersEnrichment;

#[async_trait]
impl Enrichment for SuppliersEnrichment {
    fn key(&self) -> &str {
        Suppliers::KEY
    }

    async fn run(&self, tools: &Snapshot, _artifacts: &Artifacts) -> Result<Enriched, String> {
        Ok(Enriched::new(Suppliers::of_tools(tools)))
    }
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

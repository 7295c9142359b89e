//! One tool, told in full.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_model::{JsonObject, QualifiedName, Risk, Tool};
use toolcrib_policy::{Effect, Policy, Principal};
use toolcrib_registry::{Dataflow, Entry, Overloads, Snapshot, Supplier};

/// One tool, told in full.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolCard {
    /// `namespace.name`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its arguments and results; several when the name has overloads.
    pub forms: Vec<ToolForm>,
    /// Tags, aliases and whatever else the source says.
    #[serde(skip_serializing_if = "JsonObject::is_empty")]
    pub metadata: JsonObject,
    /// Where arguments can come from: for each, the results of other tools that fit it, as `namespace.name: property`,
    /// the best first.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub suppliers: BTreeMap<String, Vec<String>>,
}

/// One overload of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolForm {
    /// Its own description, where that is not the one of the card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    /// JSON Schema of the result, when it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_parameters: Option<Value>,
    /// How much harm a call can do.
    pub risk: Risk,
    /// What happens to a call: it runs, or somebody is asked first.
    pub policy: Effect,
    /// A call that is valid as it stands, ready to be filled in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example_call: Option<Value>,
    /// The patterns of `parameters` that no argument is checked against, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
}

impl ToolCard {
    /// The card of overloads that the caller may see; `None` when there are none.
    pub(crate) fn new(
        overloads: &Overloads<'_>,
        snapshot: &Snapshot,
        policy: &Policy,
        principal: Principal<'_>,
    ) -> Option<Self> {
        let tool = &overloads.first()?.tool;
        Some(Self {
            name: tool.name.dotted(),
            description: tool.description.clone(),
            forms: overloads.iter().map(|entry| ToolForm::new(entry, tool, policy, principal)).collect(),
            metadata: tool.metadata.clone(),
            suppliers: suppliers(&tool.name, snapshot, policy, principal),
        })
    }
}

/// What the dataflow says of a tool, as far as the supplying tools may be seen.
fn suppliers(
    name: &QualifiedName,
    snapshot: &Snapshot,
    policy: &Policy,
    principal: Principal<'_>,
) -> BTreeMap<String, Vec<String>> {
    let Some(dataflow) = snapshot.artifacts().get::<Dataflow>(Dataflow::KEY) else { return BTreeMap::new() };
    let is_visible = |supplier: &&Supplier| {
        let tools = snapshot.get(&supplier.tool);
        tools.is_some_and(|tools| tools.visible(|entry| policy.is_visible(&entry.tool, principal)).is_some())
    };
    let told = dataflow.suppliers(name).map(|(argument, suppliers)| {
        let visible = suppliers.iter().filter(is_visible);
        let told = visible.map(|supplier| format!("{}: {}", supplier.tool.dotted(), supplier.output));
        (argument.to_owned(), told.collect::<Vec<_>>())
    });
    told.filter(|(_, suppliers)| !suppliers.is_empty()).collect()
}

impl ToolForm {
    fn new(entry: &Entry, first: &Tool, policy: &Policy, principal: Principal<'_>) -> Self {
        let tool = &entry.tool;
        let is_known = tool.output_parameters.as_object().is_none_or(|map| !map.is_empty());
        Self {
            description: (tool.description != first.description).then(|| tool.description.clone()),
            parameters: tool.parameters.clone(),
            output_parameters: is_known.then(|| tool.output_parameters.clone()),
            risk: tool.risk(),
            policy: policy.decide(tool, principal).effect,
            example_call: entry
                .example_arguments()
                .map(|params| json!({"name": tool.name.dotted(), "params": params})),
            unchecked: entry.schema.unchecked().iter().map(ToString::to_string).collect(),
        }
    }
}

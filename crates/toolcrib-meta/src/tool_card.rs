//! Descriptions of single tools: complete for the operator, and limited to the needs of a call for a model.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_model::text::words_of_name;
use toolcrib_model::tool::view::View;
use toolcrib_model::{ErrorKind, JsonObject, QualifiedName, Risk, Schema, Tool, ToolError};
use toolcrib_policy::{Effect, Policy, Principal};
use toolcrib_registry::enrichment::{Supplier, Suppliers};
use toolcrib_registry::{Entry, Overloads, Snapshot};
use toolcrib_schema::typescript::{Declarations, Declared, declarations};

use crate::schema_view::{NoSuchPart, SchemaView, schema_view};
use crate::summary::cut;

/// The most bytes of the schemas of a tool that a model is shown at once, for all its forms together.
pub const MAX_SHOWN_BYTES: usize = 6 * 1024;

/// The minimum bytes of each form if there are many.
const MIN_FORM_BYTES: usize = 600;

/// The most forms of a tool that a model is shown.
const MAX_SHOWN_FORMS: usize = 10;

/// The most characters of a description that a model is shown.
const MAX_SHOWN_DESCRIPTION: usize = 4_000;

/// The most bytes of the metadata of a tool, and of an example, that a model is shown.
const MAX_METADATA_BYTES: usize = 4 * 1024;
const MAX_EXAMPLE_BYTES: usize = 1_000;

/// The key of declarations.
pub(crate) const TYPES: &str = "types";

/// The note for declarations that do not have all of the schemas.
pub(crate) const CUT_TYPES: &str =
    "parts are declared as unknown for their size: `get_tool` with `path` shows a part as JSON Schema";

/// The most names of schema parts that are listed if a path does not exist.
const MAX_LISTED_PARTS: usize = 20;

/// The minimum score of a supplier that is shown: the names agree, and so do the types.
const MIN_SUPPLIER_SCORE: f64 = 0.9;

/// Words in the names of arguments whose values never come from the results of a tool.
const SECRET_WORDS: [&str; 8] =
    ["auth", "authorization", "credential", "credentials", "key", "password", "secret", "token"];

/// Metadata that models do not need.
const INTERNAL_METADATA: [&str; 8] =
    ["source", "security", "externalDocs", "notes", "risk", "risk_reason", "examples", Tool::PROTOCOL_META];

/// A section of a tool's description that a model sees on request only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolDetail {
    /// The schema of its result.
    Output,
    /// The tools whose results supply its arguments.
    Suppliers,
    /// Its tags, aliases, risk and other metadata of its source.
    Metadata,
}

/// The complete description of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolCard {
    /// `namespace.name`.
    pub name: String,
    /// The description.
    pub description: String,
    /// Its arguments and results; several when the name has overloads.
    pub forms: Vec<ToolForm>,
    /// Tags, aliases and other metadata of the source.
    #[serde(skip_serializing_if = "JsonObject::is_empty")]
    pub metadata: JsonObject,
    /// The suppliers of each argument: the results of other tools that fit it, as `namespace.name: property`, the best
    /// first.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub suppliers: BTreeMap<String, Vec<String>>,
}

/// One overload of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolForm {
    /// The description of the overload, if it differs from that of the card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The original tools, as `namespace.name`, if the tool is a shape of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shape_of: Vec<String>,
    /// JSON Schema of the arguments.
    pub parameters: Schema,
    /// JSON Schema of the result, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_parameters: Option<Schema>,
    /// The risk of a call.
    pub risk: Risk,
    /// The decision of the policy: a call runs, or needs approval first.
    pub policy: Effect,
    /// An example call with valid arguments, to be adapted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example_call: Option<Value>,
    /// The patterns of `parameters` that are not checked, with the reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
}

impl ToolCard {
    /// Returns the card of the overloads that the caller may see; `None` if there are no such overloads.
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
            metadata: tool.metadata().clone(),
            suppliers: suppliers(&tool.name, snapshot, policy, principal),
        })
    }
}

/// Returns the suppliers of a tool's arguments among the tools that the caller may see.
fn suppliers(
    name: &QualifiedName,
    snapshot: &Snapshot,
    policy: &Policy,
    principal: Principal<'_>,
) -> BTreeMap<String, Vec<String>> {
    let Some(known) = snapshot.artifacts().get::<Suppliers>(Suppliers::KEY) else { return BTreeMap::new() };
    let is_visible = |supplier: &&Supplier| {
        let tools = snapshot.get(&supplier.tool);
        tools.is_some_and(|tools| tools.visible(|entry| policy.is_visible(&entry.tool, principal)).is_some())
    };
    let told = known.of(name).filter(|(argument, _)| is_specific(argument)).map(|(argument, suppliers)| {
        let is_evident = |supplier: &&Supplier| {
            supplier.tool.namespace() == name.namespace() && supplier.score >= MIN_SUPPLIER_SCORE
        };
        let visible = suppliers.iter().filter(is_evident).filter(is_visible);
        let told = visible.map(|supplier| format!("{}: {}", supplier.tool.dotted(), supplier.output));
        (argument.to_owned(), told.collect::<Vec<_>>())
    });
    told.filter(|(_, suppliers)| !suppliers.is_empty()).collect()
}

/// Returns true if the name of an argument names its subject, as `order_id` does, and does not denote a secret.
fn is_specific(argument: &str) -> bool {
    let words = words_of_name(argument);
    words.len() > 1 && !words.iter().any(|word| SECRET_WORDS.contains(&word.as_str()))
}

/// Returns the answer of `get_tool`: description and parameters, and the sections in `include`. A `path` selects one
/// part of the parameters, or of the result if `include` has it.
pub(crate) fn for_model(
    overloads: &Overloads<'_>,
    path: &str,
    include: &[ToolDetail],
    snapshot: &Snapshot,
    policy: &Policy,
    principal: Principal<'_>,
) -> Result<JsonObject, ToolError> {
    let mut told = JsonObject::new();
    let count = overloads.iter().count();
    let room = (MAX_SHOWN_BYTES / count.clamp(1, MAX_SHOWN_FORMS)).max(MIN_FORM_BYTES);
    let forms =
        overloads.iter().take(MAX_SHOWN_FORMS).map(|entry| FormForModel::new(entry, path, include, room));
    let forms: Vec<Result<FormForModel, NoSuchPart>> = forms.collect();
    let mut missing = None;
    let mut found = Vec::new();
    for form in forms {
        match form {
            Ok(form) => found.push(form),
            Err(error) => missing = missing.or(Some(error)),
        }
    }
    let (Some(entry), Some(form)) = (overloads.first(), found.first()) else {
        return Err(missing
            .map_or_else(|| ToolError::new(ErrorKind::UnknownTool, "there is no such tool"), no_such_part));
    };
    let tool = &entry.tool;
    told.insert("name".into(), tool.name.shown().into());
    if !path.is_empty() {
        told.insert("path".into(), path.into());
    }
    let is_cut = found.iter().any(|form| form.is_cut);
    if count == 1 {
        told.extend(form.told.clone());
    } else {
        told.insert("forms".into(), found.into_iter().map(|form| Value::Object(form.told)).collect());
        if count > MAX_SHOWN_FORMS {
            told.insert("more_forms".into(), (count - MAX_SHOWN_FORMS).into());
        }
    }
    if is_cut {
        let note = "parts with `open` are not shown: give their path as `path` to see them";
        told.insert("note".into(), note.into());
    }
    if path.is_empty() {
        told.extend(cautions(tool, policy, principal));
    }
    if include.contains(&ToolDetail::Suppliers) {
        told.insert("suppliers".into(), json!(suppliers(&tool.name, snapshot, policy, principal)));
    }
    if include.contains(&ToolDetail::Metadata) {
        told.insert("metadata".into(), metadata(tool).into());
    }
    Ok(told)
}

/// Returns the facts that matter before a call: that it needs approval or is risky, and that the tool is deprecated.
fn cautions(tool: &Tool, policy: &Policy, principal: Principal<'_>) -> JsonObject {
    let mut told = JsonObject::new();
    if policy.decide(tool, principal).effect == Effect::Approve {
        told.insert("asks".into(), "the user approves each call".into());
    } else if tool.traits().risk == Risk::High {
        told.insert("risk".into(), json!(Risk::High));
    }
    if tool.traits().deprecated {
        told.insert("deprecated".into(), true.into());
    }
    told
}

/// Returns the answer of `get_tool` for a script: the declaration of the tool with all its forms.
pub(crate) fn as_types(
    overloads: &Overloads<'_>,
    policy: &Policy,
    principal: Principal<'_>,
) -> Result<JsonObject, ToolError> {
    let no_such_tool = || ToolError::new(ErrorKind::UnknownTool, "there is no such tool");
    let tool = &overloads.first().ok_or_else(no_such_tool)?.tool;
    let count = overloads.iter().count();
    let room = (MAX_SHOWN_BYTES / count.clamp(1, MAX_SHOWN_FORMS)).max(MIN_FORM_BYTES);
    let forms = overloads.iter().take(MAX_SHOWN_FORMS).map(|entry| Declared::from(entry.tool.as_ref()));
    let Declarations { text, is_cut } = declarations(&forms.collect::<Vec<_>>(), room);
    let mut told = JsonObject::from_iter([
        ("name".to_owned(), tool.name.shown().into()),
        (TYPES.to_owned(), text.into()),
    ]);
    if count > MAX_SHOWN_FORMS {
        told.insert("more_forms".into(), (count - MAX_SHOWN_FORMS).into());
    }
    if is_cut {
        told.insert("note".into(), CUT_TYPES.into());
    }
    told.extend(cautions(tool, policy, principal));
    Ok(told)
}

/// Returns the metadata of a tool that are useful to a model, within the bound.
fn metadata(tool: &Tool) -> JsonObject {
    let mut told = JsonObject::from_iter([("risk".to_owned(), json!(tool.traits().risk))]);
    let mut left = MAX_METADATA_BYTES;
    for (key, value) in tool.metadata() {
        if INTERNAL_METADATA.contains(&key.as_str()) || key.ends_with("_digest") {
            continue;
        }
        if let Some(rest) = left.checked_sub(key.len() + value.to_string().len()) {
            left = rest;
            told.insert(key.clone(), value.clone());
        }
    }
    told
}

fn no_such_part(error: NoSuchPart) -> ToolError {
    let NoSuchPart { segment, parent, known } = error;
    let place = if parent.is_empty() { "the parameters".to_owned() } else { format!("`{parent}`") };
    let message = format!("there is no part `{}` in {place}", cut(&segment, 60));
    let mut names: Vec<String> =
        known.iter().take(MAX_LISTED_PARTS).map(|name| format!("`{name}`")).collect();
    if known.len() > MAX_LISTED_PARTS {
        names.push(format!("{} more", known.len() - MAX_LISTED_PARTS));
    }
    let hint = match names.as_slice() {
        [] => format!("{place} has no parts to open"),
        names => format!("its parts are: {}", names.join(", ")),
    };
    ToolError::new(ErrorKind::InvalidArgs, message).with_hint(hint)
}

/// An overload of a tool, as a model sees it.
struct FormForModel {
    told: JsonObject,
    is_cut: bool,
}

impl FormForModel {
    fn new(entry: &Entry, path: &str, include: &[ToolDetail], room: usize) -> Result<Self, NoSuchPart> {
        let tool = entry.tool.as_ref();
        let has_output = include.contains(&ToolDetail::Output);
        let mut told = JsonObject::new();
        let mut is_cut = false;
        if path.is_empty() {
            told.insert("description".into(), cut(tool.description.trim(), MAX_SHOWN_DESCRIPTION).into());
        }
        if path.is_empty() || !has_output {
            let SchemaView { mut schema, is_cut: is_part } = schema_view(&tool.parameters, path, room)?;
            is_cut |= is_part;
            // Arguments are always an object.
            if let Some(map) =
                schema.as_object_mut().filter(|map| path.is_empty() && map.contains_key("properties"))
            {
                map.shift_remove("type");
            }
            told.insert("parameters".into(), schema);
        }
        if has_output {
            let SchemaView { schema, is_cut: is_part } = schema_view(&tool.output_parameters, path, room)?;
            is_cut |= is_part;
            told.insert("output".into(), schema);
        }
        let mut examples =
            tool.examples().iter().filter(|example| path.is_empty() && entry.schema.accepts(example));
        if let Some(example) = examples.find(|one| one.to_string().len() <= MAX_EXAMPLE_BYTES) {
            told.insert("example".into(), example.clone());
        }
        Ok(Self { told, is_cut })
    }
}

impl ToolForm {
    fn new(entry: &Entry, first: &Tool, policy: &Policy, principal: Principal<'_>) -> Self {
        let tool = &entry.tool;
        let is_known = tool.output_parameters.as_object().is_none_or(|map| !map.is_empty());
        Self {
            description: (tool.description != first.description).then(|| tool.description.clone()),
            shape_of: tool.view().into_iter().flat_map(View::original_names).collect(),
            parameters: tool.parameters.clone(),
            output_parameters: is_known.then(|| tool.output_parameters.clone()),
            risk: tool.traits().risk,
            policy: policy.decide(tool, principal).effect,
            example_call: entry
                .example_arguments()
                .map(|params| json!({"name": tool.name.shown(), "params": params})),
            unchecked: entry.schema.unchecked().iter().map(ToString::to_string).collect(),
        }
    }
}

//! The definition of a view: its name, texts, risk, and argument schema.

use serde_json::{Value, json};
use toolcrib_model::tool::view::{AddedValue, CallerAttribute, MappedParameter, ValueOrigin};
use toolcrib_model::{JsonObject, QualifiedName, Schema, Tool};

use super::narrow::{ParameterCheck, narrowed};
use super::{Definition, MIN_SIMILARITY, ParameterShape};

/// Keywords of an argument schema that relate several parameters to each other. A parameter of such a schema can be
/// described and narrowed, but neither renamed nor hidden: the relation might then depend on it.
const RELATIONS: [&str; 16] = [
    "$ref",
    "allOf",
    "anyOf",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "maxProperties",
    "minProperties",
    "not",
    "oneOf",
    "patternProperties",
    "propertyNames",
    "then",
    "unevaluatedProperties",
];

/// The metadata of examples, whose arguments are those of the original tool.
const EXAMPLES: &str = "examples";

/// The definition of a view, with the parameters of the original tool that differ.
pub(super) struct Shaped {
    pub(super) tool: Tool,
    pub(super) parameters: Vec<MappedParameter>,
}

/// Returns the definition of a view of a tool. The error says why the shape does not fit.
pub(super) fn shaped(
    original: &Tool,
    name: &QualifiedName,
    definition: &Definition,
) -> Result<Shaped, String> {
    let mut tool = original.clone();
    tool.name = name.clone();
    if let Some(description) = &definition.description {
        tool = tool.with_description(description.clone());
    }
    if let Some(risk) = definition.risk {
        let own = original.traits().risk;
        if risk < own {
            return Err(format!(
                "`risk: {}` is lower than `{}`, the risk of the tool; a shape can only raise it",
                risk.as_str(),
                own.as_str()
            ));
        }
        tool = tool.with_risk(risk);
    }
    if definition.parameters.is_empty() {
        return Ok(Shaped { tool, parameters: Vec::new() });
    }
    let (schema, parameters) = shaped_schema(original, definition)?;
    tool.change_metadata(|metadata| {
        metadata.shift_remove(EXAMPLES);
        rename_exploded(metadata, &parameters);
    });
    Ok(Shaped { tool: tool.with_parameters(schema), parameters })
}

fn shaped_schema(original: &Tool, definition: &Definition) -> Result<(Schema, Vec<MappedParameter>), String> {
    let schema = &original.parameters;
    let (Some(root), Some(properties)) =
        (schema.as_object(), schema.get("properties").and_then(Value::as_object))
    else {
        return Err("the schema of its arguments has no `properties`, so they cannot be shaped".into());
    };
    if let Some(unknown) = definition.parameters.keys().find(|name| !properties.contains_key(*name)) {
        return Err(unknown_parameter(unknown, original));
    }
    let relation = RELATIONS.iter().find(|keyword| root.contains_key(**keyword));
    let required = root.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
    let (mut shown, mut mapped) = (JsonObject::new(), Vec::new());
    let mut optional: Vec<&str> = Vec::new();
    for (name, property) in properties {
        let Some(shape) = definition.parameters.get(name) else {
            insert(&mut shown, name, property.clone())?;
            continue;
        };
        let value = added_value(shape)?;
        let changes_names = shape.is_hidden() || shape.name.is_some() || value.is_some();
        if let Some(keyword) = relation.filter(|_| changes_names) {
            return Err(format!(
                "`{keyword}` relates the arguments to each other, so `{name}` can neither be renamed, nor hidden, nor \
                 get a value"
            ));
        }
        let check = ParameterCheck::new(schema, name);
        if let Some(AddedValue { origin: ValueOrigin::Setting(value), .. }) = &value
            && !check.accepts(property, value)?
        {
            return Err(format!("the tool does not accept {value} as `{name}`"));
        }
        if shape.is_hidden() && value.is_none() && is_required(name) {
            return Err(format!("`{name}` is required, and hidden without a value; add `value` or `from`"));
        }
        if value.is_some() {
            optional.push(name);
        }
        let shown_name = shape.name.as_ref().unwrap_or(name);
        if !shape.is_hidden() {
            let narrow = narrowed(property, shape, &check, name)?;
            if let Some(default) = shape.default.as_ref()
                && !check.accepts(&narrow, default)?
            {
                return Err(format!("the default {default} of `{name}` lies outside of its bounds"));
            }
            insert(&mut shown, shown_name, narrow)?;
        }
        if changes_names {
            let shown = (!shape.is_hidden()).then(|| shown_name.clone());
            mapped.push(MappedParameter { name: name.clone(), shown, value });
        }
    }
    let mut keywords = root.clone();
    keywords.insert("properties".into(), shown.into());
    if let Some(required) = required {
        let shown = |name: &str| {
            let mapping = mapped.iter().find(|mapping| mapping.name == name);
            mapping.map_or(Some(name.to_owned()), |mapping| mapping.shown.clone())
        };
        let required = required.iter().filter_map(Value::as_str).filter(|name| !optional.contains(name));
        let required: Vec<Value> = required.filter_map(|name| Some(shown(name)?.into())).collect();
        keywords.insert("required".into(), required.into());
    }
    // An argument under a hidden name would be dropped without a word.
    let is_open = matches!(keywords.get("additionalProperties"), None | Some(Value::Bool(true)));
    if is_open && mapped.iter().any(|mapping| mapping.shown.as_ref() != Some(&mapping.name)) {
        keywords.insert("additionalProperties".into(), json!(false));
    }
    Ok((Schema::new(keywords, schema.definitions().to_vec()), mapped))
}

fn insert(properties: &mut JsonObject, name: &str, schema: Value) -> Result<(), String> {
    match properties.insert(name.to_owned(), schema) {
        None => Ok(()),
        Some(_) => Err(format!("two parameters have the name `{name}`")),
    }
}

/// Returns the value that a shape adds.
fn added_value(shape: &ParameterShape) -> Result<Option<AddedValue>, String> {
    let ParameterShape { value, from, default, default_from, .. } = shape;
    let is_fixed = value.is_some() || from.is_some();
    let setting = value.as_ref().or(default.as_ref()).map(|value| ValueOrigin::Setting(value.clone()));
    let caller = from.as_ref().or(default_from.as_ref()).map(|text| CallerAttribute::parse(text));
    let origin = match (setting, caller) {
        (Some(setting), _) => setting,
        (None, Some(attribute)) => ValueOrigin::Caller(attribute?),
        (None, None) => return Ok(None),
    };
    Ok(Some(AddedValue { origin, is_fixed }))
}

fn unknown_parameter(name: &str, tool: &Tool) -> String {
    let similar = tool
        .parameter_names()
        .map(|known| (strsim::jaro_winkler(known, name), known))
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    let tool_name = tool.name.dotted();
    if let Some((_, known)) = similar {
        return format!("`{tool_name}` has no parameter `{name}`, did you mean `{known}`?");
    }
    let known: Vec<_> = tool.parameter_names().collect();
    format!("`{tool_name}` has no parameter `{name}`, there is: {}", known.join(", "))
}

/// Renames the arguments whose members are sent as separate arguments.
fn rename_exploded(metadata: &mut JsonObject, mapped: &[MappedParameter]) {
    let Some(names) = metadata.get_mut(Tool::EXPLODED_ARGUMENTS).and_then(Value::as_array_mut) else {
        return;
    };
    for name in names {
        let mapping = mapped.iter().find(|mapping| Some(mapping.name.as_str()) == name.as_str());
        if let Some(shown) = mapping.and_then(|mapping| mapping.shown.as_ref()) {
            *name = shown.clone().into();
        }
    }
}

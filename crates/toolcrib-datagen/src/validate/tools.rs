//! Calls against the schemas of the offered tools.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use toolcrib_schema::{CompiledSchema, ViolationKind};

use super::finding::{Finding, Location, Reason};
use crate::conversation::{Call, ConversationTool};

/// The offered tools of a conversation.
pub(super) struct OfferedTools<'a> {
    overloads: HashMap<String, Vec<Overload<'a>>>,
    /// The names of the arguments of all tools.
    argument_names: HashSet<&'a str>,
}

struct Overload<'a> {
    tool: &'a ConversationTool,
    /// `None` if the schema does not compile; every argument is accepted then.
    schema: Option<CompiledSchema>,
}

impl<'a> OfferedTools<'a> {
    pub(super) fn new(tools: &'a [ConversationTool]) -> Self {
        let mut overloads: HashMap<String, Vec<Overload<'a>>> = HashMap::new();
        let mut argument_names = HashSet::new();
        for tool in tools {
            let properties = tool.parameters.get("properties").and_then(Value::as_object);
            argument_names.extend(properties.into_iter().flat_map(|map| map.keys()).map(String::as_str));
            let schema = CompiledSchema::compile(&tool.parameters).ok();
            overloads.entry(tool.name.to_string()).or_default().push(Overload { tool, schema });
        }
        Self { overloads, argument_names }
    }

    /// Returns the descriptions of the tools.
    pub(super) fn descriptions(&self) -> impl Iterator<Item = &'a str> {
        self.overloads.values().flatten().map(|overload| overload.tool.description.as_str())
    }

    /// Returns the findings about the name and the arguments of a call, against the overload that fits best.
    pub(super) fn check(&self, call: &Call, location: &Location) -> Vec<Finding> {
        let Some(overloads) = self.overloads.get(&call.name) else {
            let detail = format!("`{}` was not offered", call.name);
            return vec![Finding::new(Reason::UnknownTool, location.clone(), detail)];
        };
        if !call.arguments.is_object() {
            return Vec::new();
        }
        let checked = overloads.iter().map(|overload| self.violations(overload, call, location));
        checked.min_by_key(Vec::len).unwrap_or_default()
    }

    fn violations(&self, overload: &Overload<'_>, call: &Call, location: &Location) -> Vec<Finding> {
        let Some(schema) = &overload.schema else { return Vec::new() };
        let Err(violations) = schema.validate(&call.arguments) else { return Vec::new() };
        let findings = violations.iter().map(|violation| {
            let reason = match violation.kind {
                ViolationKind::Missing => Reason::MissingArgument,
                ViolationKind::Unknown if self.is_known(&violation.path) => Reason::ExtraArgument,
                ViolationKind::Unknown => Reason::HallucinatedArgument,
                _ => Reason::SchemaViolation,
            };
            Finding::new(reason, location.at(&violation.path), violation.message.clone())
        });
        findings.collect()
    }

    /// Returns true if any tool has an argument of the name that a pointer ends with.
    fn is_known(&self, pointer: &str) -> bool {
        let name = pointer.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
        self.argument_names.contains(name.as_str())
    }

    /// Returns true if a schema of the tool lists the value: as an alternative, a constant, a default or an example.
    pub(super) fn lists(&self, tool: &str, pointer: &str, value: &Value) -> bool {
        let overloads = self.overloads.get(tool).into_iter().flatten();
        overloads.into_iter().any(|overload| {
            let root = &overload.tool.parameters;
            part(root, pointer).is_some_and(|part| lists(root, part, value, 0))
        })
    }
}

/// The maximum depth of references and compositions that are followed to find a listed value.
const MAX_DEPTH: usize = 16;

/// Returns the part of a schema that a pointer into a value belongs to, through `properties`, `items` and `$ref`.
fn part<'a>(root: &'a Value, pointer: &str) -> Option<&'a Value> {
    let mut schema = resolved(root, root);
    for name in pointer.split('/').skip(1) {
        let name = name.replace("~1", "/").replace("~0", "~");
        let property = schema.get("properties").and_then(|properties| properties.get(&name));
        schema = resolved(root, property.or_else(|| schema.get("items"))?);
    }
    Some(schema)
}

/// Follows the references at the root of a schema.
pub(crate) fn resolved<'a>(root: &'a Value, mut schema: &'a Value) -> &'a Value {
    for _ in 0..MAX_DEPTH {
        let target = schema.get("$ref").and_then(Value::as_str);
        match target.and_then(|target| root.pointer(target.strip_prefix('#')?)) {
            Some(next) => schema = next,
            None => break,
        }
    }
    schema
}

fn lists(root: &Value, schema: &Value, value: &Value, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    let schema = resolved(root, schema);
    let has = |keyword: &str| {
        schema.get(keyword).and_then(Value::as_array).is_some_and(|values| values.contains(value))
    };
    has("enum")
        || has("examples")
        || schema.get("const") == Some(value)
        || schema.get("default") == Some(value)
        || ["anyOf", "oneOf", "allOf"].iter().any(|keyword| {
            let parts = schema.get(*keyword).and_then(Value::as_array);
            parts.is_some_and(|parts| parts.iter().any(|part| lists(root, part, value, depth + 1)))
        })
}

//! The JSON Schema of an app file, for editors and for programs that write app files.

pub(crate) mod module_schema;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use toolcrib_exec::flow::SourceLimits;

use crate::sections::enrichments::TYPES;
use crate::sections::module_entry::ModuleConfig;
use crate::{AppConfig, Extensions};

/// The keyword of schemas that others refer to.
const DEFINITIONS: &str = "$defs";

impl Extensions {
    /// Returns the JSON Schema (draft 2020-12) of an app file that names these modules, loaders and engines. What it
    /// refuses, an app refuses too; it knows the `config` of each module, and of loaders and engines their `type`.
    /// Variables are texts to it, as they are in the file.
    pub fn app_schema(&self) -> Value {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let configs: Vec<(String, Value)> = self
            .module_configs()
            .map(|(id, config)| (id.to_owned(), config(&mut generator).to_value()))
            .collect();
        let limits = generator.subschema_for::<SourceLimits>().to_value();
        // So that it is among the definitions, from which the entries of the modules are made.
        generator.subschema_for::<ModuleConfig>();
        let mut schema = generator.into_root_schema_for::<AppConfig>().to_value();
        let entry = definition(&mut schema, "ModuleConfig").map(std::mem::take).unwrap_or_default();
        if let Some(definitions) = schema.get_mut(DEFINITIONS).and_then(Value::as_object_mut) {
            definitions.shift_remove("ModuleConfig");
        }
        let modules: Map<String, Value> =
            configs.into_iter().map(|(id, config)| (id, module_entry(entry.clone(), &config))).collect();
        if let Some(property) = schema.pointer_mut("/properties/modules").and_then(Value::as_object_mut) {
            property.insert("properties".into(), modules.into());
            property.insert("additionalProperties".into(), false.into());
        }
        if let Some(tools) = definition(&mut schema, "ToolsSection") {
            if let Some(items) = tools.pointer_mut("/properties/registry/items") {
                let engine = json!({"type": "string", "description": "One of `tools.engines`."});
                *items = typed(self.loaders(), json!({"engine": engine, "limits": limits}));
            }
            if let Some(items) = tools.pointer_mut("/properties/enrichments/items") {
                *items = typed(TYPES.into_iter().chain(self.enrichment_types()), json!({}));
            }
            if let Some(entries) = tools.pointer_mut("/properties/engines/additionalProperties") {
                *entries = typed(self.engines(), json!({}));
            }
        }
        if let Some(root) = schema.as_object_mut() {
            root.insert("title".into(), "app.yaml".into());
        }
        tidy(&mut schema);
        schema
    }
}

fn definition<'a>(schema: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    schema.get_mut(DEFINITIONS)?.get_mut(name)
}

/// Returns an entry of `modules`, whose `config` is that of one module. Nothing said is an empty mapping.
fn module_entry(mut entry: Value, config: &Value) -> Value {
    if let Some(property) = entry.pointer_mut("/properties/config") {
        let description = property.get("description").cloned();
        *property = json!({"anyOf": [config, {"type": "null"}]});
        if let (Some(property), Some(description)) = (property.as_object_mut(), description) {
            property.insert("description".into(), description);
        }
    }
    entry
}

/// Returns an entry that is told from others by its `type`.
fn typed<'a>(types: impl Iterator<Item = &'a str>, mut properties: Value) -> Value {
    if let Some(properties) = properties.as_object_mut() {
        properties.insert("type".into(), json!({"enum": types.collect::<Vec<_>>()}));
    }
    json!({"type": "object", "properties": properties, "required": ["type"]})
}

/// Takes out what is for readers of Rust: the formats of its numbers, and links to its items.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let is_number = |map: &Map<String, Value>| {
                ["integer", "number"].iter().any(|name| match map.get("type") {
                    Some(Value::String(own)) => own == name,
                    Some(Value::Array(own)) => own.iter().any(|own| own == name),
                    _ => false,
                })
            };
            if is_number(map) {
                map.shift_remove("format");
            }
            if let Some(Value::String(text)) = map.get_mut("description") {
                *text = without_links(text);
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Returns a text in which ``[`NAME`](path)`` and ``[`NAME`]`` are `` `NAME` ``.
fn without_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("[`") {
        plain.push_str(before);
        let Some((name, behind)) = link.split_once("`]") else {
            plain.push_str("[`");
            rest = link;
            continue;
        };
        plain.push('`');
        plain.push_str(name);
        plain.push('`');
        rest = match behind.strip_prefix('(').and_then(|target| target.split_once(')')) {
            Some((_, behind)) => behind,
            None => behind,
        };
    }
    plain.push_str(rest);
    plain
}

//! Every OpenAPI document of a collection, when there is one: `TOOLCRIB_SHARED` names the folder that has
//! `data/openapi/index.json`.

use std::collections::HashSet;
use std::path::PathBuf;

use serde_json::Value;
use toolcrib_port::ToolLoader;
use toolcrib_schema::CompiledSchema;

use crate::RestSource;

#[tokio::test]
async fn every_operation_of_a_real_document_becomes_a_tool_whose_schemas_compile() {
    let Some(shared) = std::env::var_os("TOOLCRIB_SHARED") else { return };
    let folder = PathBuf::from(shared).join("data/openapi");
    let index: Vec<Value> =
        serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap();
    let mut problems = Vec::new();
    for entry in &index {
        let file = entry["file"].as_str().unwrap();
        let (source, _) = RestSource::new(folder.join(file).to_str().unwrap(), "api").open().unwrap();
        let loaded = source.load().await;
        problems.extend(loaded.rejected.iter().map(ToString::to_string));
        if loaded.tools.len() as u64 != entry["operations"].as_u64().unwrap() {
            problems.push(format!(
                "{file}: {} tools, but {} operations",
                loaded.tools.len(),
                entry["operations"]
            ));
        }
        let names: HashSet<_> = loaded.tools.iter().map(|tool| &tool.name).collect();
        assert_eq!(names.len(), loaded.tools.len(), "{file}");
        for tool in &loaded.tools {
            for (which, schema) in [("parameters", &tool.parameters), ("output", &tool.output_parameters)] {
                let schema = schema.to_value();
                if let Err(error) = CompiledSchema::compile(&schema) {
                    problems.push(format!("{file}: {which} of {}: {error}", tool.name));
                }
                for reference in dangling(&schema) {
                    problems.push(format!("{file}: {which} of {}: {reference} leads nowhere", tool.name));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(!index.is_empty());
}

/// The references of a schema that point to nothing in it.
fn dangling(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![schema];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(reference)) = map.get("$ref")
                    && reference.strip_prefix('#').and_then(|pointer| schema.pointer(pointer)).is_none()
                {
                    found.push(reference.clone());
                }
                pending.extend(map.values());
            }
            Value::Array(items) => pending.extend(items),
            _ => {}
        }
    }
    found
}

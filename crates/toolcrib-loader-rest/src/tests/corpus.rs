//! Every OpenAPI 3.x document of a collection, when there is one: `TOOLCRIB_SHARED` names the folder that has
//! `data/openapi/index.json`.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use toolcrib_port::ToolLoader;
use toolcrib_schema::CompiledSchema;

use crate::RestSource;

/// More than any document may take, on a slow machine and without optimisation.
const MAX_LOAD: Duration = Duration::from_secs(30);

#[tokio::test]
async fn every_operation_of_a_real_document_becomes_a_tool_whose_schemas_compile() {
    let Some(folder) =
        std::env::var_os("TOOLCRIB_SHARED").map(|shared| PathBuf::from(shared).join("data/openapi"))
    else {
        println!("left out: TOOLCRIB_SHARED is not set");
        return;
    };
    let index: Vec<Value> =
        serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap();
    let mut problems = Vec::new();
    let (mut documents, mut operations, mut noted, mut slowest) = (0, 0, 0, Duration::ZERO);
    for entry in index.iter().filter(|entry| entry["version"].as_str().unwrap().starts_with('3')) {
        let file = entry["file"].as_str().unwrap();
        let (source, _) = RestSource::new(folder.join(file).to_str().unwrap(), "api").open().unwrap();
        let began = Instant::now();
        let loaded = source.load().await;
        slowest = slowest.max(began.elapsed());
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
                if let Err(error) = CompiledSchema::compile(schema) {
                    problems.push(format!("{file}: {which} of {}: {error}", tool.name));
                }
            }
            if let Some(notes) = tool.metadata.get("notes") {
                println!("{file}: {}: {notes}", tool.name.name());
                noted += 1;
            }
        }
        documents += 1;
        operations += loaded.tools.len();
    }
    println!(
        "{documents} documents, {operations} operations, all loaded; {noted} with notes; slowest {slowest:?}"
    );
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(documents > 0);
    assert!(slowest < MAX_LOAD);
}

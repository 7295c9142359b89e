//! The samplers over the tools of labelled sets and of OpenAPI documents. `TOOLCRIB_SHARED` names the folder that has them.

use std::path::PathBuf;

use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use toolcrib_loader_rest::RestSource;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_port::ToolLoader as _;

use super::{ALL, Strategy, World, any, scores};
use crate::seed::Random;

/// The labelled sets, and the number of their tools.
const SETS: [&str; 4] = ["metatool", "seal_tools", "stabletoolbench", "bfcl"];
const TOOLS: usize = 8_618;

/// The number of operations of the OpenAPI documents.
const OPERATIONS: usize = 1_918;

/// The samples of each kind.
const CASES: u32 = 60;

fn folder(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("TOOLCRIB_SHARED").map(PathBuf::from);
    if shared.is_none() {
        println!("left out: TOOLCRIB_SHARED is not set");
    }
    shared.map(|shared| shared.join("data").join(name))
}

fn read(path: PathBuf) -> Vec<Value> {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Checks samples, most of which exist.
fn check(world: &World) {
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(CASES) });
    let found = std::cell::Cell::new(0);
    let requests = (2_usize..6, any::<u64>(), scores());
    let checked = runner.run(&requests.no_shrink(), |(count, seed, min_score)| {
        found.set(found.get() + world.check(count, seed, min_score)?);
        Ok(())
    });
    checked.unwrap();
    let requested = world.samplers.len() * CASES as usize;
    assert!(found.get() * 4 > requested * 3, "{} of {requested} samples were found", found.get());
}

#[test]
fn samples_of_the_labelled_sets_keep_their_promises() {
    let Some(folder) = folder("retrieval") else { return };
    let definitions: Vec<Value> =
        SETS.iter().flat_map(|set| read(folder.join(set).join("tools.json"))).collect();
    let mut random = Random::new(1);
    // The sets have no results: each gets one of two arguments of other tools.
    let mut argument = || {
        let number = random.below(definitions.len());
        let schema = definitions[number].pointer("/parameters/properties")?.as_object()?;
        schema.iter().nth(random.below(schema.len().max(1)))
    };
    let tools = definitions.iter().map(|definition| {
        let text = |key: &str| definition[key].as_str().unwrap_or_default();
        let output: Map<String, Value> =
            (0..2).filter_map(|_| argument()).map(|(name, schema)| (name.clone(), schema.clone())).collect();
        Tool::new(QualifiedName::new(text("namespace"), text("name")).unwrap())
            .with_description(text("description"))
            .with_parameters(definition["parameters"].clone())
            .with_output_parameters(json!({"type": "object", "properties": output}))
    });
    let world = World::new(tools.collect(), &["random", "chain", "fan_out", "fan_in", "dag", "sparse"]);
    assert_eq!(world.snapshot.all().len() + world.snapshot.rejected().len(), TOOLS);
    check(&world);
}

#[tokio::test]
async fn samples_of_open_api_operations_keep_their_promises() {
    let Some(folder) = folder("openapi") else { return };
    let mut tools = Vec::new();
    for (number, entry) in read(folder.join("index.json")).iter().enumerate() {
        let file = folder.join(entry["file"].as_str().unwrap());
        let (source, _) = RestSource::new(file.to_str().unwrap(), format!("api_{number}")).open().unwrap();
        tools.extend(source.load().await.tools);
    }
    assert_eq!(tools.len(), OPERATIONS);
    // It has a runtime of its own.
    tokio::task::spawn_blocking(move || check(&World::new(tools, &ALL))).await.unwrap();
}

//! The cost in tokens of every tool of the data sets, in a list and in full.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_loader_rest::RestSource;
use toolcrib_meta::{Discovery, MAX_SHOWN_BYTES};
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_policy::{Policy, Principal};
use toolcrib_port::ToolLoader;
use toolcrib_registry::ToolRegistry;

use super::search_cost::Selected;
use super::{count, text};
use crate::support::shared;

/// The labelled sets.
const SETS: [&str; 4] = ["metatool", "seal_tools", "stabletoolbench", "bfcl"];

/// The tools of the labelled sets, at least.
const LABELLED: usize = 8_600;

/// The categories whose signatures are counted, about.
const CATEGORIES: usize = 60;

/// The operations of the documents, at least.
const OPERATIONS: usize = 1_900;

/// The tokens of `get_tool`: the median, and the most of nine in ten tools.
const MEDIAN_LOOK: u64 = 90;
const P90_LOOK: u64 = 460;

/// The most tokens of a signature with its description.
const MAX_SIGNATURE: u64 = 220;

/// Returns the tools of the labelled sets.
pub(crate) fn labelled(shared: &Path) -> Vec<Tool> {
    let sets = SETS.into_iter().flat_map(|set| {
        let file = shared.join("data/retrieval").join(set).join("tools.json");
        let tools: Vec<Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        tools
    });
    let tool = |tool: Value| {
        let name = QualifiedName::new(text(&tool["namespace"]), text(&tool["name"])).unwrap();
        let description = tool["description"].as_str().unwrap_or_default();
        Tool::new(name).with_description(description).with_parameters(tool["parameters"].clone())
    };
    sets.map(tool).collect()
}

/// Returns the namespace of a document: the API that it describes, as people call it.
fn namespace(file: &str, number: usize) -> String {
    let part = |text: &str| text.split(['_', '.']).next().unwrap_or_default().to_owned();
    if let Some((_, group)) = file.split_once("_apis_") {
        return format!("k8s_{}", part(group));
    }
    if let Some((_, product)) = file.split_once("_json_twilio_") {
        return format!("twilio_{}", product.trim_end_matches(".json"));
    }
    format!("api_{number}")
}

/// Returns the tools of those documents whose file names hold one of these words, each document in a namespace of its own.
pub(crate) async fn operations(shared: &Path, words: &[&str]) -> Vec<Tool> {
    let folder = shared.join("data/openapi");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut tools = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if name == "index.json" || !(words.is_empty() || words.iter().any(|word| name.contains(word))) {
            continue;
        }
        let source = RestSource::new(&file.to_string_lossy(), namespace(&name, number));
        let source = source.with_base_url("https://api.example/");
        // Some of the documents are broken on purpose.
        let Ok((loader, _engine)) = source.open() else { continue };
        tools.extend(loader.load().await.tools);
    }
    tools
}

pub(crate) async fn discovery(tools: Vec<Tool>) -> (Arc<ToolRegistry>, Discovery) {
    let capabilities = serde_json::from_value(json!({"default_policy": "grant"})).unwrap();
    let policy = Arc::new(Policy::new(&capabilities, []).unwrap());
    let registry = Arc::new(ToolRegistry::new());
    registry.add_loader(Arc::new(Selected(tools)));
    registry.refresh().await.unwrap();
    let discovery = Discovery::new(&registry, policy);
    (registry, discovery)
}

#[tokio::test]
async fn every_tool_of_the_data_costs_no_more_than_its_bounds_and_none_is_cut_in_the_middle() {
    let Some(shared) = shared() else { return };
    let (labelled, documents) = (labelled(&shared), operations(&shared, &[]).await);
    assert!(labelled.len() >= LABELLED, "{}", labelled.len());
    assert!(documents.len() >= OPERATIONS, "{}", documents.len());
    let (mut looks, mut signatures) = costs("labelled", labelled).await;
    let of_documents = costs("documents", documents).await;
    looks.extend(of_documents.0);
    signatures.extend(of_documents.1);
    let [middle, most, ..] = shares("all looks", &mut looks);
    assert!(middle <= MEDIAN_LOOK && most <= P90_LOOK, "{middle} {most}");
    let [.., longest] = shares("all signatures", &mut signatures);
    assert!(longest <= MAX_SIGNATURE, "{longest}");
}

/// Returns what looking at each tool costs, and what the signatures of some of them do.
async fn costs(what: &str, tools: Vec<Tool>) -> (Vec<u64>, Vec<u64>) {
    let (registry, discovery) = discovery(tools).await;
    let snapshot = registry.snapshot();
    let (mut looks, mut signatures, mut with_paths) = (Vec::new(), Vec::new(), 0);
    for name in snapshot.tool_names() {
        let shown = discovery.tool_for_model(&name.to_string(), "", &[], Principal::new("s")).unwrap();
        let bytes = shown.get("parameters").map_or(0, |schema| schema.to_string().len());
        assert!(bytes <= MAX_SHOWN_BYTES, "{name}: {bytes}");
        with_paths += usize::from(shown.contains_key("note"));
        looks.push(count(&Value::Object(shown).to_string()));
    }
    let categories = discovery.categories(Principal::new("s")).unwrap();
    for category in categories.iter().step_by(categories.len().div_ceil(CATEGORIES)) {
        let (_, page) = discovery.browse(&category.category, 1, 50, Principal::new("s")).unwrap();
        signatures.extend(page.items.iter().map(|line| count(line)));
    }
    eprintln!("{what}: {with_paths} with parts to open");
    shares(&format!("{what}, a look"), &mut looks);
    shares(&format!("{what}, a signature"), &mut signatures);
    (looks, signatures)
}

/// Returns what half, nine in ten, 99 in a hundred and all cost at most.
fn shares(what: &str, costs: &mut [u64]) -> [u64; 4] {
    costs.sort_unstable();
    let shares = [50, 90, 99, 100].map(|percent| costs[(costs.len() - 1) * percent / 100]);
    eprintln!("{what}: {shares:?} at 50, 90, 99 and 100 % of {}", costs.len());
    shares
}

//! Tools and queries.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_bench::catalogue;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_search::SearchIndex;
use toolcrib_search::embedding::{BuiltinEmbedder, Embeddings};

const SETS: [&str; 4] = ["metatool", "seal_tools", "stabletoolbench", "bfcl"];

/// How many queries of each set are asked.
const QUERIES_OF_A_SET: usize = 250;

/// So many tools.
pub(crate) fn tools(count: usize) -> Result<Vec<Arc<Tool>>, Box<dyn Error>> {
    let mut definitions = Vec::new();
    match std::env::var_os("TOOLCRIB_SHARED") {
        Some(shared) => {
            for set in SETS {
                let path = Path::new(&shared).join("data/retrieval").join(set).join("tools.json");
                definitions.extend(serde_json::from_slice::<Vec<Value>>(&fs::read(path)?)?);
            }
            // So that a few are of all sets.
            let stride = 5_003;
            let many = definitions.len();
            definitions = (0..many)
                .filter_map(|place| definitions.get(place * stride % many.max(1)).cloned())
                .collect();
        }
        None => definitions = catalogue::tools(count),
    }
    let tool = |number: usize| -> Result<Arc<Tool>, Box<dyn Error>> {
        let definition = definitions.get(number % definitions.len().max(1)).ok_or("there are no tools")?;
        let copy = number / definitions.len().max(1);
        let text = |key: &str| definition.get(key).and_then(Value::as_str).unwrap_or_default();
        let name = match copy {
            0 => text("name").to_owned(),
            _ => format!("{}_{copy}", text("name")),
        };
        let tool = Tool::new(QualifiedName::new(text("namespace"), &name)?)
            .with_description(text("description"))
            .with_parameters(definition.get("parameters").cloned().unwrap_or_default());
        Ok(Arc::new(tool))
    };
    (0..count).map(tool).collect()
}

/// What people ask for.
pub(crate) fn queries() -> Result<Vec<String>, Box<dyn Error>> {
    let Some(shared) = std::env::var_os("TOOLCRIB_SHARED") else {
        let text =
            |tool: Value| tool.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        return Ok(catalogue::tools(QUERIES_OF_A_SET).into_iter().map(text).collect());
    };
    let mut queries = Vec::new();
    for set in SETS {
        let path = Path::new(&shared).join("data/retrieval").join(set).join("queries.jsonl");
        for line in fs::read_to_string(path)?.lines().take(QUERIES_OF_A_SET) {
            let line: Value = serde_json::from_str(line)?;
            queries.extend(line.get("query").and_then(Value::as_str).map(str::to_owned));
        }
    }
    Ok(queries)
}

/// An index with vectors.
pub(crate) fn index(tools: &[Arc<Tool>]) -> Result<SearchIndex, Box<dyn Error>> {
    let embeddings = Embeddings::of_tools(Arc::new(BuiltinEmbedder::new()?), tools);
    let index = SearchIndex::build(tools.iter().map(AsRef::as_ref))?;
    tokio::runtime::Builder::new_current_thread().build()?.block_on(embeddings.finished());
    index.attach(embeddings.vectors().ok_or("there are no vectors")?);
    Ok(index)
}

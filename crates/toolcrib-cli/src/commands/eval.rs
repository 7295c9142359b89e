//! `toolcrib eval`.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};
use toolcrib_io::files::read_bounded;
use toolcrib_model::Tool;
use toolcrib_search::embedding::{BuiltinEmbedder, Embedder, Embeddings};
use toolcrib_search::evaluation::{LabelledQuery, evaluate};
use toolcrib_search::{Ranking, SearchIndex, SearchSettings};

use crate::arguments::Eval;
use crate::exit::{Exit, Failure};
use crate::output;

/// The most bytes of a file of tools or queries.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

pub(crate) async fn run(arguments: &Eval, json: bool) -> Result<Exit, Failure> {
    let tools = tools(&arguments.tools)?;
    let queries = queries(&arguments.queries)?;
    let ranking = if arguments.weighted { Ranking::Weighted } else { Ranking::Fused };
    let settings = SearchSettings { ranking, ..SearchSettings::default() };
    let start = Instant::now();
    let failed = |error: &dyn std::error::Error| Failure::new(Exit::Failed, error.to_string());
    let index = SearchIndex::build_with(tools.iter().map(AsRef::as_ref), &settings)
        .map_err(|error| failed(&error))?;
    if !arguments.keyword {
        let embedder: Arc<dyn Embedder> = Arc::new(BuiltinEmbedder::new().map_err(|error| failed(&error))?);
        let embeddings = Embeddings::of_tools(embedder, &tools);
        embeddings.finished().await;
        if let Some(error) = embeddings.degraded() {
            output::tell(&format!("warning: search by meaning is degraded: {error}"));
        }
        if let Some(vectors) = embeddings.vectors() {
            index.attach(vectors);
        }
    }
    let index_ms = start.elapsed().as_secs_f64() * 1000.0;
    let report = evaluate(&index, &queries);
    let engine = index.model().map_or_else(|| "keyword".to_owned(), |model| format!("hybrid {model}"));
    let mut told =
        Map::from_iter([("tools".to_owned(), json!(index.len())), ("engine".to_owned(), json!(engine))]);
    if let Ok(Value::Object(figures)) = serde_json::to_value(&report) {
        told.extend(figures);
    }
    told.insert("index_ms".to_owned(), json!(index_ms));
    if json {
        output::json(&told);
    } else {
        for (key, value) in &told {
            output::say(&format!("{key:16} {value}"));
        }
    }
    Ok(Exit::Ok)
}

fn tools(path: &Path) -> Result<Vec<Arc<Tool>>, Failure> {
    let tools: Vec<Tool> = serde_json::from_slice(&read(path)?).map_err(|error| {
        Failure::bad_input(format!("{}:{}:{}: {error}", path.display(), error.line(), error.column()))
    })?;
    Ok(tools.into_iter().map(Arc::new).collect())
}

fn queries(path: &Path) -> Result<Vec<LabelledQuery>, Failure> {
    let text = read(path)?;
    let text = String::from_utf8_lossy(&text);
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|error| {
                Failure::bad_input(format!("{}:{number}:{}: {error}", path.display(), error.column()))
            })
        })
        .collect()
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    read_bounded(path, MAX_FILE_BYTES)
        .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))
}

//! `toolcrib eval`.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use toolcrib_app::sections::search::{SearchTier, open_model};
use toolcrib_document::without_byte_order_mark;
use toolcrib_io::files::read_bounded;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_search::embedding::{BuiltinEmbedder, Embedder, Embeddings};
use toolcrib_search::evaluation::{LabelledQuery, evaluate};
use toolcrib_search::{SearchIndex, SearchSettings};

use crate::arguments::{Eval, Ranking, Tier};
use crate::exit::{Exit, Failure};
use crate::ui::output;

/// The most bytes of a file of tools or queries.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

pub(crate) async fn run(arguments: &Eval, json: bool) -> Result<Exit, Failure> {
    let tools = tools(&arguments.tools)?;
    let queries = queries(&arguments.queries)?;
    if queries.is_empty() {
        let message = format!("{}: there is no query in it", arguments.queries.display());
        return Err(Failure::bad_input(message));
    }
    tell_unknown(&queries, &tools);
    let ranking = match arguments.ranking {
        Ranking::Fused => toolcrib_search::Ranking::Fused,
        Ranking::Weighted => toolcrib_search::Ranking::Weighted,
    };
    let mut settings = SearchSettings::default();
    settings.ranking = ranking;
    let embedder = embedder(arguments)?;
    let start = Instant::now();
    let index = SearchIndex::build_with(tools.iter().map(AsRef::as_ref), &settings)
        .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    if let Some(embedder) = embedder {
        let embeddings = Embeddings::of_tools(embedder, &tools);
        embeddings.finished().await;
        if let Some(error) = embeddings.degraded() {
            output::tell(&format!("warning: semantic search is degraded: {error}"));
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
            let label = key.trim_end_matches("_ms");
            output::say(&format!("{label:16} {}", told_figure(key, value)));
        }
    }
    Ok(Exit::Ok)
}

/// Returns the embedder. A requested embedder that is not available is a failure, or figures of another tier would be
/// reported.
fn embedder(arguments: &Eval) -> Result<Option<Arc<dyn Embedder>>, Failure> {
    let (model, folder) = (arguments.model.as_deref(), arguments.model_dir.as_deref());
    let takes_model = matches!(arguments.tier, Tier::Model | Tier::Fastembed);
    if !takes_model && (model.is_some() || folder.is_some()) {
        let flag = if model.is_some() { "--model" } else { "--model-dir" };
        return Err(Failure::bad_input(format!(
            "{flag}: only `--tier model` and `--tier fastembed` take a model; add one, or leave {flag} out"
        )));
    }
    let opened = match arguments.tier {
        Tier::Keyword => return Ok(None),
        Tier::Builtin => BuiltinEmbedder::new().map(|embedder| Arc::new(embedder) as Arc<dyn Embedder>),
        Tier::Model => open_model(SearchTier::Model, model, folder),
        Tier::Fastembed => open_model(SearchTier::Fastembed, model, folder),
    };
    opened.map(Some).map_err(|error| Failure::new(Exit::Failed, error.to_string()))
}

fn tools(path: &Path) -> Result<Vec<Arc<Tool>>, Failure> {
    let tools: Vec<Tool> =
        serde_json::from_slice(without_byte_order_mark(&read(path)?)).map_err(|error| {
            let message = without_place(&error);
            Failure::bad_input(format!("{}:{}:{}: {message}", path.display(), error.line(), error.column()))
        })?;
    Ok(tools.into_iter().map(Arc::new).collect())
}

fn queries(path: &Path) -> Result<Vec<LabelledQuery>, Failure> {
    let text = read(path)?;
    let text = String::from_utf8_lossy(without_byte_order_mark(&text));
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            let wrong = |column: usize, message: &str| {
                Failure::bad_input(format!("{}:{number}:{column}: {message}", path.display()))
            };
            let query: Line =
                serde_json::from_str(line).map_err(|error| wrong(error.column(), &without_place(&error)))?;
            // A misspelt key would pass for a query that nothing answers.
            if query.relevant.is_none() && query.relevant_any.is_none() {
                return Err(wrong(
                    1,
                    "there is neither `relevant` nor `relevant_any`; write `\"relevant\": []` for a query that nothing \
                     answers",
                ));
            }
            serde_json::from_str(line).map_err(|error| wrong(error.column(), &without_place(&error)))
        })
        .collect()
}

/// Returns an error without its place, which is said before it, and where a line is read by itself is another.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or_else(|| text.clone(), |(message, _)| message.to_owned())
}

/// The keys of a line.
#[derive(Deserialize)]
struct Line {
    relevant: Option<IgnoredAny>,
    relevant_any: Option<IgnoredAny>,
}

/// Says which labels no tool has: such a query cannot be answered, and the figures say less than they seem to.
fn tell_unknown(queries: &[LabelledQuery], tools: &[Arc<Tool>]) {
    let known: HashSet<&QualifiedName> = tools.iter().map(|tool| &tool.name).collect();
    let needed = queries.iter().flat_map(|query| query.needed.iter().flatten());
    let unknown: BTreeSet<String> =
        needed.filter(|name| !known.contains(name)).map(ToString::to_string).collect();
    let Some(first) = unknown.first() else { return };
    output::tell(&format!(
        "warning: relevant names that no tool has: {}, such as {first}; their queries cannot be answered",
        unknown.len()
    ));
}

/// Returns a figure as people read it: shares in percent, times in milliseconds.
fn told_figure(key: &str, value: &Value) -> String {
    match value {
        Value::Number(number) if key.contains('@') || key == "abstained" => {
            format!("{:.1} %", number.as_f64().unwrap_or_default() * 100.0)
        }
        Value::Number(number) if key.ends_with("_ms") => {
            format!("{:.1} ms", number.as_f64().unwrap_or_default())
        }
        Value::Object(times) => {
            let times = times
                .iter()
                .map(|(name, time)| format!("{name} {:.3} ms", time.as_f64().unwrap_or_default()));
            times.collect::<Vec<_>>().join(", ")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    read_bounded(path, MAX_FILE_BYTES)
        .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))
}

//! How well the keyword arm ranks real labelled queries. Runs where `TOOLCRIB_SHARED` names the folder that holds
//! `data/retrieval`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use toolcrib_model::Tool;

use crate::evaluation::{LabelledQuery, ndcg_at};
use crate::limits::MAX_LIMIT;
use crate::text::compact;
use crate::{SearchIndex, SearchOptions};

/// How many queries of a set are asked.
const SAMPLE: usize = 300;
/// How far a sample of that size may fall short of the figure, in points of NDCG@10: about one standard error.
const TOLERANCE: f64 = 2.0;

/// NDCG@10 in percent that plain BM25 with a tokenizer for code reaches on the whole set.
const BASELINES: [(&str, f64); 4] =
    [("metatool", 55.7), ("seal_tools", 86.3), ("stabletoolbench", 66.8), ("bfcl", 72.5)];

#[test]
fn ranking_beats_plain_bm25_on_real_queries() {
    let Some(shared) = std::env::var_os("TOOLCRIB_SHARED") else {
        println!("left out: TOOLCRIB_SHARED is not set");
        return;
    };
    for (set, baseline) in BASELINES {
        let folder = Path::new(&shared).join("data/retrieval").join(set);
        let (index, tools) = load(&folder);
        let ndcg = 100.0 * mean_ndcg(&index, &folder);
        println!("{set}: NDCG@10 {ndcg:.1}, plain BM25 {baseline}");
        assert!(ndcg > baseline - TOLERANCE, "{set}: {ndcg:.1} is below {baseline}");
        every_name_is_found(&index, &tools);
    }
}

fn load(folder: &Path) -> (SearchIndex, Vec<Tool>) {
    let tools: Vec<Tool> = serde_json::from_slice(&fs::read(folder.join("tools.json")).unwrap()).unwrap();
    (SearchIndex::build(&tools).unwrap(), tools)
}

fn mean_ndcg(index: &SearchIndex, folder: &Path) -> f64 {
    let text = fs::read_to_string(folder.join("queries.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let step = lines.len().div_ceil(SAMPLE).max(1);
    let (mut sum, mut count) = (0.0, 0.0);
    for line in lines.iter().step_by(step) {
        let labelled: LabelledQuery = serde_json::from_str(line).unwrap();
        let outcome = index.search(&labelled.query, &SearchOptions { limit: 10, ..SearchOptions::default() });
        let ranked: Vec<_> = outcome.hits.into_iter().map(|hit| hit.name).collect();
        sum += ndcg_at(10, &ranked, &labelled.needed);
        count += 1.0;
    }
    sum / count
}

#[cfg(feature = "fastembed")]
#[tokio::test]
async fn a_sentence_transformer_ranks_real_queries_better_than_words_alone() {
    use std::sync::Arc;

    use crate::embedding::{Embeddings, FastEmbedder};

    /// How many points of NDCG@10 it has to gain; on this sample it gains eight.
    const GAIN: f64 = 5.0;

    let (Some(shared), Some(_)) = (std::env::var_os("TOOLCRIB_SHARED"), std::env::var_os("ORT_DYLIB_PATH"))
    else {
        println!("left out: TOOLCRIB_SHARED or ORT_DYLIB_PATH is not set");
        return;
    };
    let (data, model) = ("data/retrieval/metatool", "models/all-MiniLM-L6-v2-onnx-int8");
    let folder = Path::new(&shared).join(data);
    let (index, tools) = load(&folder);
    let words = 100.0 * mean_ndcg(&index, &folder);
    let embedder = Arc::new(FastEmbedder::open(Path::new(&shared).join(model), None).unwrap());
    let embeddings = Embeddings::of_tools(embedder, &tools.into_iter().map(Arc::new).collect::<Vec<_>>());
    embeddings.finished().await;
    index.attach(embeddings.vectors().unwrap());
    let both = 100.0 * mean_ndcg(&index, &folder);
    assert!(both > words + GAIN, "{both:.1} with the transformer, {words:.1} with words alone");
}

/// Every spelling of every name puts its tool first, unless more tools have that name than an answer holds.
fn every_name_is_found(index: &SearchIndex, tools: &[Tool]) {
    let mut bearers: HashMap<String, usize> = HashMap::new();
    for tool in tools {
        *bearers.entry(compact(tool.name.name())).or_default() += 1;
    }
    for (number, tool) in tools.iter().enumerate() {
        let (namespace, name) = (tool.name.namespace(), tool.name.name());
        let mut spellings = vec![tool.name.to_string(), tool.name.dotted(), format!("{namespace}__{name}")];
        if bearers.get(&compact(name)).is_some_and(|bearers| *bearers <= MAX_LIMIT) {
            spellings.push(name.to_owned());
        }
        for spelling in spellings {
            let mut queries = vec![format!("first use {spelling}, then stop")];
            if number % 10 == 0 {
                queries.extend([spelling.clone(), format!("`{spelling}` with my data")]);
            }
            for query in queries {
                let outcome =
                    index.search(&query, &SearchOptions { limit: MAX_LIMIT, ..SearchOptions::default() });
                let is_first =
                    outcome.hits.iter().take_while(|hit| hit.explain.exact).any(|hit| hit.name == tool.name);
                assert!(is_first, "{query}: {outcome:?}");
            }
        }
    }
}

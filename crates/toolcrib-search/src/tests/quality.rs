//! How well the keyword arm ranks real labelled queries. Runs where `TOOLCRIB_SHARED` names the folder that holds
//! `data/retrieval`.

use std::fs;
use std::path::Path;

use toolcrib_model::Tool;

use crate::evaluation::{LabelledQuery, ndcg_at};
use crate::{SearchIndex, SearchOptions};

/// How many queries of a set are asked.
const SAMPLE: usize = 300;
/// How far a sample of that size may fall short of the figure, in points of NDCG@10: about one standard error.
const TOLERANCE: f64 = 2.0;

/// NDCG@10 in percent that plain BM25 with a tokenizer for code reaches on the whole set.
const BASELINES: [(&str, f64); 2] = [("metatool", 55.7), ("bfcl", 72.5)];

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
        let outcome = index.search(&labelled.query, &SearchOptions { limit: 10, filter: None });
        let ranked: Vec<_> = outcome.hits.into_iter().map(|hit| hit.name).collect();
        sum += ndcg_at(10, &ranked, &labelled.needed);
        count += 1.0;
    }
    sum / count
}

fn every_name_is_found(index: &SearchIndex, tools: &[Tool]) {
    for tool in tools.iter().step_by(10) {
        let (namespace, name) = (tool.name.namespace(), tool.name.name());
        for spelling in
            [tool.name.to_string(), tool.name.dotted(), format!("{namespace}__{name}"), name.to_owned()]
        {
            for query in [
                spelling.clone(),
                format!("`{spelling}` with my data"),
                format!("first use {spelling}, then stop"),
            ] {
                let outcome = index.search(&query, &SearchOptions::default());
                let is_first =
                    outcome.hits.iter().take_while(|hit| hit.explain.exact).any(|hit| hit.name == tool.name);
                assert!(is_first, "{query}: {outcome:?}");
            }
        }
    }
}

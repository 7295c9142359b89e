//! Tools and queries in Chinese: `chinese.tsv`, written for this test.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use toolcrib_model::Tool;

use super::tool;
use crate::embedding::{BuiltinEmbedder, Embeddings};
use crate::evaluation::ndcg_at;
use crate::{SearchIndex, SearchOptions};

/// How many tools of a ranking are judged.
const DEPTH: usize = 10;

/// A tool, its text, and a query for it.
struct Line {
    tool: Arc<Tool>,
    text: String,
    query: &'static str,
}

fn lines() -> Vec<Line> {
    let lines = include_str!("chinese.tsv").lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let [namespace, name, description, query] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let tool = Arc::new(tool(&format!("{namespace}::{name}"), description));
            Line { tool, text: format!("{namespace} {name} {description}"), query }
        })
        .collect()
}

/// The mean NDCG of a ranking, in percent.
fn ndcg(lines: &[Line], rank: impl Fn(&str) -> Vec<String>) -> f64 {
    let gains =
        lines.iter().map(|line| ndcg_at(DEPTH, &rank(line.query), &[vec![line.tool.name.to_string()]]));
    let count = f64::from(u32::try_from(lines.len()).unwrap());
    100.0 * gains.sum::<f64>() / count
}

fn found(index: &SearchIndex, query: &str) -> Vec<String> {
    let outcome = index.search(query, &SearchOptions { limit: DEPTH, ..SearchOptions::default() });
    outcome.hits.iter().map(|hit| hit.name.to_string()).collect()
}

/// Plain BM25 (k1 1.2, b 0.75) over the terms that a tokenizer makes.
fn bm25(lines: &[Line], query: &str, terms: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
    let documents: Vec<Vec<String>> = lines.iter().map(|line| terms(&line.text)).collect();
    let mut uses: HashMap<&str, f64> = HashMap::new();
    for document in &documents {
        for term in document.iter().map(String::as_str).collect::<HashSet<_>>() {
            *uses.entry(term).or_default() += 1.0;
        }
    }
    let length = |document: &Vec<String>| f64::from(u32::try_from(document.len()).unwrap());
    let count = length(&lines.iter().map(|line| line.text.clone()).collect());
    let average = documents.iter().map(length).sum::<f64>() / count;
    let asked: HashSet<String> = terms(query).into_iter().collect();
    let mut ranked: Vec<(f64, String)> = Vec::new();
    for (line, document) in lines.iter().zip(&documents) {
        let score = asked.iter().map(|term| {
            let times = length(&document.iter().filter(|other| *other == term).cloned().collect());
            let with = uses.get(term.as_str()).copied().unwrap_or_default();
            let rarity = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
            rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length(document) / average))
        });
        let score = score.sum::<f64>();
        if score > 0.0 {
            ranked.push((score, line.tool.name.to_string()));
        }
    }
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    ranked.into_iter().map(|(_, name)| name).collect()
}

/// The terms of a tokenizer that knows no Chinese: runs of letters and digits, in lower case.
fn default_terms(text: &str) -> Vec<String> {
    let runs = text.split(|character: char| !character.is_alphanumeric());
    runs.filter(|run| !run.is_empty()).map(str::to_lowercase).collect()
}

fn pairs(text: &str) -> Vec<String> {
    default_terms(text)
        .iter()
        .flat_map(|run| {
            let chars: Vec<char> = run.chars().collect();
            chars.windows(2).map(|pair| pair.iter().collect()).collect::<Vec<String>>()
        })
        .collect()
}

#[tokio::test]
async fn chinese_queries_find_chinese_tools_at_least_as_well_as_pairs_do() {
    let lines = lines();
    assert!(lines.len() >= 60);
    let index = SearchIndex::build(lines.iter().map(|line| line.tool.as_ref())).unwrap();
    let words = ndcg(&lines, |query| found(&index, query));
    let by_default = ndcg(&lines, |query| bm25(&lines, query, &default_terms));
    let by_pairs = ndcg(&lines, |query| bm25(&lines, query, &pairs));

    let tools: Vec<Arc<Tool>> = lines.iter().map(|line| Arc::clone(&line.tool)).collect();
    let embeddings = Embeddings::of_tools(Arc::new(BuiltinEmbedder::new().unwrap()), &tools);
    embeddings.finished().await;
    index.attach(embeddings.vectors().unwrap());
    let both = ndcg(&lines, |query| found(&index, query));

    let figures = format!("default {by_default:.1}, pairs {by_pairs:.1}, words {words:.1}, both {both:.1}");
    assert!(words >= by_pairs && by_pairs > by_default, "{figures}");
    // A model of English has nothing to say here, and says nothing.
    assert!(both >= words, "{figures}");
    assert!(words > 95.0, "{figures}");
}

#[test]
fn a_chinese_query_for_nothing_that_is_there_says_so() {
    let lines = lines();
    let index = SearchIndex::build(lines.iter().take(3).map(|line| line.tool.as_ref())).unwrap();
    let outcome = index.search("股票", &SearchOptions::default());
    assert!(outcome.no_match.is_some(), "{outcome:?}");
}

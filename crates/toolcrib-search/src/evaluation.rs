//! Evaluation of search quality: [`evaluate`] runs every query of a labelled set and reports the measures.
//!
//! A query needs a list of groups. The members of a group are interchangeable, and a group counts once, at its
//! best-ranked member. Gains are binary.

use std::collections::HashSet;
use std::hash::Hash;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use toolcrib_model::QualifiedName;

use crate::{SearchIndex, SearchOptions};

/// The number of hits of each query that are evaluated.
const DEPTH: usize = 10;

/// A query with the tools that answer it: one line of a labelled set.
///
/// It is parsed from `{"query", "relevant": ["ns::name", …]}`, where every tool is needed, or from `{"query",
/// "relevant_any": [["ns::a", "ns::b"], …]}`, where one tool of each inner list is needed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "LabelledForm")]
pub struct LabelledQuery {
    /// The text of the query.
    pub query: String,
    /// The groups of tools that are needed. Empty if no tool answers the query.
    pub needed: Vec<Vec<QualifiedName>>,
}

#[derive(Deserialize)]
struct LabelledForm {
    query: String,
    #[serde(default)]
    relevant: Vec<QualifiedName>,
    #[serde(default)]
    relevant_any: Vec<Vec<QualifiedName>>,
}

impl From<LabelledForm> for LabelledQuery {
    fn from(form: LabelledForm) -> Self {
        let mut needed = form.relevant_any;
        needed.extend(form.relevant.into_iter().map(|name| vec![name]));
        Self { query: form.query, needed }
    }
}

/// The results of the queries of a labelled set. Shares are fractions of 1. The measures of ranking are means over the
/// queries that a tool answers, or 0 if there are no such queries.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The number of queries.
    pub queries: usize,
    /// [`ndcg_at`] 10.
    #[serde(rename = "ndcg@10")]
    pub ndcg_at_10: f64,
    /// [`recall_at`] 1.
    #[serde(rename = "recall@1")]
    pub recall_at_1: f64,
    /// [`recall_at`] 5.
    #[serde(rename = "recall@5")]
    pub recall_at_5: f64,
    /// [`recall_at`] 10.
    #[serde(rename = "recall@10")]
    pub recall_at_10: f64,
    /// The share of queries whose needed tools are all among the first ten.
    #[serde(rename = "completeness@10")]
    pub completeness_at_10: f64,
    /// The mean of 1/rank of the first needed tool within the first ten.
    #[serde(rename = "mrr@10")]
    pub mrr_at_10: f64,
    /// The share of queries whose first hit is a needed tool.
    #[serde(rename = "hit@1")]
    pub hit_at_1: f64,
    /// The share of all queries that were answered with no match, which is correct for queries that no tool answers.
    pub abstained: f64,
    /// The time that a query takes.
    pub latency_ms: Latency,
}

/// The distribution of query times, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
}

/// Runs every query, one after the other.
pub fn evaluate(index: &SearchIndex, queries: &[LabelledQuery]) -> Report {
    let mut report = Report { queries: queries.len(), ..Report::default() };
    let (mut times, mut answerable, mut abstained) = (Vec::with_capacity(queries.len()), 0, 0);
    let options = SearchOptions { limit: DEPTH, ..SearchOptions::default() };
    for query in queries {
        let start = Instant::now();
        let outcome = index.search(&query.query, &options);
        times.push(start.elapsed());
        abstained += usize::from(outcome.no_match.is_some());
        if query.needed.is_empty() {
            continue;
        }
        answerable += 1;
        let ranked: Vec<QualifiedName> = outcome.hits.into_iter().map(|hit| hit.name).collect();
        let first = served_ranks(DEPTH, &ranked, &query.needed).first().copied();
        report.ndcg_at_10 += ndcg_at(DEPTH, &ranked, &query.needed);
        report.recall_at_1 += recall_at(1, &ranked, &query.needed);
        report.recall_at_5 += recall_at(5, &ranked, &query.needed);
        let recall = recall_at(DEPTH, &ranked, &query.needed);
        report.recall_at_10 += recall;
        report.completeness_at_10 += f64::from(u8::from(recall >= 1.0));
        report.mrr_at_10 += first.map_or(0.0, |rank| 1.0 / as_f64(rank));
        report.hit_at_1 += f64::from(u8::from(first == Some(1)));
    }
    for sum in [
        &mut report.ndcg_at_10,
        &mut report.recall_at_1,
        &mut report.recall_at_5,
        &mut report.recall_at_10,
        &mut report.completeness_at_10,
        &mut report.mrr_at_10,
        &mut report.hit_at_1,
    ] {
        *sum /= as_f64(answerable).max(1.0);
    }
    report.abstained = as_f64(abstained) / as_f64(queries.len()).max(1.0);
    times.sort_unstable();
    report.latency_ms = Latency { p50: quantile(&times, 50), p95: quantile(&times, 95) };
    report
}

/// Returns the given percentile in milliseconds, or 0 if there are no durations.
fn quantile(sorted: &[Duration], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(rank).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
}

/// Returns the normalised discounted cumulative gain of the first `k`: 1 if everything needed is at the top.
///
/// `Σ 1/log2(rank + 1)` over the ranks at which a group is served, divided by the sum of the best possible ranking
/// (Järvelin and Kekäläinen, 2002). 0 when nothing is needed; leave such queries out of a mean.
pub fn ndcg_at<T: Eq + Hash>(k: usize, ranked: &[T], needed: &[Vec<T>]) -> f64 {
    let gain: f64 = served_ranks(k, ranked, needed).into_iter().map(discount).sum();
    let ideal: f64 = (1..=k.min(needed.len())).map(discount).sum();
    if ideal == 0.0 { 0.0 } else { gain / ideal }
}

/// Returns the share of the groups that are served in the first `k`, or 0 if nothing is needed.
pub fn recall_at<T: Eq + Hash>(k: usize, ranked: &[T], needed: &[Vec<T>]) -> f64 {
    if needed.is_empty() { 0.0 } else { as_f64(served_ranks(k, ranked, needed).len()) / as_f64(needed.len()) }
}

/// Returns the ranks, from 1, at which a group is served for the first time. A tool serves one group only.
fn served_ranks<T: Eq + Hash>(k: usize, ranked: &[T], needed: &[Vec<T>]) -> Vec<usize> {
    let mut served: HashSet<usize> = HashSet::new();
    let mut ranks = Vec::new();
    for (rank, tool) in (1..=k).zip(ranked) {
        let group = needed
            .iter()
            .enumerate()
            .find(|(group, members)| !served.contains(group) && members.contains(tool));
        if let Some((group, _)) = group {
            served.insert(group);
            ranks.push(rank);
        }
    }
    ranks
}

fn discount(rank: usize) -> f64 {
    1.0 / (as_f64(rank) + 1.0).log2()
}

#[expect(clippy::cast_precision_loss, reason = "ranks and counts of labels are small")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

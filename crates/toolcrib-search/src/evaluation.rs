//! How good a ranking is, against labels.
//!
//! What a query needs is a list of groups; the members of a group are interchangeable, and a group counts once, at its
//! best-ranked member. Gains are binary.

use std::collections::HashSet;
use std::hash::Hash;

use serde::Deserialize;
use toolcrib_model::QualifiedName;

/// A query with the tools that answer it: one line of a labelled set.
///
/// Read from `{"query", "relevant": ["ns::name", …]}`, where each tool is needed, or
/// `{"query", "relevant_any": [["ns::a", "ns::b"], …]}`, where one of each inner list is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "LabelledForm")]
pub struct LabelledQuery {
    /// What is asked.
    pub query: String,
    /// The groups that are needed; none when no tool answers the query.
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

/// Normalised discounted cumulative gain of the first `k`: 1 when everything needed is at the top.
///
/// `Σ 1/log2(rank + 1)` over the ranks at which a group is served, divided by the sum of the best possible ranking
/// (Järvelin and Kekäläinen, 2002). 0 when nothing is needed; leave such queries out of a mean.
pub fn ndcg_at<T: Eq + Hash>(k: usize, ranked: &[T], needed: &[Vec<T>]) -> f64 {
    let gain: f64 = served_ranks(k, ranked, needed).into_iter().map(discount).sum();
    let ideal: f64 = (1..=k.min(needed.len())).map(discount).sum();
    if ideal == 0.0 { 0.0 } else { gain / ideal }
}

/// The share of the groups that are served in the first `k`. 0 when nothing is needed.
pub fn recall_at<T: Eq + Hash>(k: usize, ranked: &[T], needed: &[Vec<T>]) -> f64 {
    if needed.is_empty() { 0.0 } else { as_f64(served_ranks(k, ranked, needed).len()) / as_f64(needed.len()) }
}

/// The ranks, from 1, at which a group that was not yet served is served. A tool serves one group only.
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

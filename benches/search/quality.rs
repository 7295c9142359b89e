//! Ranking quality: NDCG@10 over all labelled queries, of every retriever and of the other crates. And abstention: the
//! shares of queries that are answered as `no_match` and as `weak`.

use std::error::Error;

use toolcrib_bench::report::{Figure, Row, title};
use toolcrib_search::evaluation::{LabelledQuery, ndcg_at};

use crate::data::{self, Unanswerable};
use crate::peers::{Bm25, Finder, Ours, OursByMeaning, OursByWords, OursWithModel, Ratel};

/// The number of judged hits per query.
pub(crate) const DEPTH: usize = 10;

/// A labelled set with its bounds, in percent.
struct Set {
    name: &'static str,
    /// The minimum of NDCG@10: the better of two plain BM25 rankings, or just below what is reached.
    ndcg: f64,
    /// The smallest share of unanswerable requests that are recognized.
    recognized: f64,
}

const SETS: [Set; 6] = [
    Set { name: "metatool", ndcg: 55.7, recognized: 95.0 },
    // Among thousands of tools of all kinds, one resembles nearly any short request.
    Set { name: "seal_tools", ndcg: 86.3, recognized: 80.0 },
    Set { name: "stabletoolbench", ndcg: 66.8, recognized: 95.0 },
    Set { name: "bfcl", ndcg: 72.5, recognized: 94.0 },
    Set { name: "restbench", ndcg: 57.5, recognized: 95.0 },
    Set { name: "nestful", ndcg: 85.9, recognized: 95.0 },
];

/// The sets on which the ranking was chosen, and the minimum of their mean.
const CHOSEN_ON: usize = 4;
const MEAN: f64 = 79.0;

/// The largest share of answerable queries that may be lost to `no_match`, in percent.
const LOST: f64 = 1.0;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title("quality, NDCG@10 in percent, all queries");
    if data::folder().is_none() {
        title("left out: TOOLCRIB_SHARED is not set");
        return Ok(());
    }
    let unanswerable = data::unanswerable();
    let mut all = Vec::new();
    for Set { name: set, ndcg: bound, recognized } in SETS {
        let (tools, queries) = (data::tools_of(set)?, data::labelled(set)?);
        let ours = Ours::build(&tools)?;
        let mut figures = vec![
            (Ours::NAME, ndcg(&ours, &queries)),
            (OursByWords::NAME, ndcg(&OursByWords::build(&tools)?, &queries)),
            (OursByMeaning::NAME, ndcg(&OursByMeaning::build(&tools)?, &queries)),
            (Bm25::NAME, ndcg(&Bm25::build(&tools)?, &queries)),
            (Ratel::NAME, ndcg(&Ratel::build(&tools)?, &queries)),
        ];
        if data::model().is_some() {
            figures.push((OursWithModel::NAME, ndcg(&OursWithModel::build(&tools)?, &queries)));
        }
        report(&format!("{set}, {} queries to {} tools: ", queries.len(), tools.len()), &figures, bound);
        let foreign = unanswerable.iter().filter(|request| request.is_foreign_to(set));
        abstention(&ours, &queries, foreign, recognized);
        all.push(figures);
    }
    report("mean of the sets it was chosen on: ", &mean(all.get(..CHOSEN_ON).unwrap_or_default()), MEAN);
    report("mean of all sets: ", &mean(&all), 0.0);
    Ok(())
}

/// Prints the figures of one set, ours first, with its minimum.
fn report(what: &str, figures: &[(&str, f64)], bound: f64) {
    for (at, (name, figure)) in figures.iter().enumerate() {
        if at == 0 {
            let row = Row::new(format!("{what}{name}"), Figure::Percent(*figure));
            row.at_least(Figure::Percent(bound)).print();
        } else {
            Row::new(format!("  {name}"), Figure::Percent(*figure)).print();
        }
    }
}

/// Returns the mean over sets of each figure.
fn mean(sets: &[Vec<(&'static str, f64)>]) -> Vec<(&'static str, f64)> {
    let Some((first, others)) = sets.split_first() else { return Vec::new() };
    let (mut sums, mut count) = (first.clone(), 1.0);
    for set in others {
        count += 1.0;
        for ((_, sum), (_, figure)) in sums.iter_mut().zip(set) {
            *sum += figure;
        }
    }
    sums.into_iter().map(|(name, sum)| (name, sum / count)).collect()
}

/// Prints how often nothing or a weak match is answered, to requests that a tool answers and to those that none does.
fn abstention<'a>(
    ours: &Ours,
    queries: &[LabelledQuery],
    unanswerable: impl Iterator<Item = &'a Unanswerable>,
    recognized: f64,
) {
    let answerable = queries.iter().filter(|query| !query.needed.is_empty());
    let answerable = Outcomes::of(ours, answerable.map(|query| query.query.as_str()));
    let others = Outcomes::of(ours, unanswerable.map(|request| request.text));
    Row::new("  answerable, lost to no_match", answerable.percent(answerable.no_match))
        .at_most(Figure::Percent(LOST))
        .print();
    Row::new("  answerable, weak", answerable.percent(answerable.weak)).print();
    Row::new("  of nothing the tools are for, no_match", others.percent(others.no_match)).print();
    Row::new(
        "  of nothing the tools are for, no_match or weak",
        others.percent(others.no_match + others.weak),
    )
    .at_least(Figure::Percent(recognized))
    .print();
}

/// The number of queries, and how many of them have each outcome.
#[derive(Default)]
struct Outcomes {
    queries: f64,
    no_match: f64,
    weak: f64,
}

impl Outcomes {
    fn of<'a>(ours: &Ours, queries: impl Iterator<Item = &'a str>) -> Self {
        let mut counts = Self::default();
        for query in queries {
            let outcome = ours.outcome(query, DEPTH);
            counts.queries += 1.0;
            counts.no_match += f64::from(u8::from(outcome.no_match.is_some()));
            counts.weak += f64::from(u8::from(outcome.is_weak()));
        }
        counts
    }

    /// Returns a count as a percentage of the queries.
    fn percent(&self, count: f64) -> Figure {
        Figure::Percent(100.0 * count / self.queries.max(1.0))
    }
}

fn ndcg(finder: &impl Finder, queries: &[LabelledQuery]) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for query in queries.iter().filter(|query| !query.needed.is_empty()) {
        sum += ndcg_at(DEPTH, &finder.search(&query.query, DEPTH), &query.needed);
        count += 1.0;
    }
    100.0 * sum / f64::max(count, 1.0)
}

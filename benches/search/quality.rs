//! Ranking quality: NDCG@10 over all labelled queries.

use std::error::Error;
use std::sync::Arc;

use toolcrib_bench::report::{Figure, Row, title};
use toolcrib_model::Tool;
use toolcrib_search::evaluation::{LabelledQuery, ndcg_at};

use crate::data;
use crate::peers::{Bm25, Finder, Ours, OursByWords, OursWithModel, Ratel};

/// The number of judged hits per query.
pub(crate) const DEPTH: usize = 10;

/// The minimum of each set: the better of two plain BM25 rankings.
const SETS: [(&str, f64); 4] =
    [("metatool", 55.7), ("seal_tools", 86.3), ("stabletoolbench", 66.8), ("bfcl", 72.5)];

/// The minimum of the mean of all sets.
const MEAN: f64 = 75.0;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title("quality, NDCG@10 in percent, all queries");
    if data::folder().is_none() {
        title("left out: TOOLCRIB_SHARED is not set");
        return Ok(());
    }
    let (mut sum, mut count) = ([0.0; 3], 0.0);
    for (set, bound) in SETS {
        let (tools, queries) = (data::tools_of(set)?, data::labelled(set)?);
        let [ours, bm25, ratel] = [
            ndcg::<Ours>(&tools, &queries)?,
            ndcg::<Bm25>(&tools, &queries)?,
            ndcg::<Ratel>(&tools, &queries)?,
        ];
        let what = format!("{set}, {} queries to {} tools: ", queries.len(), tools.len());
        tell(&what, [ours, bm25, ratel], bound);
        tell_tier::<OursByWords>(&tools, &queries)?;
        if data::model().is_some() {
            tell_tier::<OursWithModel>(&tools, &queries)?;
        }
        count += 1.0;
        for (sum, figure) in sum.iter_mut().zip([ours, bm25, ratel]) {
            *sum += figure;
        }
    }
    tell("mean: ", sum.map(|sum| sum / count), MEAN);
    Ok(())
}

fn tell(what: &str, [ours, bm25, ratel]: [f64; 3], bound: f64) {
    Row::new(format!("{what}{}", Ours::NAME), Figure::Percent(ours)).at_least(Figure::Percent(bound)).print();
    for (name, figure) in [(Bm25::NAME, bm25), (Ratel::NAME, ratel)] {
        Row::new(format!("  {name}"), Figure::Percent(figure)).print();
    }
}

fn tell_tier<F: Finder>(tools: &[Arc<Tool>], queries: &[LabelledQuery]) -> Result<(), Box<dyn Error>> {
    Row::new(format!("  {}", F::NAME), Figure::Percent(ndcg::<F>(tools, queries)?)).print();
    Ok(())
}

fn ndcg<F: Finder>(tools: &[Arc<Tool>], queries: &[LabelledQuery]) -> Result<f64, Box<dyn Error>> {
    let finder = F::build(tools)?;
    let (mut sum, mut count) = (0.0, 0.0);
    for query in queries.iter().filter(|query| !query.needed.is_empty()) {
        sum += ndcg_at(DEPTH, &finder.search(&query.query, DEPTH), &query.needed);
        count += 1.0;
    }
    Ok(100.0 * sum / f64::max(count, 1.0))
}

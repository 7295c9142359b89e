//! The time of one query.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_model::Tool;
use toolcrib_search::embedding::{BuiltinEmbedder, Embeddings};

use crate::data;
use crate::peers::{Bm25, Finder, Ours, Ratel};

/// The number of requested hits.
const LIMIT: usize = 5;

/// The number of tools, the time limit of a query, and the share of queries that are sent to the peers (one of this
/// many, or none), which are slow with many tools.
const SIZES: [(usize, Duration, Option<usize>); 5] = [
    (500, Duration::from_micros(150), Some(1)),
    (10_000, Duration::from_micros(500), Some(1)),
    (100_000, Duration::from_millis(3), Some(10)),
    (250_000, Duration::from_millis(5), None),
    (1_000_000, Duration::from_millis(5), None),
];

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let queries = data::queries()?;
    title(&format!(
        "query, {} of them one after the other, the best {LIMIT}, p50; ours by words and meaning",
        queries.len()
    ));
    for (count, bound, every) in SIZES {
        let tools = data::tools(count)?;
        Row::new(format!("{count} tools: {}", Ours::NAME), median::<Ours>(&tools, &queries, 1)?)
            .at_most(bound)
            .print();
        arms(&tools, &queries)?;
        let Some(every) = every else { continue };
        Row::new(format!("  {}", Bm25::NAME), median::<Bm25>(&tools, &queries, every)?).print();
        Row::new(format!("  {}", Ratel::NAME), median::<Ratel>(&tools, &queries, every)?).print();
    }
    Ok(())
}

fn median<F: Finder>(
    tools: &[Arc<Tool>],
    queries: &[String],
    every: usize,
) -> Result<Duration, Box<dyn Error>> {
    let finder = F::build(tools)?;
    let mut timings = Timings::default();
    for query in queries.iter().step_by(every) {
        timings.time(|| black_box(finder.search(query, LIMIT)));
    }
    Ok(timings.median())
}

/// Measures the parts of this project's search.
fn arms(tools: &[Arc<Tool>], queries: &[String]) -> Result<(), Box<dyn Error>> {
    let embeddings = Embeddings::of_tools(Arc::new(BuiltinEmbedder::new()?), tools);
    tokio::runtime::Builder::new_current_thread().build()?.block_on(embeddings.finished());
    let vectors = embeddings.vectors().ok_or("there are no vectors")?;
    let (mut embedding, mut scan) = (Timings::default(), Timings::default());
    for query in queries {
        let Ok(vector) = embedding.time(|| vectors.query(query)) else { continue };
        scan.time(|| black_box(vectors.index().search(&vector, 50, &|_| true)));
    }
    Row::new("  of it: the vector of the query", embedding.median()).print();
    Row::new("  of it: the scan of all vectors", scan.median()).print();
    Ok(())
}

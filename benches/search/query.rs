//! One query.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_search::SearchOptions;
use toolcrib_search::embedding::{BuiltinEmbedder, Embeddings};

use crate::data;

/// How many tools there are, and how long a query may take.
const SIZES: [(usize, Duration); 3] = [
    (500, Duration::from_micros(150)),
    (10_000, Duration::from_micros(500)),
    (100_000, Duration::from_millis(3)),
];

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let queries = data::queries()?;
    title(&format!("query, by words and meaning, {} queries one after the other, p50", queries.len()));
    for (count, bound) in SIZES {
        let tools = data::tools(count)?;
        let index = data::index(&tools)?;
        let mut timings = Timings::default();
        for query in &queries {
            timings.time(|| black_box(index.search(query, &SearchOptions::default())));
        }
        Row::new(format!("{count} tools"), timings.median()).at_most(bound).print();
        arms(&tools, &queries)?;
    }
    Ok(())
}

/// What the parts of it take.
fn arms(tools: &[Arc<toolcrib_model::Tool>], queries: &[String]) -> Result<(), Box<dyn Error>> {
    let embeddings = Embeddings::of_tools(Arc::new(BuiltinEmbedder::new()?), tools);
    tokio::runtime::Builder::new_current_thread().build()?.block_on(embeddings.finished());
    let vectors = embeddings.vectors().ok_or("there are no vectors")?;
    let (mut embedding, mut scan) = (Timings::default(), Timings::default());
    for query in queries {
        let Ok(vector) = embedding.time(|| vectors.query(query)) else { continue };
        scan.time(|| black_box(vectors.index().search(&vector, 100, &|_| true)));
    }
    Row::new("  of it: the vector of the query", embedding.median()).print();
    Row::new("  of it: the scan of all vectors", scan.median()).print();
    Ok(())
}

//! Others on the same tools with the same queries.

use std::error::Error;
use std::hint::black_box;

use bm25::{Document, Language, SearchEngine, SearchEngineBuilder};
use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_model::Tool;
use toolcrib_search::SearchOptions;

use crate::data;

const SIZES: [usize; 2] = [500, 10_000];

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let queries = data::queries()?;
    title(&format!("peers, {} queries one after the other, the best five, p50", queries.len()));
    for count in SIZES {
        let tools = data::tools(count)?;
        let index = data::index(&tools)?;
        let documents = (0_u32..).zip(&tools).map(|(number, tool)| Document::new(number, text(tool)));
        let bm25: SearchEngine<u32> =
            SearchEngineBuilder::with_documents(Language::English, documents).build();
        let (mut ours, mut theirs) = (Timings::default(), Timings::default());
        for query in &queries {
            ours.time(|| black_box(index.search(query, &SearchOptions::default())));
            theirs.time(|| black_box(bm25.search(query, 5)));
        }
        let what = format!("{count} tools, by words and meaning; beside the words alone of bm25");
        Row::new(what, ours.median()).beside(theirs.median()).print();
    }
    Ok(())
}

/// What the peers are given of a tool.
fn text(tool: &Tool) -> String {
    format!("{} {} {}", tool.name.name(), tool.description, tool.parameters)
}

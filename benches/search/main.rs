//! How well and how fast tools are found, and what it costs to get ready, beside others: the crates `bm25` (words alone)
//! and `ratel-ai-core` (in its default, words alone; its arm of meaning wants a model that has to be downloaded).
//!
//! The tools are those of the labelled sets below `TOOLCRIB_SHARED`, with their queries; more tools than there are, are the
//! same ones under other names. Without the sets tools and queries are made up, of few words: then queries meet far more
//! tools, the bounds say nothing, and how good a ranking is, is not asked.

mod data;
mod peers;
mod quality;
mod query;
mod ready;

use toolcrib_bench::report::{self, Part};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // What it costs to get ready is measured in programs of their own, this one again.
    if let Some(wanted) = std::env::args().find_map(|word| ready::wanted(&word)) {
        return ready::measure(&wanted);
    }
    report::run(&[
        Part { name: "ready", run: ready::run },
        Part { name: "quality", run: quality::run },
        Part { name: "query", run: query::run },
    ])
}

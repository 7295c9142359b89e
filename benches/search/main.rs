//! How fast tools are found, by words and meaning, and what it costs to get ready.
//!
//! The tools are those of the labelled sets below `TOOLCRIB_SHARED`, with their queries; more tools than there are, are the
//! same ones under other names. Without the sets both are made up, of few words: then queries meet far more tools, and the
//! bounds say nothing.

mod data;
mod peers;
mod query;
mod ready;

use toolcrib_bench::report::Part;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    toolcrib_bench::report::run(&[
        Part { name: "query", run: query::run },
        Part { name: "ready", run: ready::run },
        Part { name: "peers", run: peers::run },
    ])
}

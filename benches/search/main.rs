//! Search quality, speed, and startup cost, compared with the crates `bm25` (words only) and `ratel-ai-core` (in its
//! default, words only; its search by meaning requires a downloaded model).
//!
//! The tools and queries are those of the labelled sets below `TOOLCRIB_SHARED`. A larger set consists of the same
//! tools under further names. Without the sets, tools and queries are generated from few words. Then queries match far
//! more tools, the bounds have no meaning, and the quality of the ranking is not measured.

mod data;
mod languages;
mod peers;
mod quality;
mod query;
mod ready;

use toolcrib_bench::report::{self, Part};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Startup is measured in separate processes of this program.
    if let Some(wanted) = std::env::args().find_map(|word| ready::wanted(&word)) {
        return ready::measure(&wanted);
    }
    report::run(&[
        Part { name: "ready", run: ready::run },
        Part { name: "quality", run: quality::run },
        Part { name: "languages", run: languages::run },
        Part { name: "query", run: query::run },
    ])
}

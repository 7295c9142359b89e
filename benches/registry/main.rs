//! The speed of the registry: loading, lookup, and reads during refreshes.

mod load;
mod readers;
mod resolve;

use toolcrib_bench::report::Part;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    toolcrib_bench::report::run(&[
        Part { name: "load", run: load::run },
        Part { name: "resolve", run: resolve::run },
        Part { name: "readers", run: readers::run },
    ])
}

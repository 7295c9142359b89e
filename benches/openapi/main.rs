//! How fast OpenAPI documents become tools, and what a call of one costs.

mod call;
mod load;

use toolcrib_bench::report::Part;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    toolcrib_bench::report::run(&[
        Part { name: "load", run: load::run },
        Part { name: "call", run: call::run },
    ])
}

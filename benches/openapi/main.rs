//! The speed of loading OpenAPI documents, and the cost of calling one of their tools.

mod call;
mod load;

use toolcrib_bench::report::Part;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    toolcrib_bench::report::run(&[
        Part { name: "load", run: load::run },
        Part { name: "call", run: call::run },
    ])
}

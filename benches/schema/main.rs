//! The cost of hostile schemas and arguments.

#[path = "../../crates/toolcrib-schema/src/tests/attacks.rs"]
#[expect(clippy::indexing_slicing, reason = "a bench may fail by panicking")]
mod attacks;
mod hostile;

use toolcrib_bench::report::Part;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    toolcrib_bench::report::run(&[Part { name: "hostile", run: hostile::run }])
}

//! The cost of the executor for a call, of a hanging call for other calls, and of a huge result.

mod hang;
mod large;
mod route;

use toolcrib_bench::report::Part;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    toolcrib_bench::report::run(&[
        // Runs first, because memory that was freed earlier would hide a part of its usage.
        Part { name: "large", run: large::run },
        Part { name: "route", run: route::run },
        Part { name: "hang", run: hang::run },
    ])
}

//! What the way of a call costs, what a call that hangs costs the others, and what a huge result costs.

mod hang;
mod large;
mod route;

use toolcrib_bench::report::Part;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    toolcrib_bench::report::run(&[
        // First, since memory that was freed earlier would hide a part of what it takes.
        Part { name: "large", run: large::run },
        Part { name: "route", run: route::run },
        Part { name: "hang", run: hang::run },
    ])
}

//! The cost of waiting tasks, their punctuality, and the speed of acknowledging new ones.

mod acknowledged;
mod idle;
mod punctual;
mod shop;

use toolcrib_bench::report::Part;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    toolcrib_bench::report::run(&[
        // Runs first, because memory that was freed earlier would hide a part of its usage.
        Part { name: "idle", run: idle::run },
        Part { name: "punctual", run: punctual::run },
        Part { name: "acknowledged", run: acknowledged::run },
    ])
}

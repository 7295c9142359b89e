//! The cost of the agent loop in each wire format, compared with the same turns on a bare client, and over a long run.

mod bare;
mod by_hand;
mod long;
mod ours;
mod server;
mod turn;

use std::error::Error;

use toolcrib_bench::report::Part;

fn main() -> Result<(), Box<dyn Error>> {
    toolcrib_bench::report::run(&[
        Part { name: "turn", run: turn::run },
        Part { name: "long", run: long::run },
    ])
}

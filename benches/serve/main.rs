//! What `toolcrib serve` adds to a call, and how soon it lists its tools, in front of servers that others have written.
//!
//! The programs are named by the environment, as `cargo xtask bench serve` sets it: `TOOLCRIB_BIN`, optimised, and
//! `TOOLCRIB_PEERS`. With `TOOLCRIB_SHARED`, two OpenAPI documents are served beside the servers.

mod call;
mod gateway;
mod list;
mod peers;

use std::error::Error;

use toolcrib_bench::report::Part;

fn main() -> Result<(), Box<dyn Error>> {
    toolcrib_bench::report::run(&[
        Part { name: "stdio", run: call::stdio },
        Part { name: "http", run: call::http },
        Part { name: "list", run: list::run },
    ])
}

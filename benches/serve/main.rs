//! The overhead of `toolcrib serve` for a call, and the time until it lists its tools, with third-party servers.
//!
//! The programs are named by environment variables, which `cargo xtask bench serve` sets: `TOOLCRIB_BIN`, optimized,
//! and `TOOLCRIB_PEERS`. With `TOOLCRIB_SHARED`, OpenAPI documents are served too, and with `TOOLCRIB_STRIPE` that of
//! Stripe (`openapi/spec3.json` of `stripe/openapi`).

mod call;
mod documents;
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
        Part { name: "documents", run: documents::run },
    ])
}

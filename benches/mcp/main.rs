//! The cost of an MCP tool call compared with a bare client, and the time until servers are ready.

mod call;
mod ready;
mod server;

use std::error::Error;

use toolcrib_bench::report::Part;

fn main() -> Result<(), Box<dyn Error>> {
    // The benches start this program again as their server.
    if let Some(delay) = server::wanted() {
        return server::serve(delay);
    }
    toolcrib_bench::report::run(&[
        Part { name: "stdio", run: call::stdio },
        Part { name: "http", run: call::http },
        Part { name: "ready", run: ready::run },
    ])
}

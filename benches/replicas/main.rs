//! The cost of replicas on a store in PostgreSQL: of a call, beside a single process with its store in a file; of many at
//! once; and the time in which a new replica takes over the catalogue.
//!
//! `cargo xtask bench replicas` starts the database server, and sets the variables that name it and the program.

mod call;
mod served;
mod take_over;
mod throughput;
mod tools_server;

use std::error::Error;

use toolcrib_bench::report::Part;

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(started) = tools_server::wanted() {
        return tools_server::serve(&started);
    }
    if let Some(store) = take_over::wanted() {
        return take_over::measure(&store);
    }
    toolcrib_bench::report::run(&[
        Part { name: "call", run: call::run },
        Part { name: "throughput", run: throughput::run },
        Part { name: "take-over", run: take_over::run },
    ])
}

/// Returns the runtime of the clients.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

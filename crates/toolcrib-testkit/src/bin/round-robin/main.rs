//! A proxy that sends each request to the next of several servers: `round-robin ADDRESS…`.
//!
//! The URL of the proxy is written to standard error. It runs until it is killed.

#![expect(clippy::print_stderr, reason = "a command-line program owns its terminal")]

use std::env;
use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use toolcrib_testkit::RoundRobin;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let servers: Result<Vec<SocketAddr>, _> = env::args().skip(1).map(|address| address.parse()).collect();
    let servers = servers.context("expected addresses such as 127.0.0.1:8080")?;
    ensure!(!servers.is_empty(), "usage: round-robin ADDRESS…");
    let proxy = RoundRobin::start(servers).await?;
    eprintln!("round-robin: http://{}/mcp", proxy.address());
    std::future::pending::<()>().await;
    Ok(())
}

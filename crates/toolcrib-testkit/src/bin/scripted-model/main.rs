//! An `OpenAI`-compatible server that answers according to a script, correctly or not: `scripted-model SCRIPT [PORT]`.
//!
//! `SCRIPT` is a [`FaultScript`] in YAML. The address for `base_url` is written to standard output, and then a line for
//! each request. The server runs until it is killed.

use std::env;
use std::fs;
use std::io::{self, Write as _};
use std::time::Duration;

use anyhow::{Context as _, Result};
use toolcrib_testkit::{FaultScript, FaultyModel};

/// The interval of checks for new requests.
const LOOK: Duration = Duration::from_millis(100);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().context("usage: scripted-model SCRIPT [PORT]")?;
    let port = arguments.next().map_or(Ok(0), |port| port.parse()).context("the port is no number")?;
    let text = fs::read_to_string(&path).with_context(|| format!("{path} cannot be read"))?;
    let server = FaultyModel::start(FaultScript::parse(&text).context(path)?, port).await?;
    let mut out = io::stdout();
    writeln!(out, "{}", server.base_url())?;
    let mut told = 0;
    loop {
        let (requests, problems) = (server.requests(), server.problems());
        for (number, request) in requests.iter().enumerate().skip(told) {
            writeln!(out, "request {}: {} bytes to {}", number + 1, request.body.len(), request.path)?;
        }
        if requests.len() > told {
            writeln!(out, "refused so far: {problems:?}")?;
        }
        told = requests.len();
        out.flush()?;
        tokio::time::sleep(LOOK).await;
    }
}

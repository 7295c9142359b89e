//! `cargo xtask soak`: what goes on for minutes has to stay right, and to hold no more than at first.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program owns its terminal")]

mod calls;
mod exchange;
mod figures;
mod gateway;
mod replicas;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    match soak().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("soak: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn soak() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let (Some(part), Some(minutes)) = (words.next(), words.next()) else { bail!("usage: soak PART MINUTES") };
    let minutes: u64 = minutes.parse().with_context(|| format!("{minutes:?} is no number of minutes"))?;
    let time = Duration::from_secs(minutes * 60);
    match part.as_str() {
        "calls" => calls::run(time).await,
        "gateway" => gateway::run(time).await,
        "replicas" => replicas::run(time).await,
        other => bail!("there is no part {other:?}; there is: calls, gateway, replicas"),
    }
}

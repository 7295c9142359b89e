//! Ten thousand turns in one run. Neither the memory nor the time of a turn may grow.
//!
//! The conversation stays within its context window, because it is compacted repeatedly.

use std::error::Error;
use std::time::Duration;

use toolcrib_agent::Provider;
use toolcrib_bench::memory;
use toolcrib_bench::report::{Figure, Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_io::http::{HttpClient, HttpPolicy};

use crate::{ours, server};

/// The number of turns in the run.
const TURNS: usize = 10_000;

/// The number of turns in the first and in the last section, which are compared.
const STRETCH: usize = 1_000;

/// The context window in tokens, for about three hundred turns.
const WINDOW: u32 = 32_000;

/// The maximum ratio of the memory at the end to the memory after the first section.
const BOUND_MEMORY: f64 = 1.1;

/// The same for the time of a turn. The two are measured some seconds apart, so a disturbance affects only one.
const BOUND_TIME: f64 = 1.25;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title("ten thousand turns in one run");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure())
}

async fn measure() -> Result<(), Box<dyn Error>> {
    let (agent, tool) = ours::agent(u32::try_from(TURNS)?, WINDOW)?;
    let base = server::open(tool)?;
    let http = HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() })?;
    let model = ours::model(Provider::OpenAi, &base, &http)?;
    let (mut first, mut last) = (Timings::default(), Timings::default());
    let mut resident = [None; 2];
    let mut turned = |turn: usize, taken: Duration| {
        if turn <= STRETCH {
            first.add(taken);
        } else if turn > TURNS - STRETCH {
            last.add(taken);
        }
        if turn == STRETCH {
            resident[0] = memory::resident();
        } else if turn == TURNS {
            resident[1] = memory::resident();
        }
    };
    let report = ours::run(&agent, &model, &ours::Line::new(&mut turned)).await?;
    if report.compactions == 0 {
        return Err("the conversation never filled its window, so nothing was shown".into());
    }
    Row::new("a turn, p50 of the last thousand", last.median())
        .at_most_times(BOUND_TIME, first.median())
        .print();
    if let [Some(before), Some(after)] = resident {
        let (before, after) = (Figure::Bytes(before), Figure::Bytes(after));
        Row::new("resident memory behind them", after).at_most_times(BOUND_MEMORY, before).print();
    }
    Ok(())
}

//! A turn of the agent loop, compared with the same turn by hand.
//!
//! A turn lasts from the result of one call until the next call: the result becomes a message, the conversation is
//! sent, and the reply is streamed and assembled. Both sides have one thread, the same server, and the same HTTP
//! client, and send the same bytes, which is checked. The sides alternate, and also alternate in the order, so that
//! disturbances affect both.

use std::error::Error;
use std::time::Duration;

use toolcrib_agent::Provider;
use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_io::http::{HttpClient, HttpPolicy};

use crate::by_hand::ByHand;
use crate::{bare, ours, server};

/// The maximum overhead of the loop per turn.
const BOUND: Duration = Duration::from_micros(200);

/// A context window that no conversation here reaches.
const WINDOW: u32 = 10_000_000;

/// The size of a measurement.
struct Load {
    name: &'static str,
    /// The number of turns in a run, and how many of them are not timed.
    turns: usize,
    skipped: usize,
    rounds: usize,
}

const LOADS: [Load; 2] = [
    Load { name: "the first turns of a conversation", turns: 21, skipped: 1, rounds: 60 },
    Load { name: "turns behind four hundred others", turns: 450, skipped: 400, rounds: 16 },
];

/// One provider for each format.
const PROVIDERS: [Provider; 4] =
    [Provider::OpenAi, Provider::Anthropic, Provider::OpenAiResponses, Provider::Gemini];

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for provider in PROVIDERS {
        LOADS.iter().try_for_each(|load| runtime.block_on(compare(provider, load)))?;
    }
    Ok(())
}

async fn compare(provider: Provider, load: &Load) -> Result<(), Box<dyn Error>> {
    title(&format!("{}: {}", provider, load.name));
    let (agent, tool) = ours::agent(u32::try_from(load.turns)?, WINDOW)?;
    let base = server::open(tool)?;
    let http = HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() })?;
    let (model, client) = (ours::model(provider, &base, &http)?, bare::client(&base, &http));
    let (mut whole, mut alone) = (Timings::default(), Timings::default());
    // The first round opens the connections.
    for round in 0..=load.rounds {
        let (mut one, mut other) = (Timings::default(), Timings::default());
        let mut sent = [0; 2];
        for side in [round % 2, 1 - round % 2] {
            server::received();
            if side == 0 {
                let mut turned = |turn, taken| {
                    if turn > load.skipped {
                        one.add(taken);
                    }
                    // Read before the last answer, which the other side does not request.
                    if turn == load.turns {
                        sent[0] = server::received();
                    }
                };
                ours::run(&agent, &model, &ours::Line::new(&mut turned)).await?;
            } else {
                if provider == Provider::OpenAi {
                    bare::run(&client, agent.settings(), load.turns, load.skipped, &mut other).await?;
                } else {
                    let mut by_hand = ByHand::new(provider, &base, &http, agent.settings())?;
                    by_hand.run(load.turns, load.skipped, &mut other).await?;
                }
                sent[1] = server::received();
            }
        }
        if sent[0] != sent[1] || sent[0] == 0 {
            return Err(format!("the loop sent {} bytes, by hand it was {}", sent[0], sent[1]).into());
        }
        if round > 0 {
            whole.merge(&one);
            alone.merge(&other);
        }
    }
    Row::new("a turn, p50", whole.median()).beside(alone.median()).print();
    Row::new("a turn, p99", whole.percentile(99.0)).beside(alone.percentile(99.0)).print();
    Row::new("what the loop adds, p50", whole.median().saturating_sub(alone.median())).at_most(BOUND).print();
    Ok(())
}

//! `cargo xtask soak gateway`: two hundred clients call through `toolcrib serve`, while the servers behind it are killed at
//! random. No answer may be wrong, none may come later than its deadline, and what the gateway holds has to stay as it was
//! after warming up.
//!
//! Half of the clients are of revision 2026-07-28, the others have sessions. In each round all are new; then it is quiet, each
//! server is called once so that it is there, and the figures are taken.

mod client;
mod served;

use std::future::pending;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use futures::future::try_join_all;
use tokio::time::timeout;

use self::client::{Client, Tally};
use self::served::Served;
use crate::figures::Figures;

/// How many call side by side.
const CLIENTS: usize = 200;

/// How long a round is.
const ROUND: Duration = Duration::from_secs(20);

/// How long nobody is killed after somebody was.
const BETWEEN_KILLS: Duration = Duration::from_secs(4);

/// The part of the time that is warming up: one of so many. Two rounds are warming up in any case.
const WARM_UP: u32 = 4;

/// The fewest answers of tools that say something.
const ENOUGH: u64 = 10_000;

/// How many of a hundred calls have to be answered by their tools, with servers killed beneath them.
const ANSWERED: u64 = 80;

pub(crate) async fn run(time: Duration) -> Result<()> {
    let served = Served::start().await?;
    println!(
        "{:>8}  {:>9}  {:>9}  {:>6}  {:>8}  {}",
        "time",
        "answered",
        "refused",
        "killed",
        "longest",
        Figures::TITLE
    );
    let began = Instant::now();
    let (mut warm, mut last, mut rounds) = (Figures::default(), Figures::default(), 0_u32);
    let (mut all, mut killed) = (Tally::default(), 0_u64);
    while began.elapsed() < time {
        let until = Instant::now() + ROUND.min(time.saturating_sub(began.elapsed()));
        let clients = (0..CLIENTS).map(async |number| {
            let mut client = Client::new(&served, rounds, number).await?;
            client.work(until).await?;
            client.leave().await
        });
        let (tallies, kills) = tokio::join!(try_join_all(clients), kill(&served, until));
        killed += kills?;
        tallies?.iter().for_each(|tally| all.add(tally));
        served.rest().await?;
        last = Figures::settled_of(served.id()).await?;
        rounds += 1;
        let is_warming_up = rounds <= 2 || began.elapsed() < time / WARM_UP;
        if is_warming_up {
            warm = warm.most(&last);
        }
        let note = if is_warming_up { "  warming up" } else { "" };
        println!(
            "{:>6} s  {:>9}  {:>9}  {killed:>6}  {:>6} ms  {last}{note}",
            began.elapsed().as_secs(),
            all.answered,
            all.refused.values().sum::<u64>(),
            all.longest.as_millis(),
        );
    }
    for (why, count) in &all.refused {
        println!("refused as {why}: {count}");
    }
    served.end().await?;
    println!("{:>50}  {}", "bound", warm.bound());
    let grown = last.beyond(&warm.bound());
    if !grown.is_empty() {
        bail!("not flat: {}", grown.join(", "));
    }
    let refused: u64 = all.refused.values().sum();
    ensure!(all.answered >= ENOUGH, "{} answers are too few to say anything", all.answered);
    ensure!(
        all.answered * 100 >= (all.answered + refused) * ANSWERED,
        "{refused} of {} calls were refused",
        all.answered + refused
    );
    println!("flat and right over {} answers of tools, with {killed} servers killed", all.answered);
    Ok(())
}

/// Kills a server behind the gateway, again and again, each time another one.
async fn kill(served: &Served, until: Instant) -> Result<u64> {
    let mut killed = 0;
    while Instant::now() + BETWEEN_KILLS < until {
        let _ = timeout(BETWEEN_KILLS, pending::<()>()).await;
        let behind = served.behind()?;
        let number = usize::try_from(killed).context("a count")? * 7;
        if let Some(victim) = behind.get(number % behind.len().max(1)) {
            served::kill(victim.id)?;
            killed += 1;
        }
    }
    Ok(killed)
}

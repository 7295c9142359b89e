//! `cargo xtask soak calls`: one MCP server, called for minutes through the executor, of whose calls one in a hundred is
//! cancelled and one in a hundred ends the server. What this process holds has to stay as it was after warming up.
//!
//! Time passes in rounds. In each the workers call, and stop; then the figures are taken, when they no longer change. The
//! tools are loaded again in each round, and every worker has a new session every so many calls, which nobody ends.

mod work;

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use self::work::Work;
use crate::figures::Figures;

/// How long a round is.
const ROUND: Duration = Duration::from_secs(10);

/// The part of the time that is warming up: one of so many. A round or two are warming up in any case.
const WARM_UP: u32 = 4;

/// The fewest calls that say something.
const ENOUGH_CALLS: u64 = 10_000;

pub(crate) async fn run(time: Duration) -> Result<()> {
    let mut work = Work::start().await?;
    println!("{:>8}  {:>9}  {:>9}  {:>7}  {}", "time", "calls", "cancelled", "crashes", Figures::TITLE);
    let began = Instant::now();
    let (mut warm, mut last, mut rounds) = (Figures::default(), Figures::default(), 0_u32);
    while began.elapsed() < time {
        work.round(ROUND.min(time.saturating_sub(began.elapsed()))).await?;
        last = Figures::settled().await?;
        rounds += 1;
        let is_warming_up = rounds <= 2 || began.elapsed() < time / WARM_UP;
        if is_warming_up {
            warm = warm.most(&last);
        }
        let note = if is_warming_up { "  warming up" } else { "" };
        let seconds = began.elapsed().as_secs();
        println!(
            "{seconds:>6} s  {:>9}  {:>9}  {:>7}  {last}{note}",
            work.calls, work.cancelled, work.crashes
        );
    }
    work.close().await;

    println!("{:>40}  {}", "bound", warm.bound());
    let grown = last.beyond(&warm.bound());
    if !grown.is_empty() {
        bail!("not flat: {}", grown.join(", "));
    }
    ensure!(work.calls >= ENOUGH_CALLS, "{} calls are too few to say anything", work.calls);
    println!("flat over {} calls", work.calls);
    Ok(())
}

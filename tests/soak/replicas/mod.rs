//! `cargo xtask soak replicas`: two hundred clients call three replicas through a proxy that sends each request to the next.
//! Replicas are killed and started again, and the server of their store is restarted twice. Nothing may run twice, no
//! approval may count twice, nothing that was acknowledged may be lost, and no answer may be wrong.
//!
//! The clients write down what they were promised, and the tools append a line to a file for each effect. What is checked
//! follows from the two alone.

mod client;
mod cluster;
mod ledger;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;

use self::client::{Client, Tally};
use self::cluster::{Cluster, pause};
use self::ledger::Ledger;

/// The number of clients.
const CLIENTS: usize = 200;

/// The time between two kills.
const BETWEEN_KILLS: Duration = Duration::from_secs(20);

/// The time in which work that is due has to be done after the last kill: that after which a replica counts as ended, and
/// its runs are taken over.
const SETTLE_TIME: Duration = Duration::from_mins(2);

/// The interval of looks at what is open.
const LOOK: Duration = Duration::from_millis(500);

/// The fewest answers that say something, for each minute.
const ENOUGH_A_MINUTE: u64 = 1_000;

pub(crate) async fn run(time: Duration) -> Result<()> {
    let cluster = Cluster::start(CLIENTS).await?;
    let ledger = Ledger::new(cluster.effects())?;
    let until = Instant::now() + time;
    let mut clients: Vec<_> = (0..CLIENTS).map(|number| Client::new(&cluster, &ledger, number)).collect();
    let working = clients.iter_mut().enumerate().map(async |(number, client)| {
        client.work(number, until).await.with_context(|| format!("client {number}"))
    });
    let ((), kills, restarts) = tokio::try_join!(
        async { try_join_all(working).await.map(drop) },
        kill(&cluster, until),
        restart(&cluster, time)
    )?;
    settle(&ledger, &mut clients).await?;
    let mut all = Tally::default();
    for client in &clients {
        all.add(&client.tally);
    }
    println!(
        "answered: {}, lost with a replica: {}, longest: {} ms",
        all.answered,
        all.lost,
        all.longest.as_millis()
    );
    for (why, count) in &all.refused {
        println!("refused as {why}: {count}");
    }
    println!("states sent again, and refused: {}", all.replayed);
    let sums = ledger.check()?;
    println!(
        "work: {}, done: {}, answered as done: {}, scheduled: {}",
        sums.work, sums.done, sums.once, sums.scheduled
    );
    let minutes = time.as_secs().div_ceil(60);
    ensure!(
        all.answered >= ENOUGH_A_MINUTE * minutes,
        "{} answers are too few to say anything",
        all.answered
    );
    ensure!(all.replayed > 0 && sums.scheduled > 0, "nothing was approved or scheduled");
    println!("right, with {kills} replicas killed and the store restarted {restarts} times");
    Ok(())
}

/// Kills one replica after the other.
async fn kill(cluster: &Cluster, until: Instant) -> Result<usize> {
    let mut kills = 0;
    while Instant::now() + BETWEEN_KILLS < until {
        pause(BETWEEN_KILLS).await;
        cluster.kill(kills).await?;
        kills += 1;
    }
    Ok(kills)
}

/// Restarts the server of the store twice: in order, and as after a power failure.
async fn restart(cluster: &Cluster, time: Duration) -> Result<usize> {
    for in_order in [true, false] {
        pause(time / 3).await;
        cluster.restart_store(in_order).await?;
    }
    Ok(2)
}

/// Waits until what was scheduled is done, or its schedule tells why it is not.
async fn settle(ledger: &Ledger, clients: &mut [Client<'_>]) -> Result<()> {
    let begun = Instant::now();
    loop {
        let open = ledger.open()?;
        if open.is_empty() {
            return Ok(());
        }
        // The check names them.
        if begun.elapsed() > SETTLE_TIME {
            return Ok(());
        }
        for client in clients.iter_mut() {
            for id in &open {
                client.explain(id).await?;
            }
        }
        pause(LOOK).await;
    }
}

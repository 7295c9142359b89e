//! The number of schedules acknowledged per second, and of flushes to disk for them.

use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::{SignedDuration, Zoned};
use toolcrib_bench::report::Row;

use crate::shop::Shop;

/// The number of schedules, and of concurrent callers.
const MADE: u32 = 5_000;
const CALLERS: usize = 256;

/// The number of flushes to disk that are timed.
const WAITS: u32 = 200;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let shop = Shop::open().await?;
        let later = Zoned::now().checked_add(SignedDuration::from_hours(24))?;
        let disk = wait_for_disk()?;
        let began = Instant::now();
        for _ in 0..WAITS {
            shop.schedule(later.clone()).await?;
        }
        Row::new("one schedule, acknowledged, by itself", began.elapsed() / WAITS).beside(disk).print();
        let began = Instant::now();
        stream::iter(0..MADE)
            .map(|_| shop.schedule(later.clone()))
            .buffer_unordered(CALLERS)
            .try_collect::<Vec<()>>()
            .await?;
        let taken = began.elapsed();
        Row::new("5,000 schedules, acknowledged, 256 at once", taken).beside(Duration::from_secs(1)).print();
        shop.close().await;
        Ok(())
    })
}

/// Returns the time of one write that is flushed to disk.
fn wait_for_disk() -> Result<Duration, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut file = File::create(folder.path().join("log"))?;
    let began = Instant::now();
    for _ in 0..WAITS {
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
    }
    Ok(began.elapsed() / WAITS)
}

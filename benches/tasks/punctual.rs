//! The delay of due tasks among ten thousand that are not due.

use std::error::Error;
use std::time::Duration;

use futures::future::try_join_all;
use jiff::{SignedDuration, Timestamp, Zoned};
use toolcrib_bench::report::Row;
use toolcrib_bench::timings::Timings;

use crate::shop::Shop;

/// The number of tasks that are due on a later day.
const OTHERS: u32 = 10_000;

/// The number of due tasks, and the interval between them.
const DUE: u32 = 100;
const APART: SignedDuration = SignedDuration::from_millis(50);

const BOUND: Duration = Duration::from_millis(50);

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let shop = Shop::open().await?;
        let later = Zoned::now().checked_add(SignedDuration::from_hours(24))?;
        for _ in 0..OTHERS / 500 {
            try_join_all((0..500).map(|_| shop.schedule(later.clone()))).await?;
        }
        let first = Zoned::now().checked_add(SignedDuration::from_secs(3))?;
        let dues = (0..DUE).map(|number| {
            let number = i32::try_from(number).unwrap_or_default();
            first.checked_add(APART * number)
        });
        let dues = dues.collect::<Result<Vec<_>, _>>()?;
        try_join_all(dues.into_iter().map(|due| shop.schedule(due))).await?;
        let calls = || shop.entrance.0.lock().clone();
        while calls().len() < DUE as usize {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let mut late = Timings::default();
        for (started, arguments) in calls() {
            let due: Timestamp =
                arguments.get("due").and_then(|due| due.as_str()).ok_or("no time")?.parse()?;
            late.add(Duration::try_from(started.duration_since(due))?);
        }
        Row::new("from due to its call, half of them within", late.percentile(50.0)).print();
        Row::new("from due to its call, the slowest of 100", late.percentile(100.0)).at_most(BOUND).print();
        shop.close().await;
        Ok(())
    })
}

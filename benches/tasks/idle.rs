//! The idle cost of ten thousand schedules and a thousand watchers, which must be negligible.

use std::error::Error;
use std::time::Duration;

use futures::future::try_join_all;
use jiff::{SignedDuration, Zoned};
use toolcrib_bench::report::{Figure, Row};
use toolcrib_bench::{memory, processor};
use toolcrib_model::JsonObject;
use toolcrib_tasks::watch::WatchRequest;

use crate::shop::{Shop, context};

const SCHEDULES: u32 = 10_000;
const WATCHERS: usize = 1_000;

/// The duration of the idle phase.
const IDLE: Duration = Duration::from_secs(30);

/// The bounds: the share of one processor, and the memory.
const SHARE: f64 = 1.0;
const BYTES: u64 = 50 * 1024 * 1024;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let before = memory::resident().unwrap_or_default();
        let shop = Shop::open().await?;
        let later = Zoned::now().checked_add(SignedDuration::from_hours(24))?;
        for chunk in 0..SCHEDULES / 500 {
            let due =
                |number: u32| later.checked_add(SignedDuration::from_secs((chunk * 500 + number).into()));
            let dues = (0..500).map(due).collect::<Result<Vec<_>, _>>()?;
            try_join_all(dues.into_iter().map(|due| shop.schedule(due))).await?;
        }
        for _ in 0..WATCHERS {
            let mut request = WatchRequest::new("shop.machine", JsonObject::new());
            request.interval = 3_600;
            shop.watchers.start(request, &context()).await?;
        }
        // The first check of each runs at once, and is not part of the idle phase.
        while shop.entrance.0.lock().len() < WATCHERS {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
        let began = processor::time().ok_or("the processor time is not told here")?;
        tokio::time::sleep(IDLE).await;
        let taken = processor::time().ok_or("the processor time is not told here")?.saturating_sub(began);
        let share = 100.0 * taken.as_secs_f64() / IDLE.as_secs_f64();
        Row::new("10,000 schedules, 1,000 watchers: of one core, idle", Figure::Percent(share))
            .at_most(Figure::Percent(SHARE))
            .print();
        let bytes = memory::resident().unwrap_or_default().saturating_sub(before);
        Row::new("their memory", Figure::Bytes(bytes)).at_most(Figure::Bytes(BYTES)).print();
        shop.close().await;
        Ok(())
    })
}

//! Exact rate limits, which processes count together.

use std::collections::HashMap;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::*;
use crate::flow::SharedRates;

/// A store in memory.
#[derive(Default)]
struct Rates {
    on_time: Mutex<HashMap<String, Instant>>,
    is_away: Mutex<bool>,
}

#[async_trait]
impl SharedRates for Rates {
    async fn count(&self, id: &str, interval: Duration, tolerance: Duration) -> Result<Duration, String> {
        if *self.is_away.lock() {
            return Err("it is away".into());
        }
        let now = Instant::now();
        let mut all = self.on_time.lock();
        let on_time = all.entry(id.to_owned()).or_insert(now);
        let at = (*on_time).max(now);
        if at - now > tolerance {
            return Ok((at - now).saturating_sub(tolerance));
        }
        *on_time = at + interval;
        Ok(Duration::ZERO)
    }
}

fn replica(rates: &Arc<Rates>, rate: &Value) -> FlowControl {
    let flow = flow(json!({"source": {"rate": rate}}));
    flow.processes().set(2);
    flow.with_shared_rates(Arc::clone(rates) as _)
}

/// Returns the seconds at which calls start, so many of each process.
async fn starts(replicas: &[FlowControl], count: usize) -> Vec<u64> {
    let (started, call) = (Instant::now(), plain("far"));
    let calls = replicas.iter().flat_map(|replica| (0..count).map(move |_| replica));
    let mut all = futures::future::join_all(calls.map(|replica| async {
        let mut at = 0;
        let attempt = || {
            at = started.elapsed().as_secs();
            async { call.ok("fine") }
        };
        replica.go(&call, None, attempt).await;
        at
    }))
    .await;
    all.sort_unstable();
    all
}

#[tokio::test(start_paused = true)]
async fn all_processes_together_keep_to_an_exact_limit() {
    let rates = Arc::new(Rates::default());
    let rate = json!({"calls": 60, "per_seconds": 60, "burst": 3, "exact": true});
    let replicas = [replica(&rates, &rate), replica(&rates, &rate)];
    assert_eq!(starts(&replicas[..1], 4).await, [0, 0, 0, 1], "one process may use all of it");
    pass(seconds(60)).await;
    assert_eq!(starts(&replicas, 4).await, [0, 0, 0, 1, 2, 3, 4, 5]);
    assert_eq!(rates.on_time.lock().keys().collect::<Vec<_>>(), ["source far"]);
    let other = json!({"calls": 60, "per_seconds": 60, "burst": 2});
    assert_eq!(starts(&[replica(&rates, &other)], 2).await, [0, 2], "others are shares of a process");
    assert_eq!(rates.on_time.lock().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_be_counted_does_not_run() {
    let rates = Arc::new(Rates::default());
    let replica = replica(&rates, &json!({"calls": 1, "per_seconds": 30, "exact": true}));
    let call = plain("far");
    let go = |deadline| replica.go(&call, deadline, || async { call.ok("fine") });
    *rates.is_away.lock() = true;
    let error = error_of(go(None).await);
    assert_eq!((error.kind, error.retryable), (ErrorKind::Unavailable, true));
    assert!(error.message.contains("is counted in the store, which is away"), "{error}");
    *rates.is_away.lock() = false;
    assert!(go(None).await.is_ok());
    // The second waits; the third learns at once that its time is too short.
    let (second, third) = tokio::join!(go(within(40)), async {
        pass(seconds(1)).await;
        go(within(10)).await
    });
    assert!(second.is_ok());
    assert_eq!(kind_of(&third), Some(ErrorKind::Overloaded));
    assert_eq!(replica.usage(), Usage::default());
}

//! The Tokio task that waits for all schedules.

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::select;
use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::SchedulesInner;
use super::record::Schedule;
use super::table::LiveSchedule;
use super::transitions::CLOCK_SET_BACK;

/// The interval at which failed writes are retried, and the changes of other processes are read from a shared store.
const MAINTENANCE_INTERVAL: Duration = Duration::from_mins(1);

/// Processes schedules when they are due, until intake stops or all handles are dropped.
pub(super) async fn run(inner: Weak<SchedulesInner>) {
    let mut seen = Timestamp::MIN;
    let mut maintained_at = Instant::now();
    let mut maintenance: Option<JoinHandle<()>> = None;
    loop {
        let Some(strong) = inner.upgrade() else { return };
        let (services, woken) = (Arc::clone(&strong.services), Arc::clone(&strong.woken));
        let now = services.clock.now();
        for id in strong.table.take_woken(now) {
            tokio::spawn(Arc::clone(&strong).process_due(id));
        }
        let was_set_back = seen.duration_since(now) > CLOCK_SET_BACK;
        seen = now;
        let is_free = maintenance.as_ref().is_none_or(JoinHandle::is_finished);
        if is_free && (was_set_back || maintained_at.elapsed() >= MAINTENANCE_INTERVAL) {
            maintained_at = Instant::now();
            maintenance = Some(tokio::spawn(Arc::clone(&strong).run_maintenance(was_set_back)));
        }
        let next = strong.table.next_wake().unwrap_or(Timestamp::MAX);
        drop(strong);
        let (woken, due) = (pin!(woken.notified()), pin!(services.sleep_towards(next)));
        if services.closing().run_until_cancelled(select(woken, due)).await.is_none() {
            return;
        }
    }
}

impl SchedulesInner {
    /// Runs the maintenance on a separate task, so that a slow store delays no schedule.
    async fn run_maintenance(self: Arc<Self>, was_set_back: bool) {
        if was_set_back {
            self.reset_all().await;
        }
        if self.services.is_shared()
            && let Err(error) = self.reload_all().await
        {
            tracing::warn!(%error, "schedules of other processes are not seen");
        }
        self.save_pending().await;
    }

    /// Resets the schedules that a clock far ahead has left with a next run in the far future.
    pub(super) async fn reset_all(&self) {
        let now = self.services.clock.now();
        for live in self.table.matching(|live| live.schedule().is_stuck(now)) {
            let _change_lock = live.change_lock.lock().await;
            let mut schedule = Schedule::clone(&live.schedule());
            schedule.next = live.time.after(now);
            // A failed write is retried with the next run.
            let _ = self.save(&live, schedule, Vec::new()).await;
            self.wake(&live);
        }
    }

    /// Retries failed writes.
    async fn save_pending(&self) {
        let is_shared = self.services.is_shared();
        // In a shared store, another process may own the record by now.
        let lacks = |live: &LiveSchedule| !(live.is_current() || is_shared && live.is_stored());
        for live in self.table.matching(lacks) {
            let _change_lock = live.change_lock.lock().await;
            let schedule = Schedule::clone(&live.schedule());
            let is_known = self.table.get(&live.id).is_some();
            if is_known && self.save(&live, schedule, Vec::new()).await.is_err() {
                return;
            }
        }
    }
}

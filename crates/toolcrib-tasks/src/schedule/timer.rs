//! The one task that waits for all schedules.

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::select;
use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Inner;
use super::decision::SET_BACK;
use super::record::Schedule;
use super::table::Live;

/// How often what could not be kept is kept again, and, where a store is shared, what other processes have made is read.
const CHORES: Duration = Duration::from_mins(1);

/// Wakes schedules when it is time, until nothing more is started or nobody has them any more.
pub(super) async fn run(inner: Weak<Inner>) {
    let mut seen = Timestamp::MIN;
    let mut chores_at = Instant::now();
    let mut chores: Option<JoinHandle<()>> = None;
    loop {
        let Some(strong) = inner.upgrade() else { return };
        let (services, woken) = (Arc::clone(&strong.services), Arc::clone(&strong.woken));
        let now = services.clock.now();
        for id in strong.table.take_woken(now) {
            tokio::spawn(Arc::clone(&strong).begin(id));
        }
        let was_set_back = seen.duration_since(now) > SET_BACK;
        seen = now;
        let is_free = chores.as_ref().is_none_or(JoinHandle::is_finished);
        if is_free && (was_set_back || chores_at.elapsed() >= CHORES) {
            chores_at = Instant::now();
            chores = Some(tokio::spawn(Arc::clone(&strong).do_chores(was_set_back)));
        }
        let next = strong.table.next_wake().unwrap_or(Timestamp::MAX);
        drop(strong);
        let (woken, due) = (pin!(woken.notified()), pin!(services.sleep_towards(next)));
        if services.closing().run_until_cancelled(select(woken, due)).await.is_none() {
            return;
        }
    }
}

impl Inner {
    /// What is done beside the waiting, so that a store that is slow holds nothing up.
    async fn do_chores(self: Arc<Self>, was_set_back: bool) {
        if was_set_back {
            self.reset_all().await;
        }
        if self.services.is_shared()
            && let Err(error) = self.read_all_again().await
        {
            tracing::warn!(%error, "schedules of other processes are not seen");
        }
        self.keep_again().await;
    }

    /// Starts again from now what a clock that was far ahead has left waiting.
    pub(super) async fn reset_all(&self) {
        let now = self.services.clock.now();
        for live in self.table.matching(|live| live.schedule().is_stuck(now)) {
            let _gate = live.gate.lock().await;
            let mut schedule = Schedule::clone(&live.schedule());
            schedule.next = live.time.after(now);
            // It is kept with its next run where it cannot be now.
            let _ = self.keep(&live, schedule, Vec::new()).await;
            self.wake(&live);
        }
    }

    /// Keeps what could not be kept before.
    async fn keep_again(&self) {
        let is_shared = self.services.is_shared();
        // A record that the store knows may be another process's by now.
        let lacks = |live: &Live| !(live.is_current() || is_shared && live.is_stored());
        for live in self.table.matching(lacks) {
            let _gate = live.gate.lock().await;
            let schedule = Schedule::clone(&live.schedule());
            let is_known = self.table.get(&live.id).is_some();
            if is_known && self.keep(&live, schedule, Vec::new()).await.is_err() {
                return;
            }
        }
    }
}

//! The Tokio task that waits for all tasks of a ledger.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::select;
use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Ledger;
use super::due::DueTime;
use super::task::{Live, LocalState, Task};
use crate::services::LEASE_TIME;

/// The longest sleep before the clock is read again, since the wall clock may be set meanwhile.
const CLOCK_CHECK: Duration = Duration::from_secs(15);

/// The interval of maintenance, after which the tasks of a process that has ended can be taken over.
const MAINTENANCE_INTERVAL: Duration = LEASE_TIME;

/// The amount by which the clock must be set back for due times to be reset.
pub(crate) const CLOCK_SET_BACK: SignedDuration = SignedDuration::from_hours(24);

/// The work of one kind of task.
pub(crate) trait Policy<T: Task, L: LocalState, D: DueTime>: Send + Sync + 'static {
    fn ledger(&self) -> &Ledger<T, L, D>;

    /// Starts to process a task that is due.
    fn process(self: &Arc<Self>, live: Arc<Live<T, L>>);

    /// Sets the due times after the changes of other processes were loaded, or after the clock was set back.
    fn maintain(self: Arc<Self>, was_set_back: bool) -> impl Future<Output = ()> + Send;
}

/// Starts the timer of a ledger, which ends when intake stops or all handles are dropped.
pub(crate) fn start_timer<P, T, L, D>(policy: &Arc<P>)
where
    P: Policy<T, L, D>,
    T: Task,
    L: LocalState,
    D: DueTime,
{
    tokio::spawn(run::<P, T, L, D>(Arc::downgrade(policy)));
}

impl<T: Task, L: LocalState, D: DueTime> Ledger<T, L, D> {
    /// Returns true if the timer is not started yet, and from then on false.
    pub(crate) fn begin_timer(&self) -> bool {
        !self.has_timer.swap(true, Ordering::AcqRel)
    }
}

async fn run<P, T, L, D>(policy: Weak<P>)
where
    P: Policy<T, L, D>,
    T: Task,
    L: LocalState,
    D: DueTime,
{
    let mut seen = Timestamp::MIN;
    let mut maintained_at = Instant::now();
    let mut maintenance: Option<JoinHandle<()>> = None;
    loop {
        let Some(strong) = policy.upgrade() else { return };
        let ledger = strong.ledger();
        let (services, woken) = (Arc::clone(&ledger.services), Arc::clone(&ledger.woken));
        for live in ledger.table.take_due(D::now(&*services.clock)) {
            strong.process(live);
        }
        let now = services.clock.now();
        let was_set_back = seen.duration_since(now) > CLOCK_SET_BACK;
        seen = now;
        let is_free = maintenance.as_ref().is_none_or(JoinHandle::is_finished);
        if is_free && (was_set_back || maintained_at.elapsed() >= MAINTENANCE_INTERVAL) {
            maintained_at = Instant::now();
            // A separate task, so that a slow store delays no due task.
            maintenance = Some(tokio::spawn(maintain::<P, T, L, D>(Arc::clone(&strong), was_set_back)));
        }
        let next = ledger.table.next_due();
        let left = next.map_or(CLOCK_CHECK, |next| next.since(D::now(&*services.clock)));
        drop(strong);
        let (woken, sleep) = (pin!(woken.notified()), pin!(tokio::time::sleep(left.min(CLOCK_CHECK))));
        if services.closing().run_until_cancelled(select(woken, sleep)).await.is_none() {
            return;
        }
    }
}

async fn maintain<P, T, L, D>(policy: Arc<P>, was_set_back: bool)
where
    P: Policy<T, L, D>,
    T: Task,
    L: LocalState,
    D: DueTime,
{
    if policy.ledger().services.is_shared() {
        policy.ledger().reload_all().await;
    }
    policy.maintain(was_set_back).await;
}

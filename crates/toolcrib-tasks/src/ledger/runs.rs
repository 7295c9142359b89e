//! The runs of tasks that are in progress in this process.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use toolcrib_port::{CallPhase, PhaseTracker};

use super::Ledger;
use super::due::DueTime;
use super::task::{Live, LocalState, Task};

/// The time that a cancelled run has to end.
pub(crate) const CANCEL_WAIT: Duration = Duration::from_secs(5);

/// A guard of a run in progress, which ends when it is dropped.
pub(crate) struct Run<T: Task, L: LocalState> {
    live: Arc<Live<T, L>>,
    due: Timestamp,
    running: watch::Sender<usize>,
}

impl<T: Task, L: LocalState> Drop for Run<T, L> {
    fn drop(&mut self) {
        self.live.end_run(self.due);
        self.running.send_modify(|running| *running = running.saturating_sub(1));
    }
}

impl<T: Task, L: LocalState, D: DueTime> Ledger<T, L, D> {
    /// Begins a run, which `cancel` cancels.
    pub(crate) fn begin_run(
        &self,
        live: &Arc<Live<T, L>>,
        due: Timestamp,
        cancel: CancellationToken,
    ) -> Run<T, L> {
        live.begin_run(due, cancel);
        self.running.send_modify(|running| *running += 1);
        Run { live: Arc::clone(live), due, running: self.running.clone() }
    }

    /// Returns a receiver of the number of runs in progress.
    pub(crate) fn running(&self) -> watch::Receiver<usize> {
        self.running.subscribe()
    }

    /// Returns the names of the tasks whose runs are in progress and do not wait for a person.
    pub(crate) fn in_progress(&self) -> Vec<String> {
        let busy = |live: &Arc<Live<T, L>>| live.is_running() && !live.task().waits_for_person();
        self.all().iter().filter(|live| busy(live)).map(|live| format!("{} {}", T::NAME, live.id)).collect()
    }

    /// Returns a token for a run, which is cancelled when all runs must end.
    pub(crate) fn run_token(&self) -> CancellationToken {
        self.ending.child_token()
    }

    /// Returns true if all runs must end.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.is_cancelled()
    }

    /// Waits for a condition that the end of a run may fulfill.
    pub(crate) async fn run_ended(&self, is_reached: impl Fn(usize) -> bool) {
        // `self` holds the sender, so this cannot fail.
        let _ = self.running().wait_for(|running| is_reached(*running)).await;
    }

    /// Waits for the current runs to end, and cancels them after the given time. Runs that do not end even then are
    /// dropped with the program.
    pub(crate) async fn close(&self, time: Duration) {
        let ended = || self.run_ended(|running| running == 0);
        if tokio::time::timeout(time, ended()).await.is_err() {
            self.ending.cancel();
            self.all().iter().for_each(|live| live.cancel_runs());
            // A run may need the time that its own cancelled call has to end, and then some to record that.
            let _ = tokio::time::timeout(2 * CANCEL_WAIT, ended()).await;
        }
    }
}

/// Makes a call, and reports meanwhile when it begins and ceases to wait for a person.
pub(crate) async fn track_waiting<'a, R>(
    phase: &PhaseTracker,
    call: impl Future<Output = R>,
    set_waiting: impl Fn(bool) -> BoxFuture<'a, ()>,
) -> R {
    tokio::select! {
        biased;
        done = call => done,
        never = report_waiting(phase, set_waiting) => match never {},
    }
}

async fn report_waiting<'a>(
    phase: &PhaseTracker,
    set_waiting: impl Fn(bool) -> BoxFuture<'a, ()>,
) -> Infallible {
    loop {
        phase.wait_until(|phase| phase == CallPhase::WaitingForPerson).await;
        set_waiting(true).await;
        phase.wait_until(|phase| phase != CallPhase::WaitingForPerson).await;
        set_waiting(false).await;
    }
}

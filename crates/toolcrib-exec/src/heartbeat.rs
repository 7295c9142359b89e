//! Deadlines of calls that report their progress.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use toolcrib_port::{PhaseTracker, Progress, ProgressListener};
use toolcrib_results::Redactor;

/// A deadline that each progress report extends. It forwards progress to the next listener.
pub(crate) struct Heartbeat {
    deadline: Mutex<Deadline>,
    /// The time that the call has after each report.
    time_limit: Duration,
    /// The last possible deadline.
    latest: Deadline,
    /// The phase of the call: time spent waiting for a person counts against no deadline.
    phase: PhaseTracker,
    listener: Option<Arc<dyn ProgressListener>>,
    redactor: Arc<Redactor>,
}

/// A deadline, with the time that the call had spent waiting for a person when it was set.
#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    waited: Duration,
}

impl Deadline {
    fn extended(self, waited: Duration) -> Instant {
        self.at + waited.saturating_sub(self.waited)
    }
}

impl Heartbeat {
    /// Creates the heartbeat of a call whose first report is due at `first`, and which must end by `latest`.
    pub(crate) fn new(
        first: Instant,
        time_limit: Duration,
        latest: Instant,
        phase: PhaseTracker,
        listener: Option<Arc<dyn ProgressListener>>,
        redactor: Arc<Redactor>,
    ) -> Self {
        let waited = phase.waited();
        let (deadline, latest) = (Deadline { at: first, waited }, Deadline { at: latest, waited });
        Self { deadline: Mutex::new(deadline), time_limit, latest, phase, listener, redactor }
    }

    /// Returns the current deadline.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline.lock().extended(self.phase.waited())
    }

    /// Waits until the deadline has passed.
    pub(crate) async fn passed(&self) {
        loop {
            let deadline = self.deadline();
            if deadline <= Instant::now() {
                return;
            }
            self.phase.sleep_until(deadline).await;
        }
    }
}

impl ProgressListener for Heartbeat {
    fn progress(&self, progress: &Progress) {
        let waited = self.phase.waited();
        let at = (Instant::now() + self.time_limit).min(self.latest.extended(waited));
        *self.deadline.lock() = Deadline { at, waited };
        if let Some(listener) = &self.listener {
            let message =
                progress.message.as_deref().map(|message| self.redactor.redact(message).into_owned());
            listener.progress(&Progress { message, ..progress.clone() });
        }
    }
}

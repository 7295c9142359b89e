//! Deadlines of calls that report their progress.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_port::{PhaseTracker, Progress, ProgressListener};

use crate::results::Redactor;

/// A deadline that each sign of life moves. It passes progress on to the next listener.
pub(crate) struct Heartbeat {
    deadline: Mutex<Deadline>,
    /// The time that the call has after each sign.
    patience: Duration,
    /// The last possible deadline.
    latest: Deadline,
    /// Time spent waiting for a person counts in no deadline.
    phase: PhaseTracker,
    listener: Option<Arc<dyn ProgressListener>>,
    redactor: Arc<Redactor>,
}

/// A deadline, and the time that the call had spent waiting for a person when it was set.
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
    /// Creates the heartbeat of a call that has until `first` for its first sign, and never longer than until `latest`.
    pub(crate) fn new(
        first: Instant,
        patience: Duration,
        latest: Instant,
        phase: PhaseTracker,
        listener: Option<Arc<dyn ProgressListener>>,
        redactor: Arc<Redactor>,
    ) -> Self {
        let waited = phase.waited();
        let (deadline, latest) = (Deadline { at: first, waited }, Deadline { at: latest, waited });
        Self { deadline: Mutex::new(deadline), patience, latest, phase, listener, redactor }
    }

    /// Returns the current deadline.
    pub(crate) fn deadline(&self) -> Instant {
        self.lock().extended(self.phase.waited())
    }

    /// Comes back when the deadline has passed.
    pub(crate) async fn passed(&self) {
        loop {
            let deadline = self.deadline();
            if deadline <= Instant::now() {
                return;
            }
            self.phase.sleep_until(deadline).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Deadline> {
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProgressListener for Heartbeat {
    fn progress(&self, progress: &Progress) {
        let waited = self.phase.waited();
        let at = (Instant::now() + self.patience).min(self.latest.extended(waited));
        *self.lock() = Deadline { at, waited };
        if let Some(listener) = &self.listener {
            let message =
                progress.message.as_deref().map(|message| self.redactor.redact(message).into_owned());
            listener.progress(&Progress { message, ..progress.clone() });
        }
    }
}

//! Deadlines of calls that say how far they are.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_port::{Progress, ProgressListener};

use crate::results::Redactor;

/// Moves the deadline of a call with each sign of life, and passes the sign on.
pub(crate) struct Heartbeat {
    deadline: Mutex<Instant>,
    /// How long the call has after each sign.
    patience: Duration,
    /// The end in any case.
    latest: Instant,
    listener: Option<Arc<dyn ProgressListener>>,
    redactor: Arc<Redactor>,
}

impl Heartbeat {
    /// A call that has until `deadline` for its first sign, and never longer than until `latest`.
    pub(crate) fn new(
        deadline: Instant,
        patience: Duration,
        latest: Instant,
        listener: Option<Arc<dyn ProgressListener>>,
        redactor: Arc<Redactor>,
    ) -> Self {
        Self { deadline: Mutex::new(deadline), patience, latest, listener, redactor }
    }

    /// The deadline as it is now.
    pub(crate) fn deadline(&self) -> Instant {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn extend(&self) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) =
            (Instant::now() + self.patience).min(self.latest);
    }

    /// Comes back when the deadline has passed, wherever it has moved to meanwhile.
    pub(crate) async fn passed(&self) {
        loop {
            let deadline = self.deadline();
            if deadline <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(deadline).await;
        }
    }
}

impl ProgressListener for Heartbeat {
    fn progress(&self, progress: &Progress) {
        self.extend();
        if let Some(listener) = &self.listener {
            let message =
                progress.message.as_deref().map(|message| self.redactor.redact(message).into_owned());
            listener.progress(&Progress { message, ..progress.clone() });
        }
    }

    fn waits(&self) {
        self.extend();
        if let Some(listener) = &self.listener {
            listener.waits();
        }
    }
}

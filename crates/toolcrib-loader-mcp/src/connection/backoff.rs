//! The backoff policy for servers that fail to start, or exit right after they start.

use std::time::Duration;

use tokio::time::Instant;

use crate::Error;
use crate::transport::process::ProcessExit;

/// The wait after the first failed start, or after the second early exit. Each further failure doubles it.
pub(crate) const FIRST_BACKOFF: Duration = Duration::from_millis(500);

/// The longest wait between two attempts to start a server.
pub(crate) const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// The uptime after which the exit of a server no longer counts as a failed start. An answered call has the same
/// effect, regardless of the uptime.
pub(crate) const SETTLED_AFTER: Duration = Duration::from_secs(10);

/// The cause of the last failure.
#[derive(Clone)]
pub(crate) enum FailureCause {
    Error(Error),
    /// The process exited. Its last output may not have arrived yet, so it is read when the error is built.
    Exited {
        target: String,
        exit: ProcessExit,
    },
}

/// The consecutive failures of a server, and the time of the next attempt.
#[derive(Clone)]
pub(crate) struct Failure {
    times: u32,
    cause: FailureCause,
    pub(crate) retry_at: Instant,
}

impl Failure {
    /// Creates the failure of a server that did not start, after `before` failures.
    pub(crate) fn failed_start(before: u32, cause: Error) -> Self {
        let (times, cause) = (before.saturating_add(1), FailureCause::Error(cause));
        Self { times, cause, retry_at: Instant::now() + backoff(before) }
    }

    /// Creates the failure of a server that started and soon exited, after `before` failures. The first early exit may
    /// be a coincidence, so the server is started again at once.
    pub(crate) fn early_exit(before: u32, cause: FailureCause) -> Self {
        let wait = before.checked_sub(1).map(backoff).unwrap_or_default();
        Self { times: before.saturating_add(1), cause, retry_at: Instant::now() + wait }
    }

    /// Returns the number of consecutive failures.
    pub(crate) fn times(&self) -> u32 {
        self.times
    }

    /// Returns true if the server did not start, or exited early more than once.
    pub(crate) fn is_persistent(&self) -> bool {
        self.times > 1 || matches!(self.cause, FailureCause::Error(_))
    }

    /// Returns the error for callers while the backoff lasts, and `None` once the server may be started again.
    pub(crate) fn backoff_error(&self) -> Option<Error> {
        let wait = self.retry_at.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then(|| Error::Backoff { last: Box::new(self.reason()), wait })
    }

    /// Returns the error of the last failure.
    pub(crate) fn reason(&self) -> Error {
        match &self.cause {
            FailureCause::Error(error) => error.clone(),
            FailureCause::Exited { target, exit } => Error::ExitedEarly {
                target: target.clone(),
                status: exit.status(),
                stderr: exit.last_output(),
            },
        }
    }
}

/// Returns the wait after this many doublings.
fn backoff(doublings: u32) -> Duration {
    FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(doublings)).min(MAX_BACKOFF)
}

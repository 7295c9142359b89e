//! How long a server is left alone that does not start, or starts and ends at once.

use std::time::Duration;

use tokio::time::Instant;

use crate::Error;
use crate::stdio::End;

/// How long to leave a server alone after it failed to start for the first time, or ended at once for the second. Each
/// further failure doubles it.
pub const FIRST_BACKOFF: Duration = Duration::from_millis(500);

/// The longest that a server which fails is left alone.
pub const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// How long a server has to live for its end to be no failure of its start. One that has answered a call has been of
/// use, however long it lived.
pub const SETTLED_AFTER: Duration = Duration::from_secs(10);

/// What went wrong last.
#[derive(Clone)]
pub(crate) enum Last {
    Error(Error),
    /// The process ended. What it wrote last may not have arrived yet, and so is looked at when somebody asks.
    Ended {
        target: String,
        end: End,
    },
}

/// How often in a row the server was of no use, and when it may be tried again.
#[derive(Clone)]
pub(crate) struct Failure {
    times: u32,
    last: Last,
    pub(crate) retry_at: Instant,
}

impl Failure {
    /// The server did not start, after so many failures before.
    pub(crate) fn to_start(before: u32, last: Error) -> Self {
        let (times, last) = (before.saturating_add(1), Last::Error(last));
        Self { times, last, retry_at: Instant::now() + backoff(before) }
    }

    /// The server started and soon ended, after so many failures before. The first time may be chance: it is started again
    /// at once.
    pub(crate) fn to_stay(before: u32, last: Last) -> Self {
        let wait = before.checked_sub(1).map(backoff).unwrap_or_default();
        Self { times: before.saturating_add(1), last, retry_at: Instant::now() + wait }
    }

    pub(crate) fn times(&self) -> u32 {
        self.times
    }

    /// Returns true if the server did not start, or has ended at once more than once.
    pub(crate) fn is_lasting(&self) -> bool {
        self.times > 1 || matches!(self.last, Last::Error(_))
    }

    /// Why the server is not tried now; `None` when it may be.
    pub(crate) fn waiting(&self) -> Option<Error> {
        let wait = self.retry_at.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then(|| Error::Waiting { last: Box::new(self.reason()), wait })
    }

    /// What went wrong last.
    pub(crate) fn reason(&self) -> Error {
        match &self.last {
            Last::Error(error) => error.clone(),
            Last::Ended { target, end } => {
                Error::Ended { target: target.clone(), status: end.status(), said: end.words() }
            }
        }
    }
}

fn backoff(doublings: u32) -> Duration {
    FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(doublings)).min(MAX_BACKOFF)
}

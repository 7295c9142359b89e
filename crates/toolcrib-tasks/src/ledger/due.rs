//! Due times: wall-clock times, or times of `tokio`, on which setting the clock has no effect.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use crate::Clock;

/// A time at which a task must be processed.
pub(crate) trait DueTime: Copy + Ord + Send + Sync + 'static {
    /// Returns the current time.
    fn now(clock: &dyn Clock) -> Self;

    /// Returns the time from `now` until `self`, or zero if it has passed.
    fn since(self, now: Self) -> Duration;
}

impl DueTime for Timestamp {
    fn now(clock: &dyn Clock) -> Self {
        clock.now()
    }

    fn since(self, now: Self) -> Duration {
        Duration::try_from(self.duration_since(now)).unwrap_or(Duration::ZERO)
    }
}

impl DueTime for Instant {
    fn now(_: &dyn Clock) -> Self {
        Self::now()
    }

    fn since(self, now: Self) -> Duration {
        self.saturating_duration_since(now)
    }
}

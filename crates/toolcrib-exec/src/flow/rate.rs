//! So many calls in so much time.
//!
//! The generic cell rate algorithm: one instant says when the next call would be on time, and a call may be early by as
//! much as the burst allows. Calls that are too early wait in the order in which they came. Only the first of them waits
//! for the clock, so one that gives up takes no other's turn along.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::settings::RateLimit;

#[derive(Debug)]
pub(super) struct Rate {
    /// From one call to the next.
    interval: Duration,
    /// How early a call may be.
    tolerance: Duration,
    /// When the next call is on time; `None` before the first.
    on_time: Mutex<Option<Instant>>,
    /// Held by the first of those who wait.
    turn: Semaphore,
}

impl Rate {
    pub(super) fn new(limit: &RateLimit) -> Self {
        let interval = limit.per / limit.calls.get();
        let burst = limit.burst.unwrap_or(limit.calls).get();
        Self {
            interval,
            tolerance: interval.saturating_mul(burst - 1),
            on_time: Mutex::default(),
            turn: Semaphore::new(1),
        }
    }

    /// Counts a call, unless it would be too early or others wait.
    pub(super) fn take_now(&self, now: Instant) -> bool {
        self.turn.try_acquire().is_ok_and(|_turn| self.count(now).is_ok())
    }

    /// Counts a call as soon as it is its turn.
    pub(super) async fn take(&self) {
        // The semaphore is never closed.
        let _turn = self.turn.acquire().await;
        while let Err(at) = self.count(Instant::now()) {
            tokio::time::sleep_until(at).await;
        }
    }

    /// How long a call would wait behind so many others.
    pub(super) fn wait_behind(&self, others: usize, now: Instant) -> Duration {
        let on_time = *self.on_time.lock().unwrap_or_else(PoisonError::into_inner);
        let until_next = on_time.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
        let others = u32::try_from(others).unwrap_or(u32::MAX);
        (until_next + self.interval.saturating_mul(others)).saturating_sub(self.tolerance)
    }

    /// Whether it knows nothing that a new one would not know.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.on_time.lock().unwrap_or_else(PoisonError::into_inner).is_none_or(|at| at <= now)
    }

    /// Counts a call, or says when it could be counted.
    fn count(&self, now: Instant) -> Result<(), Instant> {
        let mut on_time = self.on_time.lock().unwrap_or_else(PoisonError::into_inner);
        let at = on_time.map_or(now, |at| at.max(now));
        if at - now > self.tolerance {
            return Err(at - self.tolerance);
        }
        *on_time = Some(at + self.interval);
        Ok(())
    }
}

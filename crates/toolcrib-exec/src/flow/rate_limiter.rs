//! A rate limiter.
//!
//! It uses the generic cell rate algorithm: one instant is the time at which the next call conforms, and a call may be
//! early by as much as the burst allows. Calls that are too early wait in order. Only the first of them waits for the
//! clock, so a call that gives up does not affect the others.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::settings::RateLimit;

#[derive(Debug)]
pub(super) struct RateLimiter {
    /// The interval between two calls.
    interval: Duration,
    /// The time that a call may be early.
    tolerance: Duration,
    /// The time at which the next call conforms; `None` before the first.
    on_time: Mutex<Option<Instant>>,
    /// Held by the first waiting call.
    turn: Semaphore,
}

impl RateLimiter {
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

    /// Counts a call, unless it is too early or others wait.
    pub(super) fn take_now(&self, now: Instant) -> bool {
        self.turn.try_acquire().is_ok_and(|_turn| self.count(now).is_ok())
    }

    /// Waits until the call conforms, and counts it.
    pub(super) async fn take(&self) {
        // The semaphore is never closed.
        let _turn = self.turn.acquire().await;
        while let Err(at) = self.count(Instant::now()) {
            tokio::time::sleep_until(at).await;
        }
    }

    /// Returns the time that a call would wait behind a number of others.
    pub(super) fn wait_behind(&self, others: usize, now: Instant) -> Duration {
        let on_time = *self.on_time.lock();
        let until_next = on_time.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
        let others = u32::try_from(others).unwrap_or(u32::MAX);
        (until_next + self.interval.saturating_mul(others)).saturating_sub(self.tolerance)
    }

    /// Returns true if the state equals that of a new one.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.on_time.lock().is_none_or(|at| at <= now)
    }

    /// Counts a call, or returns the time at which it can be counted.
    fn count(&self, now: Instant) -> Result<(), Instant> {
        let mut on_time = self.on_time.lock();
        let at = on_time.map_or(now, |at| at.max(now));
        if at - now > self.tolerance {
            return Err(at - self.tolerance);
        }
        *on_time = Some(at + self.interval);
        Ok(())
    }
}

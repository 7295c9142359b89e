//! A rate limiter.
//!
//! It uses the generic cell rate algorithm: one instant is the time at which the next call conforms, and a call may be
//! early by as much as the burst allows. Calls that are too early wait in order. Only the first of them waits for the
//! clock, so a call that gives up does not affect the others.
//!
//! Of several processes that serve one app, each admits an equal share of the calls, and at least one at a time.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::process_count::ProcessCount;
use super::settings::RateLimit;

#[derive(Debug)]
pub(super) struct RateLimiter {
    /// The interval between two calls of all processes.
    interval: Duration,
    /// The number of calls at once of all processes.
    burst: u32,
    processes: ProcessCount,
    /// The time at which the next call conforms; `None` before the first.
    on_time: Mutex<Option<Instant>>,
    /// Held by the first waiting call.
    turn: Semaphore,
}

impl RateLimiter {
    pub(super) fn new(limit: &RateLimit, processes: ProcessCount) -> Self {
        Self {
            interval: limit.per / limit.calls.get(),
            burst: limit.burst.unwrap_or(limit.calls).get(),
            processes,
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
        let (interval, tolerance) = self.share();
        (until_next + interval.saturating_mul(others)).saturating_sub(tolerance)
    }

    /// Returns true if the state equals that of a new one.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.on_time.lock().is_none_or(|at| at <= now)
    }

    /// Returns the interval between two calls of this process, and the time that a call may be early.
    fn share(&self) -> (Duration, Duration) {
        let processes = self.processes.get();
        let interval = self.interval.saturating_mul(processes);
        let burst = (self.burst / processes).max(1);
        (interval, interval.saturating_mul(burst - 1))
    }

    /// Counts a call, or returns the time at which it can be counted.
    fn count(&self, now: Instant) -> Result<(), Instant> {
        let (interval, tolerance) = self.share();
        let mut on_time = self.on_time.lock();
        let at = on_time.map_or(now, |at| at.max(now));
        if at - now > tolerance {
            return Err(at - tolerance);
        }
        *on_time = Some(at + interval);
        Ok(())
    }
}

//! A rate limiter.
//!
//! It uses the generic cell rate algorithm: one instant is the time at which the next call conforms, and a call may be
//! early by as much as the burst allows. Calls that are too early wait in order. Only the first of them waits for the
//! clock, so a call that gives up does not affect the others.
//!
//! Of several processes that serve one app, each admits an equal share of the calls, and at least one at a time. They count
//! the calls of an exact limit in a store.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::process_count::ProcessCount;
use super::settings::RateLimit;
use super::shared_rates::{RateSharing, SharedRates};

pub(super) struct RateLimiter {
    /// The interval between two calls of all processes.
    interval: Duration,
    /// The number of calls at once of all processes.
    burst: u32,
    processes: ProcessCount,
    /// The store that counts the calls of all processes, and the id of this limit.
    shared: Option<(Arc<dyn SharedRates>, String)>,
    /// The time at which the next call conforms; `None` before the first.
    on_time: Mutex<Option<Instant>>,
    /// Held by the first waiting call.
    turn: Semaphore,
}

impl RateLimiter {
    pub(super) fn new(limit: &RateLimit, sharing: &RateSharing, id: impl FnOnce() -> String) -> Self {
        let shared = sharing.rates.as_ref().filter(|_| limit.exact);
        let shared = shared.map(|rates| (Arc::clone(rates), id()));
        let processes = if shared.is_some() { ProcessCount::default() } else { sharing.processes.clone() };
        Self {
            interval: limit.per / limit.calls.get(),
            burst: limit.burst.unwrap_or(limit.calls).get(),
            processes,
            shared,
            on_time: Mutex::default(),
            turn: Semaphore::new(1),
        }
    }

    /// Counts a call, unless it is too early or others wait.
    pub(super) fn take_now(&self, now: Instant) -> bool {
        self.shared.is_none() && self.turn.try_acquire().is_ok_and(|_turn| self.count(now).is_ok())
    }

    /// Waits until the call conforms, and counts it. Returns an error if it cannot be counted.
    pub(super) async fn take(&self) -> Result<(), String> {
        // The semaphore is never closed.
        let _turn = self.turn.acquire().await;
        if let Some((rates, id)) = &self.shared {
            let (interval, tolerance) = self.share();
            loop {
                let early = rates.count(id, interval, tolerance).await?;
                if early.is_zero() {
                    return Ok(());
                }
                // Calls that come now are told how long they would wait.
                *self.on_time.lock() = Some(Instant::now() + early + tolerance);
                tokio::time::sleep(early).await;
            }
        }
        while let Err(at) = self.count(Instant::now()) {
            tokio::time::sleep_until(at).await;
        }
        Ok(())
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

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = self.shared.as_ref().map(|(_, id)| id);
        f.debug_struct("RateLimiter")
            .field("interval", &self.interval)
            .field("shared", &shared)
            .finish_non_exhaustive()
    }
}

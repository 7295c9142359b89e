//! Retries: backoff and the retry budget.
//!
//! Only tools that declare themselves idempotent are retried. Low risk is not enough: it expresses the harm that a call
//! can do, and is often guessed from a name, while a tool that reads may still consume what it reads from a queue, or
//! cost money.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_model::{ErrorKind, Tool, ToolResult};

/// The pause before the first retry. It doubles with each retry.
const FIRST_BACKOFF: Duration = Duration::from_millis(200);

/// The maximum pause before a retry. A caller that would have to wait longer gets the error.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// The initial number of retries of a source, which is restored during pauses.
const RESERVE: f64 = 10.0;

/// The number of retries per second that are restored, up to the reserve.
const REFILL_PER_SECOND: f64 = 1.0;

/// The share of a retry that each call adds to the budget.
const SHARE: f64 = 0.2;

/// The maximum number of saved retries.
const MAX_SAVED: f64 = 100.0;

/// Returns the pause before the next retry after a number of retries; `None` if the call should not be retried.
pub(super) fn backoff(tool: &Tool, result: &ToolResult, retries: u32) -> Option<Duration> {
    let error = result.error.as_ref()?;
    let is_transient = error.retryable || error.kind == ErrorKind::OutcomeUnknown;
    if !tool.traits().idempotent || !is_transient || error.kind == ErrorKind::Cancelled {
        return None;
    }
    let asked = result.retry_after();
    if asked.is_some_and(|asked| asked > MAX_BACKOFF) {
        return None;
    }
    let full = FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(retries)).min(MAX_BACKOFF);
    Some(jitter(full).max(asked.unwrap_or_default()))
}

/// Returns a random duration in the second half of the given one, so that calls that failed together do not retry
/// together.
fn jitter(full: Duration) -> Duration {
    // The standard library seeds each `RandomState` differently, which is random enough.
    let chance = RandomState::new().build_hasher().finish();
    let half = full / 2;
    let thousandths = u32::try_from(chance % 1001).unwrap_or(0);
    half + half * thousandths / 1000
}

/// The retry budget of a source. Each call adds a share of a retry, so that retries stay a share of all calls when
/// everything fails; a small reserve that is restored over time serves sources that are seldom called.
#[derive(Debug)]
pub(super) struct RetryBudget {
    saved: f64,
    /// The time at which the reserve was last updated; `None` before its first use.
    updated_at: Option<Instant>,
}

impl RetryBudget {
    pub(super) fn new() -> Self {
        Self { saved: RESERVE, updated_at: None }
    }

    /// Adds the share of one call.
    pub(super) fn add_share(&mut self) {
        self.saved = (self.saved + SHARE).min(MAX_SAVED);
    }

    /// Returns true if a retry is left, and spends it.
    pub(super) fn spend(&mut self, now: Instant) -> bool {
        self.saved = self.saved_at(now);
        self.updated_at = Some(now);
        let is_granted = self.saved >= 1.0;
        if is_granted {
            self.saved -= 1.0;
        }
        is_granted
    }

    /// Returns true if the state equals that of a new one. Retries saved beyond the reserve may be forgotten.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.saved_at(now) >= RESERVE
    }

    fn saved_at(&self, now: Instant) -> f64 {
        let passed = self.updated_at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        let refilled = (self.saved + passed.as_secs_f64() * REFILL_PER_SECOND).min(RESERVE);
        self.saved.max(refilled)
    }
}

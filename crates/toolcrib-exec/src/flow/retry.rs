//! Whether, and when, a call is tried again.
//!
//! Only a tool that declares itself idempotent is. A low risk is not enough: it says how much harm a call can do, and is
//! often guessed from a name, while a tool that reads may still take what it reads from a queue, or cost money.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, Tool, ToolResult};

use super::refusal::RETRY_AFTER;

/// How long it waits before the first retry. It doubles with each.
const FIRST_BACKOFF: Duration = Duration::from_millis(200);

/// The longest that it waits before a retry. Who has to wait longer is told, and decides.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// How many retries a source is granted at first, and again after a pause.
const RESERVE: f64 = 10.0;

/// How many retries a second come back, up to the reserve.
const REFILL_PER_SECOND: f64 = 1.0;

/// How much of a retry each call pays in.
const SHARE: f64 = 0.2;

/// How many retries can be saved up.
const MAX_SAVED: f64 = 100.0;

/// How long to wait before this call is tried again, after so many retries; `None` when it should not be.
pub(super) fn backoff(tool: &Tool, result: &ToolResult, retries: u32) -> Option<Duration> {
    let error = result.error.as_ref()?;
    let is_transient = error.retryable || error.kind == ErrorKind::OutcomeUnknown;
    if !tool.is_idempotent() || !is_transient || error.kind == ErrorKind::Cancelled {
        return None;
    }
    let asked = result.metadata.get(RETRY_AFTER).and_then(Value::as_u64).map(Duration::from_millis);
    if asked.is_some_and(|asked| asked > MAX_BACKOFF) {
        return None;
    }
    let full = FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(retries)).min(MAX_BACKOFF);
    Some(jitter(full).max(asked.unwrap_or_default()))
}

/// Somewhere in the second half of it, so that those who failed together do not come back together.
fn jitter(full: Duration) -> Duration {
    // The standard library seeds each of these anew, which is all the chance that is needed.
    let chance = RandomState::new().build_hasher().finish();
    let half = full / 2;
    let thousandths = u32::try_from(chance % 1001).unwrap_or(0);
    half + half * thousandths / 1000
}

/// How many retries a source is still granted. Calls pay in a part of a retry each, so that retries stay a share of all
/// calls when everything fails; a small reserve that comes back with time is for sources that are seldom called.
#[derive(Debug)]
pub(super) struct Budget {
    saved: f64,
    /// When the reserve was last looked at; `None` while it was never touched.
    looked_at: Option<Instant>,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { saved: RESERVE, looked_at: None }
    }

    /// A call is made.
    pub(super) fn pay_in(&mut self) {
        self.saved = (self.saved + SHARE).min(MAX_SAVED);
    }

    /// Whether there is a retry left. It is spent.
    pub(super) fn spend(&mut self, now: Instant) -> bool {
        self.saved = self.saved_at(now);
        self.looked_at = Some(now);
        let is_granted = self.saved >= 1.0;
        if is_granted {
            self.saved -= 1.0;
        }
        is_granted
    }

    /// Whether it knows nothing that a new one would not know. What was saved beyond the reserve may be forgotten.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.saved_at(now) >= RESERVE
    }

    fn saved_at(&self, now: Instant) -> f64 {
        let passed = self.looked_at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        let refilled = (self.saved + passed.as_secs_f64() * REFILL_PER_SECOND).min(RESERVE);
        self.saved.max(refilled)
    }
}

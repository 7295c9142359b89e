//! A limit on concurrent calls, on their rate, and on the queue of calls that wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::call_chain::{CallChain, LendingGuard};
use super::rate_limiter::RateLimiter;
use super::refusal::{LimitedSubject, Refusal};
use super::settings::LimitSettings;
use super::shared_rates::RateSharing;
use super::wait_limit::WaitLimit;

/// A concurrency limit with a rate limit and a bounded, fair queue.
#[derive(Debug)]
pub(super) struct ConcurrencyLimit {
    settings: LimitSettings,
    permits: Option<Arc<Semaphore>>,
    rate: Option<RateLimiter>,
    waiting: AtomicUsize,
}

/// The permits of a running call. Dropping them releases everything.
#[derive(Debug)]
pub(super) struct ConcurrencyPermit {
    _permit: Option<OwnedSemaphorePermit>,
    _lending: Option<LendingGuard>,
    /// The chain that the calls below this one inherit.
    pub(super) call_chain: CallChain,
    /// The time that the call waited.
    pub(super) waited: Duration,
}

/// A slot in the queue.
struct QueueSlot<'a> {
    limit: &'a ConcurrencyLimit,
    since: Instant,
}

impl ConcurrencyLimit {
    pub(super) fn new(settings: LimitSettings, sharing: &RateSharing, id: impl FnOnce() -> String) -> Self {
        Self {
            permits: settings.permits.map(|permits| Arc::new(Semaphore::new(number_of(permits)))),
            rate: settings.rate.as_ref().map(|rate| RateLimiter::new(rate, sharing, id)),
            waiting: AtomicUsize::new(0),
            settings,
        }
    }

    pub(super) fn settings(&self) -> &LimitSettings {
        &self.settings
    }

    /// Waits for a permit, and then for the rate limit. This order matters, since a source sees the times at which
    /// calls start: calls that passed the rate limit first and then waited for a permit would start all at once.
    pub(super) async fn enter(
        &self,
        subject: LimitedSubject,
        above: &CallChain,
        wait_limit: WaitLimit<'_>,
    ) -> Result<ConcurrencyPermit, Refusal> {
        self.refuse_if_too_late(subject, wait_limit)?;
        let mut queued = None;
        let mut permit = None;
        if let Some(permits) = &self.permits {
            permit = Arc::clone(permits).try_acquire_owned().ok();
            if permit.is_none() {
                queued = Some(self.queue(subject)?);
                permit = Some(wait_limit.wait(acquire(permits, above)).await?);
            }
        }
        if let Some(rate) = &self.rate
            && !rate.take_now(Instant::now())
        {
            if queued.is_none() {
                queued = Some(self.queue(subject)?);
            }
            if let Err(error) = wait_limit.wait(rate.take()).await? {
                tracing::warn!(%error, "a call of an exact rate limit cannot be counted, and is refused");
                return Err(Refusal::Uncounted { subject });
            }
        }
        let (call_chain, lending_guard) = match &self.permits {
            None => (above.clone(), None),
            Some(permits) => above.below(permits),
        };
        let waited = queued.map_or(Duration::ZERO, |queued| queued.since.elapsed());
        Ok(ConcurrencyPermit { _permit: permit, _lending: lending_guard, call_chain, waited })
    }

    /// Returns true if the state equals that of a new one.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.taken() == 0 && self.waiting() == 0 && self.rate.as_ref().is_none_or(|rate| rate.is_idle(now))
    }

    /// Returns the number of permits in use.
    pub(super) fn taken(&self) -> usize {
        match (&self.permits, self.settings.permits) {
            (Some(permits), Some(all)) => number_of(all).saturating_sub(permits.available_permits()),
            _ => 0,
        }
    }

    /// Returns the number of waiting calls.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Refuses a call that would still wait for the rate limit at its deadline.
    fn refuse_if_too_late(&self, subject: LimitedSubject, wait_limit: WaitLimit<'_>) -> Result<(), Refusal> {
        let (Some(rate), Some(deadline)) = (&self.rate, wait_limit.deadline) else { return Ok(()) };
        let now = Instant::now();
        let retry_after = rate.wait_behind(self.waiting(), now);
        if now + retry_after > deadline { Err(Refusal::TooOften { subject, retry_after }) } else { Ok(()) }
    }

    /// Takes a slot in the queue, or returns an error if it is full.
    fn queue(&self, subject: LimitedSubject) -> Result<QueueSlot<'_>, Refusal> {
        let queue = self.settings.queue;
        // The call is counted first, so that no two take the last slot.
        let queued = QueueSlot { limit: self, since: Instant::now() };
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= number_of(queue) {
            return Err(Refusal::Full { subject, queue });
        }
        Ok(queued)
    }
}

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        self.limit.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits for a free permit, or for the borrowed one of a call above.
async fn acquire(permits: &Arc<Semaphore>, above: &CallChain) -> OwnedSemaphorePermit {
    let lent = async {
        match above.lent_permit(permits) {
            Some(permit) => Arc::clone(permit).acquire_owned().await.ok(),
            None => None,
        }
    };
    tokio::select! {
        Ok(permit) = Arc::clone(permits).acquire_owned() => permit,
        Some(permit) = lent => permit,
        // The semaphore is never closed.
        else => std::future::pending().await,
    }
}

/// Returns the count, limited to the capacity of a semaphore.
fn number_of(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS)
}

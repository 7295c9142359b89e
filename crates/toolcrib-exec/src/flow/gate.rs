//! So many at once, so many in a time, and so many who wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::lineage::{Lending, Lineage};
use super::patience::Patience;
use super::rate::Rate;
use super::refusal::{Refusal, Whose};
use super::settings::GatePlan;

/// Lets calls through, in the order in which they came.
#[derive(Debug)]
pub(super) struct Gate {
    plan: GatePlan,
    places: Option<Arc<Semaphore>>,
    rate: Option<Rate>,
    waiting: AtomicUsize,
}

/// What a call holds while it runs. Dropping it gives all back.
#[derive(Debug)]
pub(super) struct Pass {
    _place: Option<OwnedSemaphorePermit>,
    _lending: Option<Lending>,
    /// What the calls below this one inherit.
    pub(super) lineage: Lineage,
    /// How long it took to get here.
    pub(super) waited: Duration,
}

/// A place in the queue.
struct Queued<'a> {
    gate: &'a Gate,
    since: Instant,
}

impl Gate {
    pub(super) fn new(plan: GatePlan) -> Self {
        Self {
            places: plan.places.map(|places| Arc::new(Semaphore::new(number_of(places)))),
            rate: plan.rate.as_ref().map(Rate::new),
            waiting: AtomicUsize::new(0),
            plan,
        }
    }

    pub(super) fn plan(&self) -> &GatePlan {
        &self.plan
    }

    /// Waits for a place, and then for the turn under the rate limit. In this order, since what a source sees is when
    /// calls start: calls that are counted first and then wait for a place would start all at once.
    pub(super) async fn enter(
        self: &Arc<Self>,
        whose: Whose,
        above: &Lineage,
        patience: Patience<'_>,
    ) -> Result<Pass, Refusal> {
        self.refuse_in_vain(whose, patience)?;
        let mut queued = None;
        let mut place = None;
        if let Some(places) = &self.places {
            place = Arc::clone(places).try_acquire_owned().ok();
            if place.is_none() {
                queued = Some(self.queue(whose)?);
                place = Some(patience.wait(self.place(places, above)).await?);
            }
        }
        if let Some(rate) = &self.rate
            && !rate.take_now(Instant::now())
        {
            if queued.is_none() {
                queued = Some(self.queue(whose)?);
            }
            patience.wait(rate.take()).await?;
        }
        let (lineage, lending) = match place {
            None => (above.clone(), None),
            Some(_) => above.below(Arc::clone(self)),
        };
        let waited = queued.map_or(Duration::ZERO, |queued| queued.since.elapsed());
        Ok(Pass { _place: place, _lending: lending, lineage, waited })
    }

    /// Whether it knows nothing that a new one would not know.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.taken() == 0 && self.waiting() == 0 && self.rate.as_ref().is_none_or(|rate| rate.is_idle(now))
    }

    /// How many places are taken.
    pub(super) fn taken(&self) -> usize {
        match (&self.places, self.plan.places) {
            (Some(places), Some(all)) => number_of(all).saturating_sub(places.available_permits()),
            _ => 0,
        }
    }

    /// How many calls wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Turns a call away that would still wait for the rate limit at its deadline.
    fn refuse_in_vain(&self, whose: Whose, patience: Patience<'_>) -> Result<(), Refusal> {
        let (Some(rate), Some(deadline)) = (&self.rate, patience.deadline) else { return Ok(()) };
        let now = Instant::now();
        let retry_after = rate.wait_behind(self.waiting(), now);
        if now + retry_after > deadline { Err(Refusal::TooOften { whose, retry_after }) } else { Ok(()) }
    }

    /// A place in the queue, when there is one.
    fn queue(&self, whose: Whose) -> Result<Queued<'_>, Refusal> {
        let queue = self.plan.queue;
        // It is counted first, so that no two take the last place.
        let queued = Queued { gate: self, since: Instant::now() };
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= number_of(queue) {
            return Err(Refusal::Full { whose, queue });
        }
        Ok(queued)
    }

    /// A free place, or the lent one of a call above, whichever comes first.
    async fn place(self: &Arc<Self>, places: &Arc<Semaphore>, above: &Lineage) -> OwnedSemaphorePermit {
        let lent = async {
            match above.place_of(self) {
                Some(place) => Arc::clone(place).acquire_owned().await.ok(),
                None => None,
            }
        };
        tokio::select! {
            Ok(place) = Arc::clone(places).acquire_owned() => place,
            Some(place) = lent => place,
            // The places of a gate are never closed.
            else => std::future::pending().await,
        }
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.gate.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// As many as a semaphore can hold.
fn number_of(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS)
}

//! The budget of a run and of all runs that it starts.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use toolcrib_model::{Amount, Resource};
use toolcrib_port::{Reservation, RunBudget};

/// The budget of a run, with the amount that it and all runs below it have spent. Each charge also counts for every
/// budget above, so that the remainder of a budget bounds all runs below it together.
///
/// Calls are [taken](RunBudget::take_call) one by one and never exceed a budget. The cost of a request is known only
/// afterwards: concurrent requests [reserve](RunBudget::reserve) the most that they may take, such that only the last of
/// them can exceed the budget.
///
/// ```
/// use std::sync::Arc;
/// use toolcrib_agent::Budget;
/// use toolcrib_model::{Amount, Resource};
/// use toolcrib_port::RunBudget;
///
/// let first = Arc::new(Budget::new(Amount { tokens: 1_000, cost: 500, calls: 2 }));
/// let second = Arc::new(Budget::below(first.clone(), Amount { tokens: 9_000, cost: 500, calls: 9 }));
/// assert!(second.take_call() && first.take_call());
/// assert!(!second.take_call(), "the first one has no more");
/// second.charge(Amount { tokens: 1_200, ..Amount::default() });
/// assert_eq!((first.exhausted(), second.exhausted()), (Some(Resource::Tokens), Some(Resource::Tokens)));
/// assert_eq!(first.spent().tokens, 1_200);
/// ```
#[derive(Debug)]
pub struct Budget {
    most: Amount,
    end: Option<Instant>,
    above: Option<Arc<dyn RunBudget>>,
    /// Locked from a budget to those above it, never the other way round.
    used: Mutex<Used>,
    /// Notified when a request of the tree is over.
    released: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Used {
    spent: Amount,
    reserved: Amount,
}

/// The reservation of a request that may be under way.
struct Reserved {
    budget: Arc<Budget>,
    /// As much as it may take.
    most: Amount,
    above: Option<Box<dyn Reservation>>,
}

impl Budget {
    /// Creates a budget that nothing stands above.
    pub fn new(most: Amount) -> Self {
        Self { most, end: None, above: None, used: Mutex::default(), released: Arc::default() }
    }

    /// Returns a budget of something that is started by what has another one.
    pub fn below(above: Arc<dyn RunBudget>, most: Amount) -> Self {
        let released = Arc::clone(above.released());
        Self { above: Some(above), released, ..Self::new(most) }
    }

    /// Sets when its time is over. What is below has no more.
    pub fn with_end(mut self, end: Instant) -> Self {
        self.end = Some(end);
        self
    }

    /// Sets what was spent before, of which those above know already.
    pub fn with_spent(self, spent: Amount) -> Self {
        self.used.lock().spent = spent;
        self
    }

    /// Returns the budget above.
    pub fn above(&self) -> Option<&Arc<dyn RunBudget>> {
        self.above.as_ref()
    }

    /// Returns the amount spent so far, here and below.
    pub fn spent(&self) -> Amount {
        self.used.lock().spent
    }

    fn lacks(&self, spent: Amount) -> Option<Resource> {
        if spent.tokens >= self.most.tokens {
            Some(Resource::Tokens)
        } else {
            (spent.cost >= self.most.cost).then_some(Resource::Cost)
        }
    }
}

impl RunBudget for Budget {
    fn end(&self) -> Option<Instant> {
        let above = self.above.as_ref().and_then(|above| above.end());
        self.end.into_iter().chain(above).min()
    }

    fn exhausted(&self) -> Option<Resource> {
        self.lacks(self.spent()).or_else(|| self.above.as_ref()?.exhausted())
    }

    fn has_no_calls(&self) -> bool {
        self.spent().calls >= self.most.calls || self.above.as_ref().is_some_and(|above| above.has_no_calls())
    }

    fn take_call(&self) -> bool {
        let mut used = self.used.lock();
        let is_left =
            used.spent.calls < self.most.calls && self.above.as_ref().is_none_or(|above| above.take_call());
        if is_left {
            used.spent.calls += 1;
        }
        is_left
    }

    fn charge(&self, amount: Amount) {
        {
            let mut used = self.used.lock();
            used.spent = used.spent.and(amount);
        }
        if let Some(above) = &self.above {
            above.charge(amount);
        }
    }

    fn reserve(self: Arc<Self>, most: Amount) -> Result<Option<Box<dyn Reservation>>, Resource> {
        if let Some(resource) = self.exhausted() {
            return Err(resource);
        }
        let mut used = self.used.lock();
        if self.lacks(used.spent.and(used.reserved)).is_some() {
            // It may have been charged since the look.
            return self.lacks(used.spent).map_or(Ok(None), Err);
        }
        let above = match self.above.clone().map(|above| above.reserve(most)).transpose()? {
            Some(None) => return Ok(None),
            above => above.flatten(),
        };
        used.reserved = used.reserved.and(most);
        drop(used);
        Ok(Some(Box::new(Reserved { budget: self, most, above })))
    }

    fn released(&self) -> &Arc<Notify> {
        &self.released
    }
}

impl Reservation for Reserved {}

impl Drop for Reserved {
    fn drop(&mut self) {
        {
            let mut used = self.budget.used.lock();
            used.reserved = used.reserved.without(self.most);
        }
        drop(self.above.take());
        self.budget.released.notify_waiters();
    }
}

/// Waits until a request that takes no more than `most` may begin. While others are under way it may only where these
/// leave something, so that no more than one request goes beyond a budget.
pub(crate) async fn admit(
    budget: &Arc<dyn RunBudget>,
    most: Amount,
) -> Result<Box<dyn Reservation>, Resource> {
    loop {
        let released = budget.released().notified();
        tokio::pin!(released);
        // What ends between the look and the waiting is not missed.
        released.as_mut().enable();
        if let Some(reservation) = Arc::clone(budget).reserve(most)? {
            return Ok(reservation);
        }
        released.await;
    }
}

#[cfg(test)]
mod tests;

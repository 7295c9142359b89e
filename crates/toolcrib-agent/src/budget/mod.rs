//! The budget of a run and of all runs that it starts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use toolcrib_port::CallContext;

/// An amount of what runs spend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Tokens, read and written.
    pub tokens: u64,
    /// Money, in millionths of the currency that prices are in.
    pub cost: u64,
    /// Calls of tools.
    pub calls: u64,
}

/// A resource that is exhausted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// [`Amount::tokens`].
    Tokens,
    /// [`Amount::cost`].
    Cost,
    /// [`Amount::calls`].
    Calls,
}

/// The budget of a run, with the amount that it and all runs below it have spent. Each charge also counts for every
/// budget above, so that the remainder of a budget bounds all runs below it together.
///
/// Calls are [taken](Self::take_call) one by one and never exceed a budget. The cost of a request is known only
/// afterwards: concurrent requests are [admitted](Self::admit) such that only the last of them can exceed the budget.
///
/// ```
/// use std::sync::Arc;
/// use toolcrib_agent::{Amount, Budget, Resource};
///
/// let first = Arc::new(Budget::new(Amount { tokens: 1_000, cost: 500, calls: 2 }));
/// let second = Arc::new(Budget::below(&first, Amount { tokens: 9_000, cost: 500, calls: 9 }));
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
    above: Option<Arc<Budget>>,
    /// Both change only under the lock of the tree.
    spent: Counters,
    under_way: Counters,
    tree: Arc<Tree>,
}

/// The state that all budgets of a tree share.
#[derive(Debug, Default)]
struct Tree {
    lock: Mutex<()>,
    /// Told when a request is over.
    over: Notify,
}

#[derive(Debug, Default)]
struct Counters {
    tokens: AtomicU64,
    cost: AtomicU64,
    calls: AtomicU64,
}

/// A request that may be under way.
#[derive(Debug)]
#[must_use = "the request is not under way any more when this is dropped"]
pub struct Admission {
    budget: Arc<Budget>,
    /// As much as it may take.
    most: Amount,
}

impl Budget {
    /// Creates a budget that nothing stands above.
    pub fn new(most: Amount) -> Self {
        Self::with_tree(most, None, Arc::default())
    }

    /// Returns a budget of something that is started by what has another one.
    pub fn below(above: &Arc<Self>, most: Amount) -> Self {
        Self::with_tree(most, Some(Arc::clone(above)), Arc::clone(&above.tree))
    }

    fn with_tree(most: Amount, above: Option<Arc<Self>>, tree: Arc<Tree>) -> Self {
        Self { most, end: None, above, spent: Counters::default(), under_way: Counters::default(), tree }
    }

    /// Returns the budget for calls in this context.
    pub fn of(context: &CallContext) -> Option<Arc<Self>> {
        Arc::clone(context.budget.as_ref()?).downcast().ok()
    }

    /// Sets when its time is over. What is below has no more.
    pub fn with_end(mut self, end: Instant) -> Self {
        self.end = Some(end);
        self
    }

    /// Sets what was spent before, of which those above know already.
    pub fn with_spent(self, spent: Amount) -> Self {
        self.spent.add(spent);
        self
    }

    /// Returns the budget above.
    pub fn above(&self) -> Option<&Arc<Self>> {
        self.above.as_ref()
    }

    /// Returns its deadline, or an earlier one of a budget above.
    pub fn end(&self) -> Option<Instant> {
        self.chain().filter_map(|budget| budget.end).min()
    }

    /// Returns the amount spent so far, here and below.
    pub fn spent(&self) -> Amount {
        self.spent.get()
    }

    /// Returns the resource that is exhausted here or above: tokens or cost.
    pub fn exhausted(&self) -> Option<Resource> {
        self.chain().find_map(|budget| budget.lacks(budget.spent.get()))
    }

    /// Returns true if no call is left, here or above.
    pub fn has_no_calls(&self) -> bool {
        self.chain().any(|budget| budget.spent.get().calls >= budget.most.calls)
    }

    /// Takes one call, if one is left here and above.
    #[must_use]
    pub fn take_call(&self) -> bool {
        let _guard = self.tree.lock.lock();
        let is_left = !self.has_no_calls();
        if is_left {
            self.add_spent(Amount { calls: 1, ..Amount::default() });
        }
        is_left
    }

    /// Counts what was spent, here and above.
    pub fn charge(&self, amount: Amount) {
        let _guard = self.tree.lock.lock();
        self.add_spent(amount);
    }

    /// Waits until a request that takes no more than `most` may begin. While others are under way it may only where
    /// these leave something, so that no more than one request goes beyond a budget.
    ///
    /// # Errors
    ///
    /// A resource that is exhausted.
    pub async fn admit(self: &Arc<Self>, most: Amount) -> Result<Admission, Resource> {
        loop {
            let over = self.tree.over.notified();
            tokio::pin!(over);
            // What ends between the look and the waiting is not missed.
            over.as_mut().enable();
            if let Some(admission) = self.try_admit(most)? {
                return Ok(admission);
            }
            over.await;
        }
    }

    fn try_admit(self: &Arc<Self>, most: Amount) -> Result<Option<Admission>, Resource> {
        let _guard = self.tree.lock.lock();
        if let Some(resource) = self.exhausted() {
            return Err(resource);
        }
        let may_be = |budget: &Self| budget.spent.get().and(budget.under_way.get());
        if self.chain().any(|budget| budget.lacks(may_be(budget)).is_some()) {
            return Ok(None);
        }
        self.chain().for_each(|budget| budget.under_way.add(most));
        Ok(Some(Admission { budget: Arc::clone(self), most }))
    }

    /// Returns the budget and those above it.
    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |budget| budget.above.as_deref())
    }

    fn lacks(&self, spent: Amount) -> Option<Resource> {
        if spent.tokens >= self.most.tokens {
            Some(Resource::Tokens)
        } else {
            (spent.cost >= self.most.cost).then_some(Resource::Cost)
        }
    }

    fn add_spent(&self, amount: Amount) {
        self.chain().for_each(|budget| budget.spent.add(amount));
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let tree = &self.budget.tree;
        {
            let _guard = tree.lock.lock();
            self.budget.chain().for_each(|budget| budget.under_way.subtract(self.most));
        }
        tree.over.notify_waiters();
    }
}

impl Tree {}

impl Amount {
    /// Returns both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost.saturating_add(other.cost),
            calls: self.calls.saturating_add(other.calls),
        }
    }

    /// Returns this amount minus the other, at least zero.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            cost: self.cost.saturating_sub(other.cost),
            calls: self.calls.saturating_sub(other.calls),
        }
    }
}

impl Counters {
    fn get(&self) -> Amount {
        Amount {
            tokens: self.tokens.load(Ordering::Relaxed),
            cost: self.cost.load(Ordering::Relaxed),
            calls: self.calls.load(Ordering::Relaxed),
        }
    }

    fn set(&self, amount: Amount) {
        self.tokens.store(amount.tokens, Ordering::Relaxed);
        self.cost.store(amount.cost, Ordering::Relaxed);
        self.calls.store(amount.calls, Ordering::Relaxed);
    }

    fn add(&self, amount: Amount) {
        self.set(self.get().and(amount));
    }

    fn subtract(&self, amount: Amount) {
        self.set(self.get().without(amount));
    }
}

#[cfg(test)]
mod tests;

//! What a run may spend, and what it and all that it started have spent.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// What there is no more of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// [`Amount::tokens`].
    Tokens,
    /// [`Amount::cost`].
    Cost,
    /// [`Amount::calls`].
    Calls,
}

/// What a run may spend, and what it has spent together with all that it started. What is spent is charged to every budget
/// above too, so that the rest of each is the most that those below it may spend, however many they are.
///
/// Calls are [taken](Self::take_call) one by one and never exceed a budget. What a request takes is known only after it:
/// requests are [admitted](Self::admit) so that, of those that are under way at once, no more than the last one goes beyond.
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

/// What all budgets share that hang together.
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
    /// A budget that nothing stands above.
    pub fn new(most: Amount) -> Self {
        Self::with_tree(most, None, Arc::default())
    }

    /// A budget of something that is started by what has another one.
    pub fn below(above: &Arc<Self>, most: Amount) -> Self {
        Self::with_tree(most, Some(Arc::clone(above)), Arc::clone(&above.tree))
    }

    fn with_tree(most: Amount, above: Option<Arc<Self>>, tree: Arc<Tree>) -> Self {
        Self { most, end: None, above, spent: Counters::default(), under_way: Counters::default(), tree }
    }

    /// What is left to whoever makes a call in this context.
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

    /// The budget above.
    pub fn above(&self) -> Option<&Arc<Self>> {
        self.above.as_ref()
    }

    /// When its time is over, or that of one above.
    pub fn end(&self) -> Option<Instant> {
        self.chain().filter_map(|budget| budget.end).min()
    }

    /// What was spent so far, here and below.
    pub fn spent(&self) -> Amount {
        self.spent.get()
    }

    /// What there is no more of, of tokens and money, here or above.
    pub fn exhausted(&self) -> Option<Resource> {
        self.chain().find_map(|budget| budget.lacks(budget.spent.get()))
    }

    /// Whether no call is left, here or above.
    pub fn has_no_calls(&self) -> bool {
        self.chain().any(|budget| budget.spent.get().calls >= budget.most.calls)
    }

    /// Takes one call, if one is left here and above.
    #[must_use]
    pub fn take_call(&self) -> bool {
        let _guard = self.tree.lock();
        let is_left = !self.has_no_calls();
        if is_left {
            self.add_spent(Amount { calls: 1, ..Amount::default() });
        }
        is_left
    }

    /// Counts what was spent, here and above.
    pub fn charge(&self, amount: Amount) {
        let _guard = self.tree.lock();
        self.add_spent(amount);
    }

    /// Waits until a request that takes no more than `most` may begin. While others are under way it may only where these
    /// leave something, so that no more than one request goes beyond a budget.
    ///
    /// # Errors
    ///
    /// What there is no more of.
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
        let _guard = self.tree.lock();
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

    /// The budget and those above it.
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
            let _guard = tree.lock();
            self.budget.chain().for_each(|budget| budget.under_way.subtract(self.most));
        }
        tree.over.notify_waiters();
    }
}

impl Tree {
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Amount {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost.saturating_add(other.cost),
            calls: self.calls.saturating_add(other.calls),
        }
    }

    /// What is left of it without the other.
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

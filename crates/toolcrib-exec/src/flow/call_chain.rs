//! The call chain, with the permits of the calls above a call, so that a tool that calls tools does not wait for
//! itself.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::concurrency_limit::ConcurrencyLimit;

/// The permits that the calls above a call hold. The executor passes the chain from a call to the calls that it makes.
///
/// A call that is made by a call of the same source or tool would wait for a permit that is released only after it has
/// ended. It therefore waits for a free permit *or* for that of the call above, which lends it to one such call at a
/// time. When the call above has ended, it lends no permit any more.
#[derive(Clone, Debug, Default)]
pub struct CallChain(Option<Arc<ChainLink>>);

/// One call above that holds a permit.
#[derive(Debug)]
struct ChainLink {
    limit: Arc<ConcurrencyLimit>,
    /// The permit as a semaphore, which the borrowing call holds; closed when the call above has ended.
    permit: Arc<Semaphore>,
    further: CallChain,
}

/// A guard that ends the lending.
#[derive(Debug)]
pub(super) struct LendingGuard(Arc<Semaphore>);

impl CallChain {
    /// Returns the chain with one more permit.
    pub(super) fn below(&self, limit: Arc<ConcurrencyLimit>) -> (Self, Option<LendingGuard>) {
        let permit = Arc::new(Semaphore::new(1));
        let lending_guard = LendingGuard(Arc::clone(&permit));
        (Self(Some(Arc::new(ChainLink { limit, permit, further: self.clone() }))), Some(lending_guard))
    }

    /// Returns the nearest permit of this limit that can be borrowed.
    pub(super) fn lent_permit(&self, limit: &Arc<ConcurrencyLimit>) -> Option<&Arc<Semaphore>> {
        let mut next = self.0.as_deref();
        while let Some(above) = next {
            if Arc::ptr_eq(&above.limit, limit) && !above.permit.is_closed() {
                return Some(&above.permit);
            }
            next = above.further.0.as_deref();
        }
        None
    }
}

impl Drop for LendingGuard {
    fn drop(&mut self) {
        self.0.close();
    }
}

//! The call chain, with the permits of the calls above a call, so that a tool that calls tools does not wait for
//! itself.

use std::sync::Arc;

use tokio::sync::Semaphore;

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
    /// The permits of the limit.
    permits: Arc<Semaphore>,
    /// The permit as a semaphore, which the borrowing call holds; closed when the call above has ended.
    permit: Arc<Semaphore>,
    further: CallChain,
}

/// A guard that ends the lending.
#[derive(Debug)]
pub(super) struct LendingGuard(Arc<Semaphore>);

impl CallChain {
    /// Returns the chain with one more permit, of a limit with these permits.
    pub(super) fn below(&self, permits: &Arc<Semaphore>) -> (Self, Option<LendingGuard>) {
        let permit = Arc::new(Semaphore::new(1));
        let lending_guard = LendingGuard(Arc::clone(&permit));
        let link = ChainLink { permits: Arc::clone(permits), permit, further: self.clone() };
        (Self(Some(Arc::new(link))), Some(lending_guard))
    }

    /// Returns the nearest permit that can be borrowed, of the limit with these permits.
    pub(super) fn lent_permit(&self, permits: &Arc<Semaphore>) -> Option<&Arc<Semaphore>> {
        let mut next = self.0.as_deref();
        while let Some(above) = next {
            if Arc::ptr_eq(&above.permits, permits) && !above.permit.is_closed() {
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

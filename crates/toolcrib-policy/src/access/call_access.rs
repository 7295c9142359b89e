//! Limits of the call that the present thread works on.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;

use super::Access;

thread_local! {
    static CALL: RefCell<Access> = RefCell::default();
}

/// Sets the limits of this thread until it is dropped, also by a panic.
struct Entered {
    outer: Access,
}

impl Entered {
    fn new(access: &Access) -> Self {
        Self { outer: CALL.replace(access.clone()) }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CALL.replace(std::mem::take(&mut self.outer));
    }
}

impl Access {
    /// Runs a future during which every other `Access` lets through only what this one does too.
    ///
    /// Guards of clients, folders and programs are made once for a whole module. A call within this scope narrows them to
    /// what its own tool declares. A scope replaces the one around it: a call that a tool makes is judged as any other.
    /// Work that moves to another thread takes the limits along by [`Self::carry`].
    pub async fn scope<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            let _entered = Entered::new(self);
            future.as_mut().poll(context)
        })
        .await
    }

    /// Wraps work so that it obeys the limits of the current call on any thread, such as one for blocking work.
    pub fn carry<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
        let limits = Self::with_call(Self::clone);
        move || {
            let _entered = Entered::new(&limits);
            work()
        }
    }

    /// Asks the limits of the present call.
    pub(super) fn with_call<T>(ask: impl FnOnce(&Self) -> T) -> T {
        CALL.with_borrow(ask)
    }
}

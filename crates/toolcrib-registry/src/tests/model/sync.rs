//! What stands in for `crate::sync`: the same parts, each step of which lets other threads in.
//!
//! A lock is one step, as a swap of the pointer is. That the crates behind `crate::sync` do what they promise is theirs
//! to test; here it is what the registry makes of them.

use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use shuttle::future::batch_semaphore::{BatchSemaphore, Fairness};
use shuttle::sync::{Mutex as Lock, MutexGuard as LockGuard};

/// A pointer that is read and replaced in one step.
#[derive(Debug, Default)]
pub(crate) struct ArcSwap<T>(Lock<Arc<T>>);

impl<T> ArcSwap<T> {
    pub(crate) fn from_pointee(value: T) -> Self {
        Self(Lock::new(Arc::new(value)))
    }

    pub(crate) fn load_full(&self) -> Arc<T> {
        Arc::clone(&self.0.lock().unwrap())
    }

    pub(crate) fn store(&self, value: Arc<T>) {
        *self.0.lock().unwrap() = value;
    }
}

/// A lock that is waited for without a thread.
pub(crate) struct Mutex<T> {
    turns: BatchSemaphore,
    value: Lock<T>,
}

pub(crate) struct MutexGuard<'a, T> {
    turns: &'a BatchSemaphore,
    value: Option<LockGuard<'a, T>>,
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self { turns: BatchSemaphore::new(1, Fairness::StrictlyFair), value: Lock::default() }
    }
}

impl<T> Mutex<T> {
    pub(crate) async fn lock(&self) -> MutexGuard<'_, T> {
        self.turns.acquire(1).await.unwrap();
        MutexGuard { turns: &self.turns, value: Some(self.value.lock().unwrap()) }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().unwrap()
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().unwrap()
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        // The value first: whoever has the turn finds it free.
        self.value = None;
        self.turns.release(1);
    }
}

pub(crate) mod broadcast {
    //! Every subscriber gets everything that is sent once it is there.

    use super::Lock;
    use shuttle::sync::mpsc;

    pub(crate) use mpsc::Receiver;

    pub(crate) struct Sender<T>(Lock<Vec<mpsc::Sender<T>>>);

    impl<T: Clone> Sender<T> {
        pub(crate) fn new(_capacity: usize) -> Self {
            Self(Lock::default())
        }

        pub(crate) fn subscribe(&self) -> Receiver<T> {
            let (sender, receiver) = mpsc::channel();
            self.0.lock().unwrap().push(sender);
            receiver
        }

        pub(crate) fn send(&self, value: T) -> Result<(), mpsc::SendError<T>> {
            self.0.lock().unwrap().iter().try_for_each(|subscriber| subscriber.send(value.clone()))
        }
    }
}

/// What a clock would say.
pub(crate) struct Elapsed;

/// There is no clock here, so no time passes.
pub(crate) async fn timeout<F: Future>(_limit: Duration, work: F) -> Result<F::Output, Elapsed> {
    Ok(work.await)
}

pub(crate) async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    shuttle::future::spawn(async move { work() }).await.unwrap()
}

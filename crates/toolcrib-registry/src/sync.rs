//! What the registry waits, locks and swaps with, in one place.
//!
//! The tests put a model of all this in its place and run the registry in every order that its threads can take: see
//! `tests/model`.

pub(crate) use arc_swap::ArcSwap;
pub(crate) use tokio::sync::{Mutex, broadcast};
pub(crate) use tokio::time::timeout;

/// Runs what keeps a core busy, away from the threads that serve others. A panic goes on here.
pub(crate) async fn busy<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(made) => made,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and drops whoever waits here.
            Err(_) => std::future::pending().await,
        },
    }
}

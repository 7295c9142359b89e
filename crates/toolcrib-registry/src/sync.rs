//! The synchronization primitives of the registry, in one module.
//!
//! The tests replace this module by a model and run the registry in every possible order of its threads: see
//! `tests/model`.

pub(crate) use arc_swap::ArcSwap;
pub(crate) use tokio::sync::{Mutex, broadcast};
pub(crate) use tokio::time::timeout;

/// Runs CPU-bound work on a thread for blocking tasks. Propagates a panic.
pub(crate) async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(made) => made,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and drops the waiting task.
            Err(_) => std::future::pending().await,
        },
    }
}

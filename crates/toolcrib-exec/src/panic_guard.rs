//! Isolation of panics in hooks, approvers and engines.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;

/// Runs a future of a hook, an approver or an engine to its end; returns `None` if it panicked.
pub(crate) async fn catch_panic<T>(future: impl Future<Output = T>) -> Option<T> {
    // The state that the future worked on is not used again.
    AssertUnwindSafe(future).catch_unwind().await.ok()
}

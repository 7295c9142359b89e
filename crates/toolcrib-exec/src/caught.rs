//! Panics of code that others bring.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;

/// Runs a future of a hook, an approver or an engine to its end; `None` when it panicked.
pub(crate) async fn caught<T>(future: impl Future<Output = T>) -> Option<T> {
    // What it worked on is not looked at again.
    AssertUnwindSafe(future).catch_unwind().await.ok()
}

//! Drops of futures before they complete.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Drops a future after this number of polls. It is polled again only after it was woken. Returns the output if the
/// future completed by then.
///
/// A test that calls this with an increasing number of polls, until there is an output, drops the future at each of its
/// await points.
///
/// # Panics
///
/// Panics if `polls` is zero: a future that was never polled holds nothing.
pub async fn dropped_after<T>(polls: usize, future: impl Future<Output = T>) -> Option<T> {
    assert!(polls > 0, "a future that was never polled holds nothing");
    let mut future = pin!(future);
    let mut count = 0;
    poll_fn(|context| {
        count += 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if count >= polls => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

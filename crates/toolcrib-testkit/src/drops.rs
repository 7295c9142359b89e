//! Futures that are dropped before they end.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Drops a future after this number of polls. It is polled again only when it has been woken. Returns its output if it
/// ended by then.
///
/// A test that calls this with one poll more each time, until there is an output, drops the future at each of its awaits.
///
/// # Panics
///
/// Panics without a poll: a future that was never polled holds nothing.
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

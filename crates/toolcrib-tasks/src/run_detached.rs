//! Work that completes even if its caller stops waiting.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Completes work even if the returned future is dropped: the rest then runs as a separate task. A started change is thus made
/// as a whole. Work that is dropped before its first poll does not start.
pub(crate) fn run_detached<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> impl Future<Output = T> + Send {
    DetachedWork { work: Some(Box::pin(work)), has_begun: false }
}

struct DetachedWork<T: Send + 'static> {
    /// `None` while it is polled, so that work which panics is not polled again.
    work: Option<Work<T>>,
    has_begun: bool,
}

impl<T: Send + 'static> Future for DetachedWork<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.has_begun = true;
        let Some(mut work) = self.work.take() else { return Poll::Pending };
        let polled = work.as_mut().poll(context);
        if polled.is_pending() {
            self.work = Some(work);
        }
        polled
    }
}

impl<T: Send + 'static> Drop for DetachedWork<T> {
    fn drop(&mut self) {
        let Some(work) = self.work.take().filter(|_| self.has_begun) else { return };
        // Without a runtime the process ends, and the store is as after a crash.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                work.await;
            });
        }
    }
}

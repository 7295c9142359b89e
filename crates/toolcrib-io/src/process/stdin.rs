//! The standard input of a child, which its owner can close while another task writes to it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use tokio::io::AsyncWrite;
use tokio::process::ChildStdin;

#[derive(Debug)]
struct Shared {
    pipe: Option<ChildStdin>,
    /// The writer that waits for room in the pipe, which is woken on close.
    waiting: Option<Waker>,
}

/// A handle that closes the pipe independently of the writer.
#[derive(Clone, Debug)]
pub(super) struct StdinCloser(Arc<Mutex<Shared>>);

impl StdinCloser {
    /// Closes the pipe: the child reads the end of its input, the writer gets an error.
    pub(super) fn close(&self) {
        let (pipe, waiting) = {
            let mut shared = self.0.lock();
            (shared.pipe.take(), shared.waiting.take())
        };
        drop(pipe);
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

/// A writer to the standard input of a child. Shutting it down or dropping it ends the input. So does closing the
/// [`Child`](super::Child); writing fails with `BrokenPipe` after that.
#[derive(Debug)]
pub struct StdinWriter(StdinCloser);

impl StdinWriter {
    pub(super) fn new(pipe: ChildStdin) -> (Self, StdinCloser) {
        let closer = StdinCloser(Arc::new(Mutex::new(Shared { pipe: Some(pipe), waiting: None })));
        (Self(closer.clone()), closer)
    }

    fn poll<T>(
        &self,
        context: &mut Context<'_>,
        act: impl FnOnce(Pin<&mut ChildStdin>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let mut shared = self.0.0.lock();
        let Some(pipe) = &mut shared.pipe else { return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())) };
        let polled = act(Pin::new(pipe), context);
        shared.waiting = polled.is_pending().then(|| context.waker().clone());
        polled
    }
}

impl AsyncWrite for StdinWriter {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll(context, |pipe, context| pipe.poll_write(context, bytes))
    }

    /// Does nothing: written bytes are in the pipe already, and stay there when it is closed. An error here would make the
    /// writer believe that they were not sent.
    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.close();
        Poll::Ready(Ok(()))
    }
}

impl Drop for StdinWriter {
    fn drop(&mut self) {
        self.0.close();
    }
}

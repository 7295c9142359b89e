//! A stream that fails if its peer does not read for too long.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// The time for which a client may read nothing of the data sent to it.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// The number of bytes that a client must read per second on average. Each byte compensates for a part of the time that
/// the client has made the server wait, so that it cannot read one byte every [`WRITE_PATIENCE`].
const MIN_READ_RATE: u32 = 4 * 1024;

/// A stream that fails if its peer does not read for too long.
pub(super) struct WriteTimeout<S> {
    stream: S,
    /// The accumulated time of blocked writes that no read bytes have compensated for.
    waited: Duration,
    /// The start of the current blocked write.
    blocked: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

impl<S> WriteTimeout<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, waited: Duration::ZERO, blocked: None, timer: Box::pin(sleep(WRITE_PATIENCE)) }
    }

    pub(super) fn into_inner(self) -> S {
        self.stream
    }

    fn track(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let bytes = match written {
            Poll::Ready(Ok(bytes)) => bytes,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => {
                if self.blocked.is_none() {
                    let now = Instant::now();
                    self.blocked = Some(now);
                    self.timer.as_mut().reset(now + WRITE_PATIENCE.saturating_sub(self.waited));
                }
                return self.timer.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()));
            }
        };
        if let Some(since) = self.blocked.take() {
            self.waited += since.elapsed();
        }
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.waited = self.waited.saturating_sub(Duration::from_secs(1) * bytes / MIN_READ_RATE);
        Poll::Ready(Ok(usize::try_from(bytes).unwrap_or(usize::MAX)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.track(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.track(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_given_up_in_time() {
        let (ours, _theirs) = duplex(1024);
        let begun = Instant::now();
        let error = WriteTimeout::new(ours).write_all(&[0; 4096]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let waited = begun.elapsed();
        assert!(waited >= WRITE_PATIENCE && waited < WRITE_PATIENCE + Duration::from_secs(1), "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_a_byte_now_and_then_is_given_up_as_well() {
        let (ours, mut theirs) = duplex(1024);
        let reading = async move {
            loop {
                tokio::time::sleep(WRITE_PATIENCE / 3).await;
                theirs.read_u8().await.unwrap();
            }
        };
        let begun = Instant::now();
        let error = tokio::select! {
            written = async { WriteTimeout::new(ours).write_all(&[0; 4096]).await } => written.unwrap_err(),
            () = reading => unreachable!("it reads on and on"),
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() < WRITE_PATIENCE * 2, "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_client_that_reads_on_gets_all_of_a_long_answer() {
        let (ours, mut theirs) = duplex(64);
        let answer = vec![7; 8 * 1024 * 300];
        let expected = answer.len();
        let reading = async move {
            let (mut part, mut read) = (vec![0; 8 * 1024], 0);
            while read < expected {
                tokio::time::sleep(Duration::from_secs(1)).await;
                theirs.read_exact(&mut part).await.unwrap();
                read += part.len();
            }
        };
        let (written, ()) = tokio::join!(async { WriteTimeout::new(ours).write_all(&answer).await }, reading);
        written.unwrap();
    }
}

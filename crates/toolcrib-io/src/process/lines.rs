//! A reader that fails on a line without end, before anybody keeps it in memory.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// The longest line that a child may write, in bytes: room for a large result in one message, and a bound on what a
/// broken server makes us keep.
pub const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// A reader that fails once a line exceeds a limit. After that, every read is an error.
#[derive(Debug)]
pub struct LineLimited<R> {
    inner: R,
    limit: usize,
    /// The length of the current line so far.
    passed: usize,
    failed: Overlong,
}

/// A flag that a [`LineLimited`] sets after an overlong line, for use without access to the reader.
#[derive(Clone, Debug, Default)]
pub struct Overlong(Arc<AtomicBool>);

impl Overlong {
    /// Returns true after an overlong line.
    pub fn is_met(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl<R> LineLimited<R> {
    /// Limits the lines of `inner` to `limit` bytes each, excluding the line break.
    pub fn new(inner: R, limit: usize) -> Self {
        Self { inner, limit, passed: 0, failed: Overlong::default() }
    }

    /// Returns the flag for overlong lines. It stays valid when another owner reads.
    pub fn overlong(&self) -> Overlong {
        self.failed.clone()
    }

    /// Counts the bytes read. The first part continues the current line.
    fn count(&mut self, read: &[u8]) {
        let mut parts = read.split(|byte| *byte == b'\n');
        self.passed += parts.next().map_or(0, <[u8]>::len);
        let mut failed = self.passed > self.limit;
        for part in parts {
            self.passed = part.len();
            failed |= self.passed > self.limit;
        }
        self.failed.0.fetch_or(failed, Ordering::Relaxed);
    }

    fn error(&self) -> io::Error {
        let message = format!("a line is longer than {} bytes; the reader gave it up", self.limit);
        io::Error::new(io::ErrorKind::InvalidData, message)
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LineLimited<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.failed.is_met() {
            return Poll::Ready(Err(self.error()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        self.count(buffer.filled().get(before..).unwrap_or_default());
        if self.failed.is_met() {
            // An error must not come with bytes.
            buffer.set_filled(before);
            return Poll::Ready(Err(self.error()));
        }
        Poll::Ready(Ok(()))
    }
}

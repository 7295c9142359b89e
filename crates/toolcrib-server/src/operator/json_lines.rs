//! Lines of JSON over a socket, with limits of size and time.

use std::io;
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use toolcrib_io::process::LineLimited;

/// The timeout for writing a line.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);

/// A reader of lines.
pub(super) struct JsonLines<R> {
    reader: BufReader<LineLimited<R>>,
    /// The incomplete line. A read that is dropped in the middle of a line continues with it.
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> JsonLines<R> {
    pub(super) fn new(reader: R, max_bytes: usize) -> Self {
        Self { reader: BufReader::new(LineLimited::new(reader, max_bytes)), line: Vec::new() }
    }

    /// Returns the next line, or `None` at the end. A line that is too long is an error, after which nothing can be
    /// read.
    pub(super) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.reader.read_until(b'\n', &mut self.line).await?;
        Ok(self.line.ends_with(b"\n").then(|| std::mem::take(&mut self.line)))
    }
}

/// Writes a message as one line. Returns an error if the write times out.
pub(super) async fn send<W: AsyncWrite + Unpin>(writer: &mut W, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    tokio::time::timeout(WRITE_PATIENCE, writer.write_all(&line)).await?
}

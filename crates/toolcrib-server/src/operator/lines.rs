//! Lines of JSON over a socket, within bounds.

use std::io;
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use toolcrib_io::process::LineLimited;

/// How long the other side may take to let a line through.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);

/// Lines of the other side.
pub(super) struct Lines<R> {
    reader: BufReader<LineLimited<R>>,
    /// The line that is being read. A reader that is dropped in the middle of it goes on with it.
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R, max_bytes: usize) -> Self {
        Self { reader: BufReader::new(LineLimited::new(reader, max_bytes)), line: Vec::new() }
    }

    /// The next line; `None` at the end. One that is too long is an error, and nothing can be read behind it.
    pub(super) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.reader.read_until(b'\n', &mut self.line).await?;
        Ok(self.line.ends_with(b"\n").then(|| std::mem::take(&mut self.line)))
    }
}

/// Sends a line, or fails when it is not taken in time.
pub(super) async fn send<W: AsyncWrite + Unpin>(writer: &mut W, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    tokio::time::timeout(WRITE_PATIENCE, writer.write_all(&line)).await?
}
